//! The statements that take row events back: written into a file, and never run.
//!
//! The last change is taken back first: transactions, events and rows in their reverse order, each transaction as one. A statement names
//! every value that the row had, so that it changes nothing but that row.
//!
//! Either every change in the range is in the file, or there is no file: what cannot be taken back ends it, by name. Statements are
//! written to a file without a name in the order of the log first, so that no range is too long for memory.

mod reversed;
mod statement;

use crate::definitions::{Definition, Definitions, Known};
use crate::log::Log;
use crate::parts::{Part, Reader, RowsOf};
use crate::search::{Bound, Found, Search, Searched};
use crate::show::{read_again, values};
use crate::walk::Place;
use base::units::{printable, things};
use base::{Error, Kind, Result};
use binlog::body::query::Role;
use binlog::kind;
use reversed::Reversed;
use run::Run;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is taken back, and where the statements go.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rows of the tables and kinds that were searched for.
    pub search: Search,
    /// A file that is not there.
    pub file: PathBuf,
    /// Whose log it is, in words.
    pub of: String,
}

/// What was written.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The file; none if there was nothing to write.
    pub file: Option<String>,
    /// Transactions that it takes back.
    pub transactions: u64,
    /// Statements in it.
    pub statements: u64,
    /// The same by table.
    pub tables: BTreeMap<String, u64>,
    /// The first transaction that it takes back, and the last one, in the order of the log.
    pub range: Option<(String, String)>,
    /// Rows of other tables, or of other kinds, than were asked for.
    pub left: u64,
    /// Statements that are not about them.
    pub left_statements: u64,
    /// What is not certain about the file, in words.
    pub notes: Vec<String>,
}

/// Obstacles that are named; the others are counted.
const NAMED: usize = 10;

/// Writes the statements that take back what was found.
pub fn undo(
    run: &Run,
    log: &Log<'_>,
    searched: &Searched,
    definitions: &Definitions,
    options: &Options,
) -> Result<Summary> {
    new_file(&options.file)?;
    one_timeline(searched)?;
    without_gaps(log, searched, &options.search)?;
    let directory = match options.file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let cannot = |e: std::io::Error| storage(&options.file, &e);
    let mut writer = Writer {
        definitions,
        options,
        reversed: Reversed::new(directory).map_err(cannot)?,
        summary: Summary::default(),
        obstacles: Vec::new(),
        more: 0,
        pending: 0,
        by_log: BTreeSet::new(),
        by_backup: BTreeMap::new(),
    };
    let phase = run.phase("reading what is taken back", 1);
    let mut now: Option<Reader> = None;
    read_again(run, log, &searched.found, &mut |of, walked| {
        let mariadb = log.is_mariadb(log.place_of(of.timeline));
        if walked.at == of.transaction.start {
            writer.pending = 0;
            now = Some(Reader::new(mariadb, log.wrong()));
        }
        phase.counters.bytes.add(walked.event.bytes().len() as u64);
        let at = walked.place();
        if let Some(reader) = &mut now {
            reader.take(walked, &mut |part| writer.part(of, mariadb, &at, part))?;
        }
        if walked.mark == binlog::Mark::End {
            writer.end(of)?;
            now = None;
        }
        Ok(())
    })?;
    writer.finish()
}

/// A file that is there is never written over.
fn new_file(file: &Path) -> Result<()> {
    match file.symlink_metadata() {
        Ok(_) => {
            let what = format!("{} exists, and is not written over", file.display());
            Err(Error::new(Kind::Target, printable(&what)).hint("name a new file"))
        }
        Err(_) => Ok(()),
    }
}

/// After a reset the same names stand for other files, and what happened in between is not known.
fn one_timeline(searched: &Searched) -> Result<()> {
    let numbers: BTreeSet<u32> = searched.found.iter().map(|f| f.timeline).collect();
    if numbers.len() < 2 {
        return Ok(());
    }
    let what = "what was found is in several timelines of the log, and what is missing between them cannot be taken back";
    Err(Error::new(Kind::Usage, what).hint("limit it with --after and --before, or with GTIDs"))
}

/// What is missing of the log may have changed the same rows.
fn without_gaps(log: &Log<'_>, searched: &Searched, search: &Search) -> Result<()> {
    let Some(first) = searched.found.first() else {
        return Ok(());
    };
    // One transaction is all there or not there.
    if search.gtid.is_some() {
        return Ok(());
    }
    let timeline = log.place_of(first.timeline);
    let place = |bound: &Option<Bound>| match bound {
        Some(Bound::Place(place)) => Some(place.clone()),
        _ => None,
    };
    let from = place(&search.from).or_else(|| searched.from.clone());
    let to = place(&search.to).or_else(|| searched.to.clone());
    let (Some(from), Some(to)) = (
        from.or_else(|| log.begin(timeline)),
        to.or_else(|| log.end(timeline)),
    ) else {
        return Ok(());
    };
    let missing = log.missing(timeline, &from, &to);
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!(
        "a part of the log is missing in this range: {}",
        missing.join("; ")
    );
    Err(Error::new(Kind::Usage, printable(&what)).hint(
        "nothing was written; limit it with --from and --to to what is whole, or repair the log (penstock binlog archive --repair) while the server still has it",
    ))
}

