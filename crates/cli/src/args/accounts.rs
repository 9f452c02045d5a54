//! Accounts, of a dump and of a load.

use clap::Args;

/// Which accounts are dumped.
#[derive(Args, Debug, Clone, Default)]
#[command(
    next_help_heading = "Accounts (users and roles, with their grants and the hashes of their passwords)"
)]
pub struct Dumped {
    /// Dump the accounts of the server too; this is the default if no schemas and tables are chosen, and the account
    /// may read them (SELECT ON mysql.*)
    #[arg(long, conflicts_with = "no_users")]
    pub users: bool,
    /// Do not dump accounts
    #[arg(long, conflicts_with_all = ["include_users", "exclude_users"])]
    pub no_users: bool,
    #[command(flatten)]
    pub which: Which,
}

/// Which accounts of an archive are made.
#[derive(Args, Debug, Clone, Default)]
#[command(
    next_help_heading = "Accounts (users and roles, with their grants and the hashes of their passwords)"
)]
pub struct Loaded {
    /// Make the accounts of the archive too. Those that the target has are left as they are, and named
    #[arg(long)]
    pub users: bool,
    #[command(flatten)]
    pub which: Which,
}

/// A part of the accounts; it implies --users.
#[derive(Args, Debug, Clone, Default)]
pub struct Which {
    /// Only these accounts, as 'name'@'host', or name for all hosts
    #[arg(long, value_name = "ACCOUNT,…")]
    pub include_users: Vec<String>,
    /// All accounts except these
    #[arg(long, value_name = "ACCOUNT,…")]
    pub exclude_users: Vec<String>,
}

impl Which {
    /// The first of its options that is given.
    pub fn given(&self) -> Option<&'static str> {
        if !self.include_users.is_empty() {
            return Some("--include-users");
        }
        (!self.exclude_users.is_empty()).then_some("--exclude-users")
    }
}

impl Dumped {
    /// The first option that asks for accounts.
    pub fn asks(&self) -> Option<&'static str> {
        self.which.given().or(self.users.then_some("--users"))
    }
}

impl Loaded {
    /// The first option that asks for accounts.
    pub fn asks(&self) -> Option<&'static str> {
        self.which.given().or(self.users.then_some("--users"))
    }
}
