//! What a server's log says of two moments: which tables nothing between them can have changed.
//!
//! Rows name their table. A statement names what it changes, or a view, a function or a procedure that does, so every word of its
//! text is taken for a name: too much is taken for changed, never too little. Where the log cannot tell, all may have changed.

use crate::live::{First, Live};
use crate::source::{Source, of_log};
use crate::walk::Place;
use base::units::printable;
use base::{Kind, Result};
use binlog::body::query::Role;
use binlog::body::{Payload, Query, Table};
use binlog::{Description, Event, Mark, kind};
use run::Run;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

/// Longest event in a compressed transaction.
const LONGEST: usize = binlog::file::LONGEST;

/// Statements that change definitions or nothing, by their first word; any other may change rows by what it calls.
const OF_DEFINITIONS: [&str; 15] = [
    "alter",
    "create",
    "drop",
    "rename",
    "truncate",
    "optimize",
    "repair",
    "flush",
    "grant",
    "revoke",
    "savepoint",
    "release",
    "rollback",
    "xa",
    "comment",
];

/// The same of words that other statements begin with, too: with their second words.
const OF_DEFINITIONS_BY_TWO: [(&str, &[&str]); 2] = [
    ("set", &["password", "default", "role"]),
    ("analyze", &["table", "local", "no_write_to_binlog"]),
];

/// Statements that change no definition.
const OF_ROWS: [&str; 10] = [
    "insert", "update", "delete", "replace", "load", "select", "with", "call", "do", "values",
];

/// What statements can call, and what is run where rows change. A table that is dropped, replaced or renamed takes its triggers along.
const PROGRAMS: [&str; 9] = [
    "function",
    "procedure",
    "trigger",
    "view",
    "package",
    "event",
    "drop",
    "replace",
    "rename",
];

/// A view, a routine or a trigger.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name that statements run it by: its own, or the table of a trigger.
    pub name: String,
    /// What it does; none if the account may not see that.
    pub text: Option<Vec<u8>>,
}

/// Where a log is read from, and what is known of that place.
#[derive(Clone, Debug)]
pub struct Since {
    /// The place.
    pub place: Place,
    /// The server's clock there, in seconds since 1970.
    pub time: u64,
}

/// What was changed since a place of a log.
#[derive(Debug, Default)]
pub struct Touched {
    /// The words of the names that are looked for.
    wanted: HashSet<String>,
    /// Schema and name, in lower case, and where rows of it were changed first.
    rows: BTreeMap<(String, String), Place>,
    /// Words of names in statements, and where they were first.
    words: BTreeMap<String, Place>,
    /// The first statement.
    statement: Option<Place>,
    /// The first statement that may call a program.
    calls: Option<Place>,
    /// The first statement that changes a program's definition.
    programs: Option<Place>,
    /// XA transactions that were prepared since, as statements name them.
    prepared: BTreeSet<String>,
    /// Why anything may have changed.
    everything: Option<String>,
}