fn storage(file: &Path, e: &std::io::Error) -> Error {
    let what = format!("cannot write --undo {}: {e}", file.display());
    Error::new(Kind::Storage, printable(&what))
}

struct Writer<'w> {
    definitions: &'w Definitions,
    options: &'w Options,
    reversed: Reversed,
    summary: Summary,
    obstacles: Vec<String>,
    /// Obstacles that are not named.
    more: usize,
    /// Statements of the transaction that is read.
    pending: u64,
    /// Tables that only the log describes.
    by_log: BTreeSet<String>,
    /// Tables whose definition is another one than the present one: which it is.
    by_backup: BTreeMap<String, String>,
}

impl Writer<'_> {
    fn end(&mut self, found: &Found) -> Result<()> {
        if self.pending == 0 {
            return Ok(());
        }
        let name = name(found);
        self.summary.transactions += 1;
        let range = self
            .summary
            .range
            .get_or_insert_with(|| (name.clone(), name.clone()));
        range.1.clone_from(&name);
        self.push(&format!("-- {name}\nSTART TRANSACTION;"))
    }

    fn push(&mut self, text: &str) -> Result<()> {
        let file = &self.options.file;
        self.reversed
            .push(text.as_bytes())
            .map_err(|e| storage(file, &e))
    }

    fn obstacle(&mut self, what: String) {
        match self.obstacles.len() < NAMED {
            true => self.obstacles.push(printable(&what)),
            false => self.more += 1,
        }
    }

    fn part(&mut self, found: &Found, mariadb: bool, at: &Place, part: Part<'_>) -> Result<()> {
        let search = &self.options.search;
        match part {
            Part::Query { query, role } => {
                let text = String::from_utf8_lossy(&query.statement);
                let starts = |word: &str| {
                    let head = text.get(..word.len());
                    head.is_some_and(|h| h.eq_ignore_ascii_case(word))
                };
                if role == Role::End
                    && !starts("COMMIT")
                    && !starts("XA COMMIT")
                    && !found.changes.is_empty()
                {
                    self.obstacle(format!(
                        "the transaction at {at} was rolled back, and what remained of it is not known"
                    ));
                }
                let harmless = ["SAVEPOINT", "XA END", "RELEASE SAVEPOINT"];
                if role != Role::Part || harmless.into_iter().any(starts) {
                    return Ok(());
                }
                if starts("ROLLBACK TO") {
                    self.obstacle(format!(
                        "a part of the transaction at {at} was rolled back, and what remained of it is not known"
                    ));
                    return Ok(());
                }
                let schema = String::from_utf8_lossy(query.schema);
                match search.is_about_statement(&schema, &text) {
                    true => self.obstacle(format!(
                        "the statement at {at} cannot be taken back: {}",
                        short(&text)
                    )),
                    false => self.summary.left_statements += 1,
                }
                Ok(())
            }
            Part::OfRows(_) => Ok(()),
            Part::Rows(rows) => self.rows(found, mariadb, at, &rows),
            Part::Other((of, body)) => {
                // One phase: it is committed at once.
                const ONE_PHASE: u8 = 1;
                match of {
                    kind::XA_PREPARE if body.first() == Some(&ONE_PHASE) => {}
                    kind::XA_PREPARE if !found.changes.is_empty() => self.obstacle(format!(
                        "the transaction at {at} was prepared (XA), and whether it was committed stands elsewhere in the log"
                    )),
                    kind::LOAD
                    | kind::CREATE_FILE
                    | kind::EXEC_LOAD
                    | kind::NEW_LOAD => {
                        self.obstacle(format!("LOAD DATA at {at} cannot be taken back"));
                    }
                    kind::PRE_GA_WRITE_ROWS..=kind::PRE_GA_DELETE_ROWS => self.obstacle(format!(
                        "the rows at {at} have the format of a version before 5.1's release"
                    )),
                    _ => {}
                }
                Ok(())
            }
        }
    }

    fn rows(&mut self, found: &Found, mariadb: bool, at: &Place, rows: &RowsOf<'_>) -> Result<()> {
        let (schema, table) = &rows.table.name;
        let (search, change) = (&self.options.search, rows.event.change);
        if !search.is_about(schema, table) || !search.is_about_change(change) {
            return rows.each(|_, _| {
                self.summary.left += 1;
                Ok(())
            });
        }
        let mut columns = rows.table.columns.clone();
        let name = format!("{schema}.{table}");
        let known =
            self.definitions
                .of(found.timeline, &rows.table.name, at, &mut columns, mariadb);
        let definition: Option<Arc<Definition>> = match known {
            Known::Defined(definition) => Some(definition),
            Known::Not(_) if columns.iter().all(|c| c.name.is_some()) => None,
            Known::Not(why) => {
                self.obstacle(format!(
                    "the columns of {name} have no names in the log at {at}, and {why}"
                ));
                return Ok(());
            }
        };
        let of =
            match statement::Table::new(schema, table, &columns, definition.as_deref(), mariadb) {
                Ok(of) => of,
                Err(why) => {
                    self.obstacle(format!("rows of {name} at {at}: {why}"));
                    return Ok(());
                }
            };
        match &definition {
            None => {
                self.by_log.insert(name.clone());
            }
            Some(known) if !known.present => {
                self.by_backup.insert(name.clone(), known.by.clone());
            }
            Some(_) => {}
        }
        let mut wrong = None;
        rows.each(|before, after| {
            let before = before.map(|image| values(&columns, &image));
            let after = after.map(|image| values(&columns, &image));
            match of.inverse(before.as_deref(), after.as_deref()) {
                Ok(statement) => {
                    if self.pending == 0 {
                        // In the reverse order, what comes first ends the transaction.
                        self.push("COMMIT;\n")?;
                    }
                    self.pending += 1;
                    self.summary.statements += 1;
                    *self.summary.tables.entry(name.clone()).or_default() += 1;
                    self.push(&statement)
                }
                Err(why) => {
                    wrong.get_or_insert(why);
                    Ok(())
                }
            }
        })?;
        if let Some(why) = wrong {
            self.obstacle(format!("a row of {name} at {at}: {why}"));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Summary> {
        if !self.obstacles.is_empty() {
            let mut lines = self.obstacles.clone();
            if self.more > 0 {
                lines.push(format!("and {} more", self.more));
            }
            let what = format!("this range cannot be taken back:\n{}", lines.join("\n"));
            return Err(Error::new(Kind::Usage, what).hint(
                "nothing was written; leave it out with --table, --gtid, --from and --to, or with --after and --before",
            ));
        }
        if self.summary.statements == 0 {
            return Ok(self.summary);
        }
        let file = self.options.file.clone();
        if !self.by_log.is_empty() {
            let tables: Vec<&str> = self.by_log.iter().map(String::as_str).collect();
            self.summary.notes.push(format!(
                "only the log describes {}: it does not say which columns are generated, nor whether there are triggers",
                tables.join(", ")
            ));
        }
        for (table, by) in &self.by_backup {
            self.summary.notes.push(format!(
                "whether {table} has triggers is known as of {by}; one that was made since would run with each statement"
            ));
        }
        let head = self.head();
        self.reversed
            .finish(&file, head.as_bytes())
            .map_err(|e| match e.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    let what = format!("{} exists, and is not written over", file.display());
                    Error::new(Kind::Target, printable(&what)).hint("name a new file")
                }
                _ => storage(&file, &e),
            })?;
        self.summary.file = Some(file.display().to_string());
        Ok(self.summary)
    }

    /// What stands before the statements.
    fn head(&self) -> String {
        let s = &self.summary;
        let (first, last) = s.range.clone().unwrap_or_default();
        let mut text = format!(
            "-- Takes back {} of {}, from {last} to {first}: {}.\n\
             -- penstock binlog show --undo has written this, and has run nothing of it. Read it, and run it with the mysql client:\n\
             --   mysql --binary-mode … < FILE\n\
             -- Each statement names the row as the log left it; a row that has changed since is left as it is. Rows that a foreign key\n\
             -- changed (CASCADE, SET NULL) are not in every log, and are not taken back.\n",
            things(s.transactions, "transaction"),
            one_line(&self.options.of),
            things(s.statements, "statement"),
        );
        for note in &s.notes {
            text += &format!("-- {}\n", one_line(note));
        }
        text + statement::SETTINGS
    }
}

/// A transaction in words.
fn name(found: &Found) -> String {
    let t = &found.transaction;
    let name = t
        .gtid
        .as_ref()
        .map_or_else(String::new, |g| format!("{g} "));
    one_line(&format!("{name}{}:{}", found.file, t.start))
}

/// What comes from a log may have line ends, which would end a comment.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    printable(&words.join(" "))
}

fn short(statement: &str) -> String {
    const LONGEST: usize = 100;
    let line = one_line(statement);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}
