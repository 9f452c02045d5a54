//! `penstock load`.

use super::connection::Connection;
use super::encryption::Opening;
use super::limits::Limits;
use super::names::Names;
use super::values::{
    DeferIndexes, Definer, Existing, GtidPurged, ImportMode, Only, Tune, VerifyMode, definer,
    mysqld_option, sort_memory,
};
use super::{Programs, Selection, accounts, forecast, report};
use clap::Args;
use std::path::PathBuf;

/// `penstock load`.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  penstock load /backup/monday --socket /run/mysqld/mysqld.sock --user root
  penstock load /backup/shop --into mysql://root@newdb:3306/ -p --threads 8
  penstock load /backup/shop --into mysql://root@newdb:3306/ -p --dry-run
  penstock load /backup/shop --datadir /srv/mysql-new
  penstock load /backup/shop --include-tables shop.orders --map-table shop.orders=shop.orders_monday
  penstock load /backup/shop --include-tables shop.orders --existing replace
  penstock load /backup/shop --include-tables shop.orders --map-schema shop=found --where 'shop.orders=customer = 17'

Exit codes: 0 loaded and verified, 3 loaded with exceptions, 4 the rows differ, 10 the target holds the
objects already; the others are listed by penstock --help"
)]
pub struct Load {
    /// What to load: a directory that penstock dump, MySQL Shell, MariaDB Shell, mydumper,
    /// mysqldump --tab or mariadb-dump --dir wrote; a directory of CSV files; a script of mysqldump
    /// or mariadb-dump, plain or compressed (gzip, zstd, bzip2, xz); or - for such a script, or an
    /// archive, on standard input
    #[arg(value_name = "FROM")]
    pub from: PathBuf,
    /// Where an archive on standard input is unpacked, and removed at the end [default: /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Say what would be loaded, adapted, left out and refused, and how long it will take by each import mode;
    /// change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub other_dumps: OtherDumps,
    #[command(flatten)]
    pub how: Loading,
}

/// What a load of an archive and a restore from a repository share.
#[derive(Args, Debug, Clone)]
pub struct Loading {
    /// The target server, as mysql://user@host:3306/, or use the connection options
    #[arg(long, value_name = "SERVER")]
    pub into: Option<String>,
    /// Connections that load rows [default: one per core, at least 2 and at most 8]
    #[arg(short = 't', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Resume an interrupted load of the same archive; what was loaded is not loaded again. Where there is none, a
    /// new load starts, and the summary says so
    #[arg(long)]
    pub resume: bool,
    /// What is done with tables, views, triggers, routines and events that the target has already
    #[arg(long, value_name = "HOW", default_value = "refuse")]
    pub existing: Existing,
    /// With --existing replace or truncate: do not ask before anything is dropped or emptied
    #[arg(long)]
    pub yes: bool,
    /// How the loaded rows are compared with the archive
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub verify: VerifyMode,
    /// Allow to load into the server that the archive was dumped from
    #[arg(long)]
    pub allow_same_server: bool,
    /// Load what is whole in an archive, and name what has missing or damaged files
    #[arg(long)]
    pub skip_damaged: bool,
    /// Give tables that are in a general tablespace (MySQL) files of their own, and create no tablespace
    #[arg(long)]
    pub strip_tablespaces: bool,
    /// Whose rights views, triggers, routines and events have: keep (the account that they had), strip
    /// (the account that loads), or map=USER@HOST=USER@HOST (another account for this one; may be given
    /// several times) [default: keep]
    #[arg(long, value_name = "HOW", value_parser = definer)]
    pub definer: Vec<Definer>,
    #[command(flatten)]
    pub parts: Parts,
    #[command(flatten)]
    pub rows: Rows,
    /// Have the server take statistics of the loaded tables at the end (ANALYZE TABLE)
    #[arg(long)]
    pub analyze: bool,
    /// Whether the target counts the transactions that the archive holds as executed, for a replica that
    /// asks its source for the rest: gtid_purged of MySQL, gtid_slave_pos of MariaDB
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub gtid_purged: GtidPurged,
    /// Do not write the load to the target's binary log (needs the privilege to set sql_log_bin)
    #[arg(long)]
    pub skip_binlog: bool,
    #[command(flatten)]
    pub accounts: accounts::Loaded,
    #[command(flatten)]
    pub recording: report::Recording,
    #[command(flatten)]
    pub history: forecast::History,
    #[command(flatten)]
    pub import: Import,
    #[command(flatten)]
    pub settings: ServerSettings,
    #[command(flatten)]
    pub new_server: NewServer,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub programs: Programs,
    #[command(flatten)]
    pub names: Names,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub encryption: Opening,
    #[command(flatten)]
    pub connection: Connection,
}

/// Rows of tables of which not all are wanted.
#[derive(Args, Debug, Clone, Default)]
pub struct Rows {
    /// Load only the rows of a table that match a condition, as "shop.orders=customer = 17"; may be given several times, once for
    /// each table. The table is named as in the archive; the condition is evaluated on the target, on all rows of the table,
    /// and times are compared in UTC
    #[arg(long = "where", value_name = "TABLE=CONDITION", conflicts_with_all = ["ddl_only", "only"])]
    pub conditions: Vec<String>,
    /// Load only the rows of these partitions (or subpartitions) of a table, as shop.orders=p2025,p2026; may be given several
    /// times
    #[arg(long, value_name = "TABLE=NAME,…", conflicts_with_all = ["ddl_only", "only"])]
    pub partitions: Vec<String>,
}

