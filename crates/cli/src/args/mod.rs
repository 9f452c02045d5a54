//! The command line: what was typed, option by option. `settings` works out what it means, so that
//! no job ever sees a flag.
//!
//! `--help`, the completions and the man pages are made from these definitions alone: each text is
//! one plain sentence that names the unit and the default.

pub mod accounts;
pub mod bench;
pub mod binlog;
pub mod config;
pub mod connection;
pub mod control;
pub mod copy;
pub mod doctor;
pub mod dump;
pub mod encryption;
pub mod errors;
pub mod forecast;
pub mod limits;
pub mod load;
pub mod names;
pub mod point_in_time;
pub mod preflight;
pub mod replica;
pub mod report;
pub mod repository;
pub mod rescue;
pub mod snapshot;
pub mod throttle;
pub mod values;
pub mod verify;
pub mod warm;

use clap::{Args, Parser, Subcommand};

/// The exit codes, and what comes from the environment: the end of `penstock --help`.
const EPILOGUE: &str = "\
Exit codes:
   0  everything asked for was done
   1  a server refused a statement, or a failure that has no other code
   2  the command line, an option file or a pattern is wrong
   3  done, with exceptions that are listed
   4  compared, and the sides differ
   5  the archive is incomplete, damaged or of an unknown version
   6  no connection, no login, or the connection was lost
   7  a privilege or a server setting is missing
   8  a disk refused: full, read-only or an I/O error
   9  stopped on request (Ctrl-C, SIGTERM, penstock stop)
  10  the target may not be written to: it holds the objects, or it is the source
  11  a lock was not granted in time
  12  a limit that was set for the run ended it
  70  a bug in penstock

Configuration:
  /etc/penstock/penstock.toml has a table for each command, with its long options: [backup], [prune], …,
  and one for each server: [servers.NAME]. What is typed wins, then this, then option files.
  docs/configuration.md describes it; penstock config check reads it.

Option files:
  The long options of a command can stand in the group [penstock] of ~/.my.cnf and of the other files
  that the mysql client reads, one a line: max-rate = 20M. What is typed wins. Options of other
  commands, and those that do not apply to what is done, are passed over; a name that no command has is refused.

Environment:
  PENSTOCK_PASSWORD    password for the server
  PENSTOCK_CONFIG      the configuration, where --config is not given
  PENSTOCK_REPOSITORY  the repository, where --repository is not given
  PENSTOCK_SSH         ssh program with options, for ssh:// [default: ssh]
  AWS_…, GOOGLE_…, AZURE_STORAGE_…
                       credentials for s3://, gs:// and az://, as the services' own tools read them
  PENSTOCK_STATE       directory for what must outlive a run [default: ~/.local/state/penstock]
  NO_COLOR             no colours";

/// Dumps, loads and verifies MySQL and MariaDB data.
#[derive(Parser, Debug)]
#[command(
    name = "penstock",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_long_help = EPILOGUE,
    after_help = "Exit codes: penstock --help. Options of a command: penstock COMMAND --help"
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
    /// Write one JSON object per line to standard output instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Show no progress and no notes, only warnings, errors and the summary
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Configuration with options of commands, and servers [default: /etc/penstock/penstock.toml, if it
    /// is there]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<std::path::PathBuf>,
}

/// The verbs.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Dump a consistent snapshot of a live server into a new directory
    Dump(dump::Dump),
    /// Load an archive or another tool's dump into a server, and verify the rows
    Load(load::Load),
    /// Check an archive offline, or compare an archive with a server, or two servers
    Verify(verify::Verify),
    /// Take tables out of InnoDB files without a server, also damaged ones, as an archive
    Rescue(rescue::Rescue),
    /// Copy an archive to another place, out of a stream, or into one; or a server's data into other servers
    Copy(copy::Copy),
    /// Make a repository: a place for backups of many servers
    Init(repository::Init),
    /// Dump a server into a repository
    Backup(repository::Backup),
    /// List the backups of a repository, or say what is in an archive
    #[command(visible_alias = "info")]
    List(repository::List),
    /// Read backups of a repository through, and compare every file with its digest
    Check(repository::Check),
    /// Restore backups of a repository into a temporary server, for proof
    Drill(repository::Drill),
    /// Load a backup of a repository into a server, or into a new data directory, and verify the rows
    Restore(repository::Restore),
    /// Remove the backups that the rules do not keep
    Prune(repository::Prune),
    /// Keep the binary log of a server
    #[command(subcommand)]
    Binlog(binlog::Binlog),
    /// Make new replicas, and compare them with their sources
    #[command(subcommand)]
    Replica(replica::Replica),
    /// Take, store and restore snapshots of a server's files
    #[command(subcommand)]
    Snapshot(snapshot::Snapshot),
    /// Carry the hot part of a server's buffer pool to another server
    #[command(subcommand)]
    Warm(warm::Warm),
    /// Read the configuration, and say what it means
    #[command(subcommand)]
    Config(config::Config),
    /// Encrypt the key of archives for other recipients, or with another passphrase
    Rekey(encryption::Rekey),
    /// Show the running dumps, loads and verifications
    Status(control::Which),
    /// Change a limit of a running job
    Set(control::Set),
    /// Pause a running job: its connections stay open, no rows move
    Pause(control::Which),
    /// Resume a paused job
    Resume(control::Which),
    /// Stop a running job cleanly, as Ctrl-C does
    Stop(control::Which),
    /// Look at a server, its host and what jobs on it need, and say what stands in the way
    Preflight(Box<preflight::Preflight>),
    /// Find settings that a killed load left changed on a server, and put them back
    Doctor(doctor::Doctor),
    /// Measure a server with TPC-C, or its disks, and compare such runs
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Make an HTML page of what runs recorded with --record
    Report(report::Report),
    /// Print a completion script for a shell
    Completions(Completions),
}

