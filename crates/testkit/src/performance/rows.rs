//! The rows of the tables of times: what the page calls each, what kind of tool it is, and the entries of recordings that
//! it comes from.

use super::table::{Row, Tool};

pub(super) const fn row(label: &'static str, tool: Tool, entries: &'static [&'static str]) -> Row {
    Row {
        label,
        tool,
        entries,
    }
}

pub(super) const DUMP_ROWS: &[Row] = &[
    row(
        "penstock, no compression",
        Tool::Penstock(false),
        &["penstock, no compression"],
    ),
    row(
        "penstock, zstd:1",
        Tool::Penstock(false),
        &["penstock, zstd:1"],
    ),
    row(
        "mydumper, no compression",
        Tool::Other,
        &["mydumper, no compression"],
    ),
    row("mydumper, zstd", Tool::Other, &["mydumper, zstd"]),
    row(
        "mysqldump (mariadb-dump) | zstd -1",
        Tool::Other,
        &["mysqldump | zstd -1", "mariadb-dump | zstd -1"],
    ),
    row(
        "limit: the same rows read and thrown away",
        Tool::Limit,
        &["limit: rows read by 2 connections"],
    ),
    row(
        "limit: the same rows read and written to files",
        Tool::Limit,
        &["limit: the same, and written to files"],
    ),
];

/// The dump by SQL is what the others are compared with.
pub(super) const FILES_ROWS: &[Row] = &[
    row(
        "penstock dump --from-files",
        Tool::Penstock(false),
        &["penstock dump --from-files"],
    ),
    row(
        "penstock dump --from-replica-files",
        Tool::Penstock(false),
        &["penstock dump --from-replica-files"],
    ),
    row(
        "penstock dump --from-snapshot reflink",
        Tool::Penstock(false),
        &["penstock dump --from-snapshot"],
    ),
    row(
        "penstock dump, by SQL",
        Tool::Other,
        &["penstock dump, by SQL"],
    ),
    row(
        "limit of SQL: the same rows read and thrown away",
        Tool::Limit,
        &["limit: rows read by 2 connections"],
    ),
];

pub(super) const VERIFY_ROWS: &[Row] = &[
    row(
        "penstock verify, archive against server",
        Tool::Penstock(true),
        &["penstock verify --against"],
    ),
    row(
        "penstock verify, archive without a server",
        Tool::Penstock(true),
        &["penstock verify (offline)"],
    ),
    row(
        "limit: the same rows read and thrown away",
        Tool::Limit,
        &["limit: rows read by 2 connections"],
    ),
];

pub(super) const SQL_ROWS: &[Row] = &[
    row(
        "penstock",
        Tool::Penstock(true),
        &["penstock load, verified"],
    ),
    row(
        "penstock --verify none",
        Tool::Penstock(false),
        &["penstock load --verify none"],
    ),
    IMPORT,
    row("myloader", Tool::Other, &["myloader"]),
    row(
        "mysql (mariadb) < dump.sql",
        Tool::Other,
        &["mysql < dump.sql", "mariadb < dump.sql"],
    ),
    row(
        "limit: LOAD DATA of the same chunks by the stock client",
        Tool::Limit,
        &["limit: LOAD DATA of the same chunks"],
    ),
];

pub(super) const ARCHIVE_ROWS: &[Row] = &[
    row(
        "penstock --tune=max",
        Tool::Penstock(true),
        &["penstock --tune=max"],
    ),
    row(
        "penstock --tune=max --verify none",
        Tool::Penstock(false),
        &["penstock --tune=max --verify none"],
    ),
    row(
        "penstock --tune=safe --verify none",
        Tool::Penstock(false),
        &["penstock --tune=safe --verify none"],
    ),
    row(
        "penstock --tune=off --verify none",
        Tool::Penstock(false),
        &["penstock --tune=off --verify none"],
    ),
    MYLOADER,
];

pub(super) const SCRIPT_ROWS: &[Row] = &[
    row(
        "penstock --tune=off",
        Tool::Penstock(false),
        &["penstock --tune=off"],
    ),
    row("mysql (mariadb) <", Tool::Other, &["mysql <", "mariadb <"]),
];

pub(super) const SCRIPT_BEST_ROWS: &[Row] = &[
    row(
        "penstock",
        Tool::Penstock(false),
        &["penstock, best settings"],
    ),
    row(
        "mysql (mariadb) <",
        Tool::Other,
        &["mysql <, best settings", "mariadb <, best settings"],
    ),
];

pub(super) const TABLESPACE_ROWS: &[Row] = &[
    row(
        "penstock --datadir",
        Tool::Penstock(true),
        &["penstock --datadir"],
    ),
    row(
        "penstock --import-mode offline",
        Tool::Penstock(true),
        &["penstock --import-mode offline"],
    ),
    row(
        "penstock --import-mode tablespace",
        Tool::Penstock(true),
        &["penstock --import-mode tablespace"],
    ),
    row(
        "penstock --import-mode sql",
        Tool::Penstock(true),
        &["penstock --import-mode sql, best settings"],
    ),
    IMPORT,
    MYLOADER,
    LIMIT_COPY,
];

const IMPORT: Row = row(
    "mysqlimport (mariadb-import), 2 threads",
    Tool::Other,
    &[
        "mysqlimport --use-threads=2",
        "mariadb-import --use-threads=2",
    ],
);
const MYLOADER: Row = row(
    "myloader, 2 threads",
    Tool::Other,
    &["myloader, best settings"],
);
const LIMIT_COPY: Row = row(
    "limit: the resulting files copied and synced",
    Tool::Limit,
    &["limit: cp of the files, and sync"],
);

pub(super) const FIVE_KEYS_SQL_ROWS: &[Row] = &[
    row(
        "penstock, 2 workers",
        Tool::Penstock(false),
        &["penstock, 2 workers"],
    ),
    row(
        "penstock, 1 worker",
        Tool::Penstock(false),
        &["penstock, 1 worker"],
    ),
    row(
        "penstock --defer-indexes off, 1 worker",
        Tool::Penstock(false),
        &["penstock --defer-indexes off, 1 worker"],
    ),
    row("mysql (mariadb) <", Tool::Other, &["mysql <", "mariadb <"]),
];
