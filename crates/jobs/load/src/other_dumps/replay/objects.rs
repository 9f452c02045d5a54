//! Definitions, on the control connection: what is adapted, what may fail, and what is never dropped.

use super::super::files::InputFile;
use super::super::statement_policy::resolved;
use super::Replay;
use super::state::{DeferredTrigger, DeferredView, Key};
use crate::attempt::is_there;
use crate::from_archive::prepared::{DEFER_FROM, ForeignKeys};
use crate::{DeferIndexes, refused, rename, script};
use base::units::printable;
use base::{Result, failpoint};
use dumps::script::Statement;
use dumps::statement::Name;
use dumps::{Charset, Dialect};
use run::{Stop, failure};
use server::{ddl, quote};

fn script_takes(text: &[u8], dialect: Dialect) -> bool {
    rename::script::takes_from_others(&String::from_utf8_lossy(text), dialect)
}

impl Replay<'_, '_> {
    /// Runs a statement on the control connection. Unless it is `needed`, a refusal by the server is an
    /// exception and does not end the load.
    pub(super) fn execute(&mut self, text: &[u8], place: &str, needed: bool) -> Result<()> {
        failpoint::reached("a statement is about to run");
        match self.t.conn.execute(text) {
            Ok(_) => Ok(()),
            // 1065: for this server, the statement is a comment.
            Err(e) if e.code() == Some(1065) => Ok(()),
            Err(e) if self.t.resuming && (is_there(&e) || e.code() == Some(1061)) => Ok(()),
            Err(wire::Error::Server(e)) if !needed => {
                self.exception(place, &e);
                Ok(())
            }
            Err(e) => Err(failure::wire(format_args!("cannot run {place}"), e)),
        }
    }

