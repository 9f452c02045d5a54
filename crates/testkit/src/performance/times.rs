//! The questions that a time answers: dump, verify, SQL import, tablespace import, a table with five keys; and the one
//! table of README.md.

use super::recorded::{FLAVOURS, Recording, recordings};
use super::rows::{
    ARCHIVE_ROWS, DUMP_ROWS, FILES_ROWS, FIVE_KEYS_SQL_ROWS, SCRIPT_BEST_ROWS, SCRIPT_ROWS,
    SQL_ROWS, TABLESPACE_ROWS, VERIFY_ROWS, row,
};
use super::table::{Column, Row, Tool, columns, newest, peak_mib, recorded_in, table};
use std::path::Path;
use testkit::{Error, Result};

const DUMP: &str = "dump, 2 workers";
const FILES: &str = "dump, 2 workers, without compression";
const FILES_ZSTD: &str = "dump, 2 workers, zstd:1";
const VERIFY: &str = "verify, 2 workers";
const SQL: &str = "SQL import, 2 workers";
const ARCHIVE: &str = "SQL import of an archive";
const SCRIPT: &str = "import of one .sql file";
const TABLESPACE: &str = "tablespace import";
const FIVE_KEYS: &str = "five keys, tablespace import";
const FIVE_KEYS_SQL: &str = "five keys, SQL import, best settings";

/// Under which conditions tablespace imports are measured.
const IMPORTED: &str = "For `tablespace` and `offline` the server is as installed but for memory and the binary log, \
    `--datadir` begins with nothing and ends with a server that is shut down, and all others load into a server without redo \
    log (MySQL) and binary log.";

/// The recordings that the tables need.
#[derive(Debug)]
pub(crate) struct Runs {
    rows: Vec<Recording>,
    restore: Vec<Recording>,
    files: Vec<Recording>,
}

impl Runs {
    pub(crate) fn read(root: &Path) -> Result<Runs> {
        Ok(Runs {
            rows: recordings(root, "rows")?,
            restore: recordings(root, "restore")?,
            files: recordings(root, "files")?,
        })
    }

    /// The sections of docs/performance.md.
    pub(crate) fn sections(&self) -> Result<String> {
        let tpcc = |r: &Recording| r.data.starts_with("tpcc") && r.warehouses == Some(10);
        let mut out = String::new();

        let dump = needed(DUMP, newest(&self.rows, DUMP, tpcc))?;
        out.push_str(&section(
            "Dump",
            &dump,
            &table(DUMP_ROWS, &dump, false),
            &format!(
                "Two workers or threads for each tool that can.{} A dump compares nothing; the next table does.",
                memory(
                    &dump,
                    &["penstock, no compression", "penstock, zstd:1"],
                    "penstock"
                )
            ),
        ));
        let most = largest(&self.files, FILES, |r| r.warehouses.unwrap_or(0));
        let of = |group| {
            let all = newest(&self.files, group, |r| r.warehouses == Some(most));
            needed(group, all)
        };
        let (plain, packed) = (of(FILES)?, of(FILES_ZSTD)?);
        out.push_str(&section(
            "Dump from InnoDB's files",
            &plain,
            &format!(
                "Without compression:\n\n{}\nWith zstd:1:\n\n{}",
                table(FILES_ROWS, &plain, false),
                table(FILES_ROWS, &packed, false)
            ),
            "Two workers. Here × is how many times as fast as penstock's own dump by SQL. `--from-files` reads the files of a server \
             that was shut down, `--from-replica-files` those of a replica that runs, and `--from-snapshot` takes a snapshot of one that runs and recovers a copy first.",
        ));
        let verify = needed(VERIFY, newest(&self.rows, VERIFY, tpcc))?;
        out.push_str(&section(
            "Verify",
            &verify,
            &table(VERIFY_ROWS, &verify, false),
            "Two workers, the archive compressed with zstd:1.",
        ));

        let sql = needed(SQL, newest(&self.rows, SQL, tpcc))?;
        out.push_str(&section(
            "SQL import",
            &sql,
            &table(SQL_ROWS, &sql, true),
            "An empty server without binary log, without redo log (MySQL) and without syncs at commit, for each tool.",
        ));
        let archive = needed(ARCHIVE, newest(&self.restore, ARCHIVE, tpcc))?;
        out.push_str(&section(
            "SQL import, by level of --tune",
            &archive,
            &table(ARCHIVE_ROWS, &archive, true),
            "penstock loads into a server as installed but for memory, myloader into one without redo log (MySQL), binary log \
             and syncs at commit.",
        ));
        let script = needed(SCRIPT, newest(&self.restore, SCRIPT, tpcc))?;
        out.push_str(&section(
            "One .sql file of mysqldump",
            &script,
            &format!(
                "A server as installed but for memory:\n\n{}\nA server without redo log (MySQL), binary log and syncs at commit:\n\n{}",
                table(SCRIPT_ROWS, &script, true),
                table(SCRIPT_BEST_ROWS, &script, true)
            ),
            "Such a dump has no digests, so penstock counts rows and warnings and compares nothing.",
        ));

        let most = largest(&self.restore, TABLESPACE, |r| r.warehouses.unwrap_or(0));
        let large = needed(
            TABLESPACE,
            newest(&self.restore, TABLESPACE, |r| r.warehouses == Some(most)),
        )?;
        out.push_str(&section(
            &format!("Tablespace import, {most} warehouses"),
            &large,
            &table(TABLESPACE_ROWS, &large, true),
            &format!("{IMPORTED}{}", import_memory(&large)),
        ));
        let small = needed(TABLESPACE, newest(&self.restore, TABLESPACE, tpcc))?;
        out.push_str(&section(
            "Tablespace import, 10 warehouses",
            &small,
            &table(TABLESPACE_ROWS, &small, true),
            &format!("{IMPORTED}{}", import_memory(&small)),
        ));

        let most = largest(&self.restore, FIVE_KEYS, |r| r.millions);
        let five = needed(
            FIVE_KEYS,
            newest(&self.restore, FIVE_KEYS, |r| r.millions == most),
        )?;
        out.push_str(&five_keys(
            "A table with five keys, tablespace import",
            &five,
            &table(TABLESPACE_ROWS, &five, true),
            &format!(
                "{IMPORTED} mysqlimport gets the rows in two files, so that both of its threads have work.{}",
                import_memory(&five)
            ),
        ));
        let deferred = needed(
            FIVE_KEYS_SQL,
            newest(&self.restore, FIVE_KEYS_SQL, |_| true),
        )?;
        out.push_str(&five_keys(
            "A table with five keys, SQL import",
            &deferred,
            &table(FIVE_KEYS_SQL_ROWS, &deferred, true),
            "penstock runs with `--verify none`; it builds secondary indexes after the rows, unless `--defer-indexes off` is given. The server has \
             no redo log (MySQL), no binary log and no syncs at commit.",
        ));
        Ok(out)
    }