impl Touched {
    /// Nothing yet; `names` are those of tables, views and routines.
    pub fn new<'n>(names: impl Iterator<Item = &'n str>) -> Touched {
        Touched {
            wanted: names.flat_map(|n| words(n.as_bytes())).collect(),
            ..Touched::default()
        }
    }

    /// Why anything may have changed, if the log cannot tell.
    pub fn everything(&self) -> Option<&str> {
        self.everything.as_deref()
    }

    /// Says that anything may have changed.
    pub fn give_up(&mut self, why: String) {
        self.everything.get_or_insert(why);
    }

    /// Where rows of a table were changed first.
    pub fn rows_of(&self, schema: &str, table: &str) -> Option<&Place> {
        self.rows.get(&(lower(schema), lower(table)))
    }

    /// The tables whose rows were changed, in lower case.
    pub fn tables(&self) -> impl Iterator<Item = &(String, String)> {
        self.rows.keys()
    }

    /// The first statement whose text holds this name, or may.
    pub fn named(&self, name: &str) -> Option<&Place> {
        let first = self.statement.as_ref()?;
        let words: Vec<String> = words(name.as_bytes()).collect();
        // A statement comes in its session's character set.
        if words.is_empty() || !name.is_ascii() {
            return Some(first);
        }
        let mut last = None;
        for word in words {
            last = Some(self.words.get(&word)?);
        }
        last
    }

    /// Whether there was any statement.
    pub fn has_statements(&self) -> bool {
        self.statement.is_some()
    }

    /// Takes all that programs do which statements may have run, as if it stood in the log.
    pub fn follow(&mut self, programs: &[Program]) {
        if let (Some(changed), Some(at)) = (&self.programs, &self.calls) {
            let why = format!(
                "a statement ({at}) may have run a view, routine or trigger that was changed since, or that went with a table which was dropped, replaced or renamed ({changed})"
            );
            return self.give_up(why);
        }
        let mut left: Vec<&Program> = programs.iter().collect();
        loop {
            let (run, others): (Vec<&Program>, Vec<&Program>) = left
                .into_iter()
                .partition(|p| self.named(&p.name).is_some());
            if run.is_empty() {
                return;
            }
            left = others;
            for program in run {
                let (Some(at), text) = (self.named(&program.name).cloned(), &program.text) else {
                    continue;
                };
                let Some(text) = text else {
                    let name = printable(&program.name);
                    let why = format!(
                        "a statement ({at}) may have run {name}, whose definition the account does not see"
                    );
                    return self.give_up(why);
                };
                for word in words(text) {
                    if self.wanted.contains(&word) {
                        self.words.entry(word).or_insert_with(|| at.clone());
                    }
                }
            }
        }
    }

    /// Reads the log from its beginning to where it ends now; returns where that is. What makes it useless is no error.
    pub fn begin(
        &mut self,
        run: &Run,
        options: &wire::Options,
        server_id: u32,
        since: &Since,
    ) -> Result<Place> {
        let from = &since.place;
        let mut source = Source::open(run, options)?;
        let Some(file) = source.file(&from.file) else {
            let first = source.files.first().map_or("none", |f| f.name.as_str());
            let why = format!(
                "the server has removed {} of its binary log (its oldest file is {first})",
                from.file
            );
            self.give_up(printable(&why));
            return Ok(from.clone());
        };
        let reset = || {
            let file = printable(&from.file);
            format!("the binary log was reset: {file} is not the file of that name any more")
        };
        if file.size < from.offset {
            self.give_up(reset());
            return Ok(from.clone());
        }
        let begun = source.beginning(run, options, server_id, &from.file)?;
        if u64::from(begun.created) > since.time {
            self.give_up(reset());
            return Ok(from.clone());
        }
        drop(source);
        self.go_on(run, options, server_id, from, None)
    }

    /// Reads the log from a place to another one, or to where it ends now; returns where that is.
    pub fn go_on(
        &mut self,
        run: &Run,
        options: &wire::Options,
        server_id: u32,
        from: &Place,
        to: Option<&Place>,
    ) -> Result<Place> {
        let mut reached = from.clone();
        if self.everything.is_some() || to == Some(from) {
            return Ok(reached);
        }
        if to.is_some_and(|to| to.order() < from.order()) {
            self.give_up("the binary log was reset meanwhile".to_owned());
            return Ok(reached);
        }
        let phase = run.phase("reading the binary log", 1);
        let first = First {
            place: Some(from),
            ..First::default()
        };
        let live = match Live::open(run, options, server_id, first) {
            // Its file is gone: removed since it was read from.
            Err(e) if e.kind == Kind::Usage => {
                self.give_up(e.what);
                return Ok(reached);
            }
            live => live?,
        };
        let before = live.bytes_before(from);
        phase
            .counters
            .bytes_expected
            .set(live.bytes().saturating_sub(before));
        let read = live.walk(from, &mut |walked| {
            let at = walked.place();
            if to.is_some_and(|to| at.order() >= to.order()) {
                return Ok(ControlFlow::Break(()));
            }
            phase.counters.bytes.add(walked.event.bytes().len() as u64);
            self.event(walked.event, &at)
                .map_err(|e| of_log(walked.file, &e))?;
            if walked.mark != Mark::Inside {
                reached = Place {
                    offset: walked.at + walked.event.bytes().len() as u64,
                    ..at
                };
            }
            Ok(match self.everything {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            })
        });
        match read {
            // Bytes that cannot be read prove nothing, and the tables can be read all the same.
            Err(e) if e.kind == Kind::Failed => self.give_up(e.what),
            read => drop(read?),
        }
        if let Some(to) = to
            && self.everything.is_none()
            && reached.order() < to.order()
        {
            self.give_up(format!("the binary log ends at {reached}, before {to}"));
        }
        Ok(reached)
    }

    fn event(&mut self, event: &Event<'_>, at: &Place) -> binlog::Result<()> {
        match event.header.kind {
            kind::TRANSACTION_PAYLOAD => {
                let payload = Payload::parse(event.body())?;
                payload.events(LONGEST, |inner| self.event(&inner, at))?;
            }
            kind::TABLE_MAP => {
                if let Some(table) = Table::parse(event)? {
                    let text = |b: &[u8]| lower(&String::from_utf8_lossy(b));
                    let name = (text(table.schema), text(table.name));
                    self.rows.entry(name).or_insert_with(|| at.clone());
                }
            }
            kind::QUERY | kind::QUERY_COMPRESSED | kind::EXECUTE_LOAD_QUERY => {
                if let Some(query) = Query::parse(event)? {
                    self.query(&query, at);
                }
            }
            kind::FORMAT_DESCRIPTION => {
                let created = Description::parse(event.bytes())?.created;
                self.described(created, at);
            }
            kind::XA_PREPARE => self.prepared.extend(prepared_xid(event.body())),
            kind::INCIDENT => self.give_up(format!("the server lost a part of its log at {at}")),
            // LOAD DATA of servers before 5.0.
            kind::LOAD | kind::NEW_LOAD | kind::EXEC_LOAD => {
                self.give_up(format!("the statement at {at} is of an old kind"));
            }
            _ => {}
        }
        Ok(())
    }

    /// A file begins.
    fn described(&mut self, created: u32, at: &Place) {
        if created != 0 {
            self.give_up(printable(&format!(
                "the server was started again ({}): what it did meanwhile without a log is not known",
                at.file
            )));
        }
    }

    fn query(&mut self, query: &Query<'_>, at: &Place) {
        let text = &query.statement[..];
        let starts = |word: &str| {
            let head = text.get(..word.len());
            head.is_some_and(|h| h.eq_ignore_ascii_case(word.as_bytes()))
        };
        if query.role() != Role::Part {
            // Its rows stand in front of the place that is looked from.
            if starts("XA COMMIT") && !self.prepared.contains(&named_xid(text)) {
                self.give_up(format!(
                    "an XA transaction was committed at {at} that was prepared before"
                ));
            }
            return;
        }
        let (mut first, mut temporary, mut programs) =
            ([String::new(), String::new()], false, false);
        for (n, word) in words(text).enumerate() {
            // DROP /*!40005 TEMPORARY */ TABLE, CREATE OR REPLACE TEMPORARY TABLE
            temporary |= n < 4 && word == "temporary";
            programs |= PROGRAMS.contains(&word.as_str());
            if self.wanted.contains(&word) {
                self.words.entry(word.clone()).or_insert_with(|| at.clone());
            }
            if let Some(place) = first.get_mut(n) {
                *place = word;
            }
        }
        let [first, second] = first.each_ref().map(String::as_str);
        // What a comment in front says is not what the statement is.
        let known = text.first().is_some_and(u8::is_ascii_alphabetic);
        let mut by_two = OF_DEFINITIONS_BY_TWO.iter();
        let of_definitions = OF_DEFINITIONS.contains(&first)
            || by_two.any(|(word, seconds)| *word == first && seconds.contains(&second));
        let is_temporary = temporary && ["create", "drop"].contains(&first);
        self.statement.get_or_insert_with(|| at.clone());
        if !known || !of_definitions {
            self.calls.get_or_insert_with(|| at.clone());
        }
        if programs && !(known && (OF_ROWS.contains(&first) || is_temporary)) {
            self.programs.get_or_insert_with(|| at.clone());
        }
    }
}

