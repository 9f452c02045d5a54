//! `penstock doctor`.

use super::connection::Connection;
use clap::Args;

/// `penstock doctor`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock doctor
  penstock doctor --socket /run/mysqld/mysqld.sock --user root
  penstock doctor --revert mysql://root@newdb:3306/ -p

Exit codes: 0 nothing is left changed, 3 settings are left changed; the others are listed by
penstock --help"
)]
pub struct Doctor {
    /// The server, or use the connection options; without one, all settings journals of this host
    /// are listed
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Put the changed settings back
    #[arg(long)]
    pub revert: bool,
    #[command(flatten)]
    pub connection: Connection,
}