    /// The table of README.md: restores of the largest data set, of the newest day on which both flavours have one.
    pub(crate) fn readme(&self) -> Result<String> {
        let most = largest(&self.restore, TABLESPACE, |r| r.warehouses.unwrap_or(0));
        let of = |flavour| {
            columns(&self.restore, flavour, TABLESPACE)
                .filter(|c| c.recording.warehouses == Some(most))
        };
        let date = |c: &Column<'_>| c.recording.source.date.clone();
        let day = of(FLAVOURS[0])
            .map(|c| date(&c))
            .filter(|day| of(FLAVOURS[1]).any(|c| date(&c) == *day))
            .max()
            .ok_or_else(|| Error(format!("no day has restores of {most} warehouses on both")))?;
        let columns: Vec<Column<'_>> = (FLAVOURS.iter())
            .filter_map(|f| of(*f).find(|c| date(c) == day))
            .collect();
        let tools: Vec<Row> = (TABLESPACE_ROWS.iter())
            .filter(|r| r.tool != Tool::Limit)
            .map(|r| row(r.label, r.tool, r.entries))
            .collect();
        let machine = &columns[0].recording.source.machine;
        let cores = machine.split(", Linux").next().unwrap_or(machine);
        Ok(format!(
            "Restore of TPC-C with {most} warehouses ({}), two workers, server on the same machine ({cores}), {day}:\n\n{}\n\
             ×: times as fast as the fastest other tool. Verified: the time includes comparing all rows with the archive's digests. \
             The other tools, and `--import-mode sql`, load into a server without redo log (MySQL) and binary log. Other questions, \
             and the recorded runs: [docs/performance.md](docs/performance.md).\n",
            data(columns[0].recording),
            table(&tools, &columns, true),
        ))
    }
}

/// The columns, or an error that names the group that no recording has.
fn needed<'a>(group: &str, columns: Vec<Column<'a>>) -> Result<Vec<Column<'a>>> {
    match columns.is_empty() {
        true => Err(Error(format!(
            "no recording in bench/ has the group {group:?}"
        ))),
        false => Ok(columns),
    }
}

/// The greatest of a figure among the newest recordings that have a group.
fn largest(all: &[Recording], group: &str, figure: impl Fn(&Recording) -> u64) -> u64 {
    (all.iter())
        .filter(|r| !r.source.history && r.group(group).is_some())
        .map(figure)
        .max()
        .unwrap_or(0)
}

/// `tpcc: 5,090,487 rows, 716 MB as text` without the name.
fn data(recording: &Recording) -> &str {
    recording
        .data
        .split_once(": ")
        .map_or(&*recording.data, |(_, rest)| rest)
}

fn section(title: &str, columns: &[Column<'_>], table: &str, conditions: &str) -> String {
    let first = columns[0].recording;
    let warehouses = first.warehouses.unwrap_or(0);
    let subject = format!("TPC-C, {warehouses} warehouses ({})", data(first));
    format!(
        "## {title}\n\n{subject}; seconds.\n\n{table}\n{conditions}\n\n{}\n",
        recorded_in(columns)
    )
}

fn five_keys(title: &str, columns: &[Column<'_>], table: &str, conditions: &str) -> String {
    let millions = columns[0].recording.millions;
    let rows = if millions == 1 {
        "One million rows".to_owned()
    } else {
        format!("{millions} million rows")
    };
    format!(
        "## {title}\n\n{rows} with five secondary keys over random values; seconds.\n\n{table}\n{conditions}\n\n{}\n",
        recorded_in(columns)
    )
}

/// A sentence about peak memory.
fn memory(columns: &[Column<'_>], entries: &[&str], who: &str) -> String {
    peak_mib(columns, entries)
        .map(|mib| format!(" Most memory of {who}: {mib:.0} MiB."))
        .unwrap_or_default()
}

fn import_memory(columns: &[Column<'_>]) -> String {
    let imports = [
        "penstock --import-mode tablespace",
        "penstock --import-mode offline",
    ];
    memory(
        columns,
        &imports,
        "penstock, for `tablespace` and `offline`",
    ) + &memory(columns, &["penstock --datadir"], "a process of `--datadir`")
}