fn lower(text: &str) -> String {
    text.to_lowercase()
}

/// The XA transaction that a statement of the log names behind its second word.
fn named_xid(text: &[u8]) -> String {
    let name = text.splitn(3, |b| *b == b' ').nth(2).unwrap_or_default();
    String::from_utf8_lossy(name).trim().to_ascii_lowercase()
}

/// The same of an XA_prepare event: a byte that says whether it is committed as well, the format, the lengths of the two parts of
/// the name, and these.
fn prepared_xid(body: &[u8]) -> Option<String> {
    let number = |at: usize| -> Option<u32> {
        let bytes = body.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let (format, first, second) = (number(1)?, number(5)? as usize, number(9)? as usize);
    let rest = body.get(13..)?;
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02x}")).collect() };
    let (a, b) = (rest.get(..first)?, rest.get(first..first + second)?);
    Some(format!("x'{}',x'{}',{format}", hex(a), hex(b)))
}

/// What can be a name in a text of whatever character set, in lower case.
fn words(text: &[u8]) -> impl Iterator<Item = String> {
    let of_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | 0x80..);
    let parts = text.split(move |b| !of_name(b)).filter(|w| !w.is_empty());
    parts.map(|w| String::from_utf8_lossy(w).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(statements: &[&str]) -> Touched {
        after_of(&["orders", "my-table", "größe", "---", "v"], statements)
    }

    fn after_of(names: &[&str], statements: &[&str]) -> Touched {
        let mut touched = Touched::new(names.iter().copied());
        for (i, text) in statements.iter().enumerate() {
            let at = Place {
                file: "b.1".to_owned(),
                offset: i as u64,
            };
            let query = Query {
                thread: 1,
                error: 0,
                schema: b"",
                statement: text.as_bytes().into(),
            };
            touched.query(&query, &at);
        }
        touched
    }

    #[test]
    fn names_are_found_in_any_form() {
        for text in [
            "INSERT INTO Orders VALUES (1)",
            "insert into`orders`values(1)",
            "DELETE /* x */ FROM shop.ORDERS",
            "DROP TABLE IF EXISTS `shop`.`orders` /* generated by server */",
            "UPDATE x SET a = 'orders'",
        ] {
            assert!(after(&[text]).named("orders").is_some(), "{text}");
            assert!(after(&[text]).named("v").is_none(), "{text}");
        }
        let odd = after(&["UPDATE `my-table` SET a = 1"]);
        assert!(odd.named("my-table").is_some());
        assert!(
            after(&["UPDATE my_table SET a = 1"])
                .named("my-table")
                .is_none()
        );
        // Not to be found for sure, so any statement may mean them.
        assert!(odd.named("größe").is_some() && odd.named("---").is_some());
        assert!(after(&[]).named("größe").is_none());
    }

    #[test]
    fn programs_are_followed() {
        let program = |name: &str, text: Option<&str>| Program {
            name: name.to_owned(),
            text: text.map(|t| t.as_bytes().to_vec()),
        };
        let names = ["orders", "lines", "other", "f", "v", "hidden"];
        let all = [
            program("orders", Some("INSERT INTO lines SELECT f(NEW.a)")),
            program("f", Some("RETURN (SELECT MAX(a) FROM other)")),
            program("hidden", None),
        ];
        let after = |statements: &[&str]| {
            let mut touched = after_of(&names, statements);
            touched.follow(&all);
            touched
        };
        let of_trigger = after(&["INSERT INTO orders VALUES (1)"]);
        for name in ["orders", "lines", "f", "other"] {
            assert!(of_trigger.named(name).is_some(), "{name}");
        }
        assert!(of_trigger.named("v").is_none() && of_trigger.everything().is_none());
        assert!(after(&["DELETE FROM lines"]).named("other").is_none());
        assert!(after(&["SELECT hidden()"]).everything().is_some());
        // What it was when it was called is not known.
        let call = "SELECT `shop`.`f`(1)";
        assert!(after(&["DROP FUNCTION f"]).everything().is_none());
        assert!(after(&[call]).everything().is_none());
        assert!(after(&[call, "DROP FUNCTION f"]).everything().is_some());
        // Its triggers are gone, too.
        assert!(after(&[call, "DROP TABLE `x`"]).everything().is_some());
        let of_session = "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `x`";
        assert!(after(&[call, of_session]).everything().is_none());
        for (call, change) in [
            (
                "/* create order */ INSERT INTO x VALUES (1)",
                "DROP FUNCTION f",
            ),
            (call, "/* update y */ DROP TRIGGER t"),
            (
                "SET STATEMENT max_statement_time=1 FOR INSERT INTO x VALUES (1)",
                "DROP VIEW w",
            ),
            (
                call,
                "CREATE FUNCTION g() RETURNS INT BEGIN CREATE TEMPORARY TABLE x (a INT); RETURN 1; END",
            ),
        ] {
            assert!(
                after(&[call, change]).everything().is_some(),
                "{call}; {change}"
            );
        }
        let account = "SET PASSWORD FOR 'a'@'b' = 'x'";
        assert!(after(&[account, "DROP FUNCTION f"]).everything().is_none());
        let made = "CREATE DEFINER=`a`@`b` TRIGGER t AFTER INSERT ON x FOR EACH ROW SET @a = 1";
        assert!(
            after(&[made, "INSERT INTO x VALUES (1)"])
                .everything()
                .is_some()
        );
    }

    #[test]
    fn an_xa_transaction_that_was_prepared_before_changes_anything() {
        let body = [
            &[0][..],
            &1u32.to_le_bytes(),
            &1u32.to_le_bytes(),
            &0u32.to_le_bytes(),
            b"J",
        ]
        .concat();
        let xid = prepared_xid(&body).expect("an identifier");
        assert_eq!(xid, named_xid(b"XA COMMIT X'4A',X'',1"));
        let half = after(&["XA COMMIT X'61',X'',1"]);
        assert!(half.everything().is_some());
        assert_eq!(after(&["BEGIN", "COMMIT"]).everything(), None);
    }
}
