//! The end of a replay: foreign keys and views, and whether the tables hold the rows that were sent.

use super::super::files::InputFiles;
use super::super::statement_policy;
use super::super::target_table::TargetTable;
use super::Replay;
use crate::target::connections;
use base::units::{count, printable};
use base::{Error, Kind, Result};
use run::failure;
use server::quote;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

impl Replay<'_, '_> {
    /// Checks that each table holds the rows that were sent. Without digests, nothing else detects rows
    /// that were changed while a load was interrupted.
    fn count_rows(&mut self) -> Result<()> {
        if !self.t.options.verify.compares_sql() || self.known.uncounted.all {
            return Ok(());
        }
        let tables: Vec<&Arc<TargetTable>> = self
            .known
            .filled
            .iter()
            .filter(|(key, _)| !self.known.uncounted.tables.contains(*key))
            .map(|(_, table)| table)
            .collect();
        let conns = connections(self.t, &self.t.options.target)?;
        let phase = self.t.run.phase("counting rows", conns.len());
        let next = AtomicU64::new(0);
        let wrong = Mutex::new(Vec::new());
        self.t.run.workers(conns, |_, mut conn, stop| {
            while let Some(table) = tables.get(next.fetch_add(1, Ordering::SeqCst) as usize) {
                stop.check()?;
                let sql = format!("SELECT COUNT(*) FROM {}", table.name);
                let rows = conn
                    .fetch(sql)
                    .map_err(|e| failure::wire(format_args!("cannot count {}", table.name), e))?;
                let cell = rows
                    .into_iter()
                    .flatten()
                    .flatten()
                    .next()
                    .unwrap_or_default();
                let found: u64 = String::from_utf8_lossy(&cell).parse().unwrap_or(0);
                let sent = table.rows.load(Ordering::SeqCst);
                phase.counters.rows.add(found);
                if found != sent {
                    let name = printable(&table.name);
                    let text = format!(
                        "{name} holds {} rows, {} were sent",
                        count(found),
                        count(sent)
                    );
                    base::lock(&wrong).push(text);
                }
            }
            Ok(())
        })?;
        let mut wrong = base::lock::into_inner(wrong);
        if wrong.is_empty() {
            return Ok(());
        }
        wrong.sort();
        Err(Error::new(
            Kind::Differs,
            format!(
                "the target does not hold what was loaded:\n  {}",
                wrong.join("\n  ")
            ),
        ))
    }

    /// Lists tables of which fewer or more rows were loaded than the tool that dumped them counted.
    fn compare_with_recorded_counts(&mut self, files: &InputFiles) {
        for (key, counted) in &files.counted {
            let rows = self
                .known
                .filled
                .get(key)
                .map_or(0, |s| s.rows.load(Ordering::SeqCst));
            if rows != *counted {
                self.t.report.exceptions.push(printable(&format!(
                    "table {}: the dump records {} rows, its files have {}: a file is missing or was changed",
                    quote::qualified(&key.0, &key.1),
                    count(*counted),
                    count(rows)
                )));
            }
        }
    }

    /// Does what has to be done after all rows; ends the journal.
    pub(super) fn finish(&mut self, files: &InputFiles) -> Result<()> {
        for k in std::mem::take(&mut self.deferred.foreign_keys) {
            self.t.add_foreign_keys(&k)?;
        }
        self.deferred_triggers()?;
        self.deferred_views()?;
        self.give_defaults_back()?;
        self.count_rows()?;
        self.compare_with_recorded_counts(files);
        let skipped = statement_policy::grouped(&self.skipped);
        let skipped = skipped.iter().map(|l| printable(&format!("skipped: {l}")));
        self.t.report.exceptions.extend(skipped);
        match self.journal.take() {
            Some(journal) => {
                let own = self.t.options.managed.is_some();
                journal.end(self.t, own.then(Vec::new))
            }
            None => Ok(()),
        }
    }
}