impl Rows {
    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        match (self.conditions.is_empty(), self.partitions.is_empty()) {
            (false, _) => Some("--where"),
            (true, false) => Some("--partitions"),
            (true, true) => None,
        }
    }
}

/// Kinds of objects that are not wanted.
#[derive(Args, Debug, Clone, Default)]
pub struct Parts {
    /// Load definitions alone: schemas, tables without rows, and all else. Options about rows are refused
    #[arg(long, visible_alias = "no-data", conflicts_with_all = [
        "import_mode", "sort_memory", "defer_indexes", "verify", "analyze", "max_rate", "gtid_purged",
    ])]
    pub ddl_only: bool,
    /// Load rows alone, into tables that are there and empty (or are emptied: --existing truncate). Options about definitions
    /// are refused
    #[arg(long, visible_alias = "no-create-info", conflicts_with_all = [
        "ddl_only", "no_views", "no_triggers", "no_routines", "no_events", "definer", "strip_tablespaces",
        "defer_indexes", "sort_memory", "gtid_purged", "users", "include_users", "exclude_users",
        "include_triggers", "exclude_triggers", "include_routines", "exclude_routines", "include_events", "exclude_events",
    ])]
    pub data_only: bool,
    /// Add only these of the archive to a target that has the rest: what an earlier load left out or was refused, or what was
    /// dropped since. Tables and their rows are left as they are. Options about other things are refused
    #[arg(long, value_name = "WHAT", conflicts_with_all = [
        "ddl_only", "data_only", "import_mode", "sort_memory", "defer_indexes", "verify", "analyze", "max_rate", "gtid_purged",
        "strip_tablespaces", "datadir", "users",
    ])]
    pub only: Option<Only>,
    /// Do not load views
    #[arg(long)]
    pub no_views: bool,
    /// Do not load triggers
    #[arg(long)]
    pub no_triggers: bool,
    /// Do not load stored procedures and functions
    #[arg(long)]
    pub no_routines: bool,
    /// Do not load events
    #[arg(long)]
    pub no_events: bool,
}

impl Parts {
    /// Which kinds are loaded.
    pub fn wanted(&self) -> load::Parts {
        let objects = !self.data_only && matches!(self.only, None | Some(Only::Objects));
        load::Parts {
            rows: !self.ddl_only && self.only.is_none(),
            definitions: !self.data_only,
            views: !self.no_views && objects,
            triggers: !self.no_triggers && objects,
            routines: !self.no_routines && objects,
            events: !self.no_events && objects,
            only: self.only.map(|only| match only {
                Only::Objects => load::Only::Objects,
                Only::Indexes => load::Only::Indexes,
                Only::Users => load::Only::Users,
            }),
        }
    }

    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        self.wanted().options().first().copied()
    }
}

/// How rows and indexes get into tables.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Import")]
pub struct Import {
    /// How rows get into the tables
    #[arg(long, value_name = "MODE", default_value = "auto")]
    pub import_mode: ImportMode,
    /// Memory to sort the indexes of tables that are imported as tablespaces; what does not fit is
    /// sorted on disk [default: 512M]
    #[arg(long, value_name = "SIZE", value_parser = sort_memory)]
    pub sort_memory: Option<usize>,
    /// Which tables get their secondary indexes after the rows
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub defer_indexes: DeferIndexes,
}

/// What may be done to the target server for speed.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Server settings and restarts")]
pub struct ServerSettings {
    /// Which settings of the target may change during the load
    #[arg(long, value_name = "LEVEL", default_value = "safe")]
    pub tune: Tune,
    /// Shell line that restarts, starts or stops the server, for --tune=max (settings that need a
    /// restart) and --import-mode offline; $1 in it is restart, start or stop, and is appended if it
    /// is missing: 'systemctl "$1" mysql'
    #[arg(long, value_name = "CMD")]
    pub server_command: Option<String>,
    /// With --server-command and --tune=max: a directory on this host of which the server reads
    /// every .cnf file (!includedir); one file is written there and removed at the end
    #[arg(
        long,
        value_name = "DIR",
        requires = "server_command",
        conflicts_with = "datadir"
    )]
    pub server_config: Option<PathBuf>,
}

/// A load that makes its target.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "New data directory, instead of a target server")]
pub struct NewServer {
    /// Initialize a data directory here (it must be empty, or not exist yet) and load it with a
    /// temporary server, which is shut down at the end; start your service on the directory then. A
    /// password that is given becomes root's
    #[arg(long, value_name = "DIR", conflicts_with_all = ["into", "host", "port", "socket", "user", "server_command"])]
    pub datadir: Option<PathBuf>,
    /// With --datadir: the server program [default: mysqld or mariadbd, as the source was]
    #[arg(long, value_name = "PROGRAM", requires = "datadir")]
    pub mysqld: Option<PathBuf>,
    /// With --datadir: an option for the temporary server, such as lower_case_table_names=1 or
    /// innodb_data_file_path=…, which a data directory keeps forever; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "datadir", value_parser = mysqld_option)]
    pub mysqld_option: Vec<String>,
}

/// What only dumps of other tools need.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Dumps of other tools")]
pub struct OtherDumps {
    /// Schema for names without one; it is created if it does not exist
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// Skip and list statements that no dump needs (SET GLOBAL, INSTALL PLUGIN, …) instead of
    /// refusing the dump
    #[arg(long)]
    pub skip_unsupported: bool,
}