    /// Creates a view. In directories, whose files are in the order of their names, it may need one that
    /// comes later.
    pub(super) fn view(&mut self, s: Statement, place: String) -> Result<()> {
        failpoint::reached("a view is about to be created");
        match self.t.conn.execute(&s.text) {
            Err(wire::Error::Server(e)) if matches!(e.code, 1146 | 1305 | 1356) => {
                self.deferred.views.push(DeferredView {
                    schema: self.script.schema.clone(),
                    text: s.text,
                    charset: s.dialect.charset,
                    place,
                });
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(e) if self.t.resuming && is_there(&e) => Ok(()),
            Err(wire::Error::Server(e)) => {
                self.exception(&place, &e);
                Ok(())
            }
            Err(e) => Err(failure::wire(format_args!("cannot run {place}"), e)),
        }
    }

    /// Records what the target refused and the load does not need.
    pub(super) fn exception(&mut self, place: &str, e: &wire::ServerError) {
        self.refused(format!("{place}: {e}"));
    }

    /// Records what is not as it was in the dump.
    pub(super) fn refused(&mut self, text: String) {
        let text = printable(&text);
        self.t.run.observer.warn(text.clone());
        self.t.report.exceptions.push(text);
    }

    /// Leaves a trigger for the end. Where the whole dump is loaded, rows that come after their trigger are meant to fire
    /// it; here it would write to tables that are not loaded, those of production among them.
    pub(super) fn defer_trigger(&mut self, s: Statement, place: &str) -> Result<()> {
        const SETTINGS: &str =
            "SELECT @@sql_mode, @@character_set_client, @@collation_connection, @@time_zone";
        let rows = self.t.conn.fetch(SETTINGS);
        let rows = rows.map_err(|e| failure::wire("cannot read the session's settings", e))?;
        let cells = rows.into_iter().flatten();
        let mut cells =
            cells.map(|c| quote::text(&String::from_utf8_lossy(&c.unwrap_or_default())));
        let mut next = || cells.next().unwrap_or_default();
        let settings = format!(
            "SET sql_mode = {}, character_set_client = {}, collation_connection = {}, time_zone = {}",
            next(),
            next(),
            next(),
            next()
        );
        self.t.report.notes.push(printable(&format!(
            "{place}: the trigger is created after all rows, so that it does not act on them"
        )));
        self.deferred.triggers.push(DeferredTrigger {
            schema: self.script.schema.clone(),
            text: s.text,
            settings,
            place: place.to_owned(),
        });
        Ok(())
    }

    /// Creates the triggers that were left for the end.
    pub(super) fn deferred_triggers(&mut self) -> Result<()> {
        for trigger in std::mem::take(&mut self.deferred.triggers) {
            if let Some(schema) = &trigger.schema {
                let sql = format!("USE {}", quote::ident(schema));
                self.t.execute(&sql, "cannot use the schema")?;
            }
            self.t
                .execute(&trigger.settings, "cannot prepare a session")?;
            self.execute(&trigger.text, &trigger.place, false)?;
        }
        Ok(())
    }

    /// Creates the views that needed a missing object; repeats as long as any of them succeeds.
    pub(super) fn deferred_views(&mut self) -> Result<()> {
        loop {
            let list = std::mem::take(&mut self.deferred.views);
            let before = list.len();
            if before == 0 {
                return Ok(());
            }
            for v in list {
                if let Some(schema) = &v.schema {
                    let sql = format!("USE {}", quote::ident(schema));
                    self.t.execute(&sql, "cannot use the schema")?;
                }
                let charset = v.charset.unwrap_or(Charset::UTF8MB4).name();
                let sql = format!("SET NAMES {charset}");
                self.t.execute(&sql, "cannot prepare a session")?;
                match self.t.conn.execute(&v.text) {
                    Ok(_) => {}
                    Err(wire::Error::Server(_)) => self.deferred.views.push(v),
                    Err(e) => return Err(failure::wire(format_args!("cannot run {}", v.place), e)),
                }
            }
            if self.deferred.views.len() == before {
                for v in std::mem::take(&mut self.deferred.views) {
                    if let Err(wire::Error::Server(e)) = self.t.conn.execute(&v.text) {
                        self.exception(&v.place, &e);
                    }
                }
            }
        }
    }

    /// Runs a statement that may store rows, once: on resuming, the journal says that it has run.
    pub(super) fn once(
        &mut self,
        file: &InputFile,
        n: usize,
        s: &Statement,
        place: &str,
    ) -> Result<()> {
        let id = format!("{n}@{}", s.offset);
        let Some(journal) = self.journal.clone() else {
            return self.execute(&s.text, place, true);
        };
        if journal.has(&id) {
            return Ok(());
        }
        let fail = |e| {
            failure::wire(
                format_args!("cannot run {}, line {}", file.name(), s.line),
                e,
            )
        };
        self.t.conn.execute("START TRANSACTION").map_err(fail)?;
        journal.enter(&mut self.t.conn, &id).map_err(fail)?;
        self.execute(&s.text, place, true)?;
        self.t.conn.execute("COMMIT").map(drop).map_err(fail)
    }

    /// Creates a table, without the indexes and foreign keys that are created after its rows.
    pub(super) fn create_table(
        &mut self,
        name: &Name,
        s: &Statement,
        place: &str,
        stop: &Stop<'_>,
    ) -> Result<()> {
        self.begin_journal()?;
        let key = self.key(name)?;
        self.next_table(Some(&key), stop)?;
        // It may take the rows of another table.
        if script_takes(&s.text, s.dialect) {
            self.wait_for_rows(stop)?;
            self.known.uncounted.tables.insert(key.clone());
        }
        let mut text = match String::from_utf8(s.text.clone()) {
            // A definition in another character set is left as it is.
            Err(_) => {
                self.known.tables.insert(key);
                return self.execute(&s.text, place, true);
            }
            Ok(text) => {
                let text = script::must_create(&text);
                self.adapted(text, &format!("table {}", quote::qualified(&key.0, &key.1)))
            }
        };
        let bytes = self.survey.and_then(|s| s.tables.get(&key)).copied();
        let defer = match self.t.options.defer_indexes {
            DeferIndexes::All => true,
            DeferIndexes::Off => false,
            DeferIndexes::Auto => bytes.is_some_and(|b| b >= DEFER_FROM),
        };
        if defer {
            let (rest, clauses) = ddl::strip_foreign_keys(&text);
            let (rest, groups) = ddl::strip_secondary_keys(&rest);
            text = rest;
            if !clauses.is_empty() {
                self.deferred.foreign_keys.push(ForeignKeys {
                    table: quote::qualified(&key.0, &key.1),
                    schema: key.0.clone(),
                    name: key.1.clone(),
                    clauses,
                });
            }
            if !groups.is_empty() {
                self.deferred.indexes.insert(key.clone(), groups);
            }
        }
        self.execute(text.as_bytes(), place, true)?;
        self.t.report.touched = true;
        self.known.tables.insert(key);
        Ok(())
    }

    /// A definition adapted to the target, if the dump says from which server it is.
    pub(super) fn adapted(&mut self, text: String, what: &str) -> String {
        let Some(source) = &self.script.source else {
            return text;
        };
        let (text, notes) = ddl::adapt(&text, source, &self.t.id);
        let notes = notes.into_iter().map(|n| format!("{what}: {n}"));
        self.t.report.notes.extend(notes);
        text
    }

    /// Drops what this load has created (placeholders of views), and nothing else; what does not exist
    /// needs no DROP.
    pub(super) fn drop_own(
        &mut self,
        names: &[Name],
        text: &[u8],
        place: &str,
        stop: &Stop<'_>,
    ) -> Result<()> {
        for name in names {
            let Some(key) = resolved(name, self.script.schema.as_deref()) else {
                continue;
            };
            let ours = self.known.tables.contains(&key)
                || self.known.views.contains(&key)
                || self.t.resuming;
            if ours {
                continue;
            }
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
                quote::text(&key.0),
                quote::text(&key.1)
            );
            if self.number(&sql)? > 0 {
                return Err(refused(format!(
                    "the dump drops {}, which the target has",
                    printable(&quote::qualified(&key.0, &key.1))
                ))
                .hint("nothing is ever overwritten: drop it yourself if it may go, or choose another server"));
            }
        }
        let existing: Vec<Key> = names
            .iter()
            .filter_map(|n| resolved(n, self.script.schema.as_deref()))
            .filter(|k| {
                self.known.views.contains(k)
                    || (self.known.tables.contains(k) && !self.known.filled.contains_key(k))
            })
            .collect();
        // On resuming, a table with rows is not dropped: its CREATE is the next statement.
        if existing.len() < names.len() {
            return Ok(());
        }
        self.wait_for_rows(stop)?;
        for key in existing {
            self.known.tables.remove(&key);
        }
        self.execute(text, place, false)
    }
}