/// `penstock completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock completions bash > ~/.local/share/bash-completion/completions/penstock
  penstock completions zsh > ~/.zfunc/_penstock
  penstock completions fish > ~/.config/fish/completions/penstock.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: clap_complete::Shell,
}

/// Which objects.
#[derive(Args, Debug, Clone, Default)]
#[command(
    next_help_heading = "Selection (`*` and `?` are wildcards, /…/ is a regular expression; a pattern that matches nothing is an error)"
)]
pub struct Selection {
    /// Only these schemas [default: all]
    #[arg(long, visible_alias = "schemas", value_name = "PATTERN,…")]
    pub include_schemas: Vec<String>,
    /// All schemas except these
    #[arg(long, value_name = "PATTERN,…")]
    pub exclude_schemas: Vec<String>,
    /// Only these tables and views, each as schema.table [default: all]
    #[arg(long, visible_alias = "tables", value_name = "PATTERN,…")]
    pub include_tables: Vec<String>,
    /// All tables and views except these, each as schema.table
    #[arg(long, value_name = "PATTERN,…")]
    pub exclude_tables: Vec<String>,
}

impl Selection {
    /// Whether nothing was selected or excluded.
    pub fn is_empty(&self) -> bool {
        self.given().is_none()
    }

    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            (&self.include_schemas, "--include-schemas"),
            (&self.exclude_schemas, "--exclude-schemas"),
            (&self.include_tables, "--include-tables"),
            (&self.exclude_tables, "--exclude-tables"),
        ];
        let mut given = options.into_iter().filter(|(list, _)| !list.is_empty());
        given.next().map(|(_, option)| option)
    }
}

/// Which triggers, routines and events of what is selected.
#[derive(Args, Debug, Clone, Default)]
#[command(
    next_help_heading = "Selection of triggers, routines and events (patterns as for tables, each as schema.name)"
)]
pub struct Programs {
    /// Only these triggers [default: all of the selected tables]
    #[arg(long, value_name = "PATTERN,…", conflicts_with = "no_triggers")]
    pub include_triggers: Vec<String>,
    /// All triggers except these
    #[arg(long, value_name = "PATTERN,…", conflicts_with = "no_triggers")]
    pub exclude_triggers: Vec<String>,
    /// Only these procedures and functions [default: all of schemas that are selected whole]
    #[arg(long, value_name = "PATTERN,…", conflicts_with = "no_routines")]
    pub include_routines: Vec<String>,
    /// All procedures and functions except these
    #[arg(long, value_name = "PATTERN,…", conflicts_with = "no_routines")]
    pub exclude_routines: Vec<String>,
    /// Only these events [default: all of schemas that are selected whole]
    #[arg(long, value_name = "PATTERN,…", conflicts_with = "no_events")]
    pub include_events: Vec<String>,
    /// All events except these
    #[arg(long, value_name = "PATTERN,…", conflicts_with = "no_events")]
    pub exclude_events: Vec<String>,
}

impl Programs {
    /// Its options, and their patterns.
    pub fn lists(&self) -> [(&'static str, &Vec<String>); 6] {
        [
            ("--include-triggers", &self.include_triggers),
            ("--exclude-triggers", &self.exclude_triggers),
            ("--include-routines", &self.include_routines),
            ("--exclude-routines", &self.exclude_routines),
            ("--include-events", &self.include_events),
            ("--exclude-events", &self.exclude_events),
        ]
    }

    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        let mut lists = self
            .lists()
            .into_iter()
            .filter(|(_, list)| !list.is_empty());
        lists.next().map(|(option, _)| option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// `-h` is help wherever it cannot be the mysql client's `--host`, and `--help` is help everywhere.
    #[test]
    fn help_is_everywhere() {
        let asked = |words: &[&str]| {
            let words = ["penstock"].iter().chain(words);
            Cli::try_parse_from(words).map_err(|e| e.kind())
        };
        let help = clap::error::ErrorKind::DisplayHelp;
        for words in [
            &["-h"][..],
            &["status", "-h"],
            &["report", "-h"],
            &["bench", "-h"],
            &["bench", "tpcc", "-h"],
            &["bench", "compare", "-h"],
            &["dump", "--help"],
            &["load", "--help"],
            &["verify", "--help"],
            &["doctor", "--help"],
            &["preflight", "--help"],
            &["bench", "impact", "--help"],
            &["bench", "disk", "--help"],
            &["bench", "tpcc", "run", "--help"],
        ] {
            assert_eq!(asked(words).unwrap_err(), help, "{words:?}");
        }
        assert!(asked(&["dump", "-h", "db", "--to", "x"]).is_ok());
    }

    /// Every kind of failure has its line in `penstock --help`.
    #[test]
    fn exit_codes_are_listed() {
        use base::Kind;
        for kind in [
            Kind::Failed,
            Kind::Usage,
            Kind::Exceptions,
            Kind::Differs,
            Kind::Archive,
            Kind::Connection,
            Kind::Privilege,
            Kind::Storage,
            Kind::Interrupted,
            Kind::Target,
            Kind::Lock,
            Kind::Limit,
            Kind::Internal,
        ] {
            let line = format!("\n  {:>2}  ", kind.exit_code());
            assert!(EPILOGUE.contains(&line), "{kind:?}");
        }
    }
}
