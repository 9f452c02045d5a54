//! Queries out of files: a list of queries, the slow log, the general log of a server.
//!
//! The formats are those that MySQL and MariaDB write: entries of the slow log begin with lines that begin with `#`, those of
//! the general log with a time, a tabulator, the session's number and a command. What is no query is passed over. Lines
//! are read one by one; an entry longer than a query of the sample may be is cut, and then left out.

use super::read_only::Reason;
use super::sample::{LONGEST, Sample};
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::Dialect;
use dumps::script::Script;
use dumps::tokens::Tokens;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Sessions of a general log whose schemas are remembered; those that end are forgotten.
const SESSIONS: usize = 100_000;

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| unreadable(path, &e.to_string()))
}

fn unreadable(path: &Path, why: &str) -> Error {
    let shown = printable(&path.display().to_string());
    Error::new(Kind::Storage, format!("cannot read {shown}: {why}"))
}

/// The schema that a USE names.
fn used(text: &[u8], dialect: Dialect) -> Option<String> {
    let mut tokens = Tokens::new(text, dialect);
    tokens
        .accept("USE")
        .then(|| tokens.next()?.name())
        .flatten()
}

/// The queries of a list, whole or not at all: the error names the first that may not be replayed.
pub fn list(path: &Path, schema: Option<&str>, dialect: Dialect, to: &mut Sample) -> Result<()> {
    if is_one_a_line(path, dialect)? {
        let mut schema = schema.map(str::to_owned);
        let mut n = 0;
        return lines(path, &mut |line| {
            n += 1;
            let text = line.trim_ascii();
            let comment = text.starts_with(b"#") || text.starts_with(b"--");
            match text.is_empty() || comment {
                true => Ok(()),
                false => add(path, n, text, &mut schema, dialect, to),
            }
        });
    }
    let mut script = Script::new(open(path)?)
        .allow_unterminated(true)
        .with_dialect(dialect);
    let mut schema = schema.map(str::to_owned);
    while let Some(s) = (script.next()).map_err(|e| unreadable(path, &e.to_string()))? {
        add(path, s.line, &s.text, &mut schema, dialect, to)?;
        script.recycle(s.text);
    }
    Ok(())
}

/// Whether a list has no semicolon between its queries.
fn is_one_a_line(path: &Path, dialect: Dialect) -> Result<bool> {
    let mut script = Script::new(open(path)?)
        .allow_unterminated(true)
        .with_dialect(dialect);
    let mut next = || script.next().map_err(|e| unreadable(path, &e.to_string()));
    let first = next()?;
    let (Some(first), None) = (first, next()?) else {
        return Ok(false);
    };
    let begins = |line: &[u8]| {
        let mut tokens = Tokens::new(line, dialect);
        let first = tokens.find(|t| *t != dumps::tokens::Token::Symbol(b'('));
        first.is_some_and(|t| t.is("SELECT") || t.is("WITH") || t.is("USE"))
    };
    let mut several = first
        .text
        .split(|b| *b == b'\n')
        .filter(|l| !l.trim_ascii().is_empty());
    Ok(several.clone().count() > 1 && several.all(begins))
}

fn add(
    path: &Path,
    line: u64,
    text: &[u8],
    schema: &mut Option<String>,
    dialect: Dialect,
    to: &mut Sample,
) -> Result<()> {
    if let Some(name) = used(text, dialect) {
        *schema = Some(name);
        return Ok(());
    }
    to.add(schema.as_deref(), text).map_err(|why| {
        let why = match why {
            Reason::Cut => "it is cut off, or longer than 1 MiB".to_owned(),
            Reason::NoTable => "it reads no table".to_owned(),
            why => why.to_string(),
        };
        let shown = printable(&path.display().to_string());
        Error::new(
            Kind::Usage,
            format!("{shown}, line {line}: not replayed: {why}; nothing was sent to a server"),
        )
        .hint("a list may only have queries that read tables and lock nothing; remove the others")
    })
}

/// A server has begun to write a log: what follows is no part of the query before.
fn is_banner(line: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(line, text).is_some();
    has(b", Version: ") && has(b"started with:")
}

/// Where in a slow log a line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// In no entry.
    Outside,
    /// In the lines before the query.
    Head,
    /// Behind the time at which it ran: the query is next.
    Ready,
    /// In the query.
    Query,
}

/// The queries of a slow log.
pub fn slow(path: &Path, schema: Option<&str>, dialect: Dialect, to: &mut Sample) -> Result<()> {
    let mut schema = schema.map(str::to_owned);
    let mut text: Vec<u8> = Vec::new();
    let mut at = At::Outside;
    lines(path, &mut |line| {
        let begins = line.starts_with(b"# Time: ") || line.starts_with(b"# User@Host: ");
        if (begins || is_banner(line)) && at == At::Query {
            take(&mut text, schema.as_deref(), to);
        }
        if is_banner(line) {
            at = At::Outside;
        } else if begins || at == At::Head && line.starts_with(b"#") {
            at = At::Head;
            if let Some(name) = schema_of(line) {
                schema = Some(name);
            }
        } else if at == At::Head && is_setting(line) {
            // The time at which it ran, as a statement of its own.
            at = At::Ready;
        } else if at == At::Head && selected(line).is_some() {
            schema = selected(line);
        } else if at == At::Ready && used(line, dialect).is_some() {
            // A session's own USE.
            schema = used(line, dialect);
        } else if at != At::Outside {
            at = At::Query;
            append(&mut text, line);
        }
        Ok(())
    })?;
    take(&mut text, schema.as_deref(), to);
    Ok(())
}

fn is_setting(line: &[u8]) -> bool {
    let known = ["SET timestamp=", "SET last_insert_id=", "SET insert_id="];
    known.iter().any(|k| line.starts_with(k.as_bytes()))
}

/// The schema that a server writes before a query: `use NAME;`, with the name as it is.
fn selected(line: &[u8]) -> Option<String> {
    let name = line.strip_prefix(b"use ")?.trim_ascii_end();
    let name = name.strip_suffix(b";").unwrap_or(name);
    Some(String::from_utf8_lossy(name).into_owned())
}

/// The schema that MariaDB writes into the lines before a query: `# Thread_id: 8  Schema: x  QC_hit: No`.
fn schema_of(line: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(line).ok()?;
    let (_, rest) = text.split_once("  Schema: ")?;
    let name = rest.split("  ").next()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

fn append(text: &mut Vec<u8>, line: &[u8]) {
    if text.len() <= LONGEST {
        text.extend_from_slice(line);
    }
}

/// Adds what was gathered; that much of a log is no query, is its nature.
fn take(text: &mut Vec<u8>, schema: Option<&str>, to: &mut Sample) {
    let query = text.trim_ascii();
    if !query.is_empty() {
        let _ = to.add(schema, query.strip_suffix(b";").unwrap_or(query));
    }
    text.clear();
}

/// Commands of a general log.
const COMMANDS: [&str; 26] = [
    "Binlog Dump",
    "Binlog Dump GTID",
    "Bulk_execute",
    "Change user",
    "Close stmt",
    "Connect",
    "Create DB",
    "Daemon",
    "Debug",
    "Delayed insert",
    "Drop DB",
    "Execute",
    "Fetch",
    "Field List",
    "Init DB",
    "Kill",
    "Long Data",
    "Ping",
    "Prepare",
    "Processlist",
    "Query",
    "Quit",
    "Refresh",
    "Reset connection",
    "Reset stmt",
    "Statistics",
];

/// An entry's first line: session, command, argument.
fn entry(line: &[u8]) -> Option<(u64, &str, &[u8])> {
    let mut rest = line;
    for _ in 0..3 {
        let end = memchr::memchr2(b'\t', b'\n', rest).unwrap_or(rest.len());
        let field = std::str::from_utf8(&rest[..end]).ok()?;
        let after = rest.get(end + 1..).unwrap_or_default();
        if let Some((session, command)) = field.trim_start().split_once(' ')
            && let Ok(session) = session.parse()
            && COMMANDS.contains(&command)
        {
            return Some((session, command, after));
        }
        // Only a time may stand before, or nothing.
        if !field.is_empty() && !field.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        rest = after;
    }
    None
}

/// The queries of a general log, those of prepared statements with their values.
pub fn general(path: &Path, schema: Option<&str>, dialect: Dialect, to: &mut Sample) -> Result<()> {
    let mut schemas: HashMap<u64, String> = HashMap::new();
    let mut of: Option<u64> = None;
    let mut text: Vec<u8> = Vec::new();
    let in_schema = |of: Option<u64>, schemas: &HashMap<u64, String>| {
        let known = of.and_then(|session| schemas.get(&session).cloned());
        known.or_else(|| schema.map(str::to_owned))
    };
    lines(path, &mut |line| {
        let found = entry(line);
        if found.is_none() && !is_banner(line) {
            if of.is_some() {
                append(&mut text, line);
            }
            return Ok(());
        }
        if let Some(session) = of.take() {
            match used(&text, dialect) {
                Some(name) => {
                    remember(&mut schemas, session, Some(name));
                    text.clear();
                }
                None => take(&mut text, in_schema(Some(session), &schemas).as_deref(), to),
            }
        }
        let Some((session, command, argument)) = found else {
            return Ok(());
        };
        match command {
            "Query" | "Execute" => {
                of = Some(session);
                append(&mut text, argument);
            }
            "Init DB" => {
                let name = String::from_utf8_lossy(argument.trim_ascii()).into_owned();
                remember(&mut schemas, session, Some(name));
            }
            "Connect" | "Change user" => remember(&mut schemas, session, connected_to(argument)),
            "Quit" => remember(&mut schemas, session, None),
            _ => {}
        }
        Ok(())
    })?;
    if of.is_some() && used(&text, dialect).is_none() {
        take(&mut text, in_schema(of, &schemas).as_deref(), to);
    }
    Ok(())
}

fn remember(schemas: &mut HashMap<u64, String>, session: u64, schema: Option<String>) {
    match schema.filter(|s| !s.is_empty()) {
        Some(name) if schemas.len() < SESSIONS || schemas.contains_key(&session) => {
            schemas.insert(session, name);
        }
        _ => {
            schemas.remove(&session);
        }
    }
}

/// The schema in `root@localhost on x using Socket`.
fn connected_to(argument: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(argument).into_owned();
    let (_, rest) = text.split_once(" on ")?;
    let name = rest.split(" using ").next()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Gives each line of a file, with its end; of one that is too long only its beginning.
fn lines(path: &Path, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut reader = BufReader::with_capacity(256 << 10, open(path)?);
    let mut line = Vec::new();
    let failed = |e: std::io::Error| unreadable(path, &e.to_string());
    loop {
        line.clear();
        let most = LONGEST as u64 + 2;
        let read = (&mut reader).take(most).read_until(b'\n', &mut line);
        if read.map_err(failed)? == 0 {
            return Ok(());
        }
        each(&line)?;
        if line.len() as u64 == most && line.last() != Some(&b'\n') {
            skip_line(&mut reader).map_err(failed)?;
        }
    }
}

fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let some = reader.fill_buf()?;
        let (length, end) = match memchr::memchr(b'\n', some) {
            Some(n) => (n + 1, true),
            None => (some.len(), some.is_empty()),
        };
        reader.consume(length);
        if end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Query;
    use super::*;

    fn read(
        text: &str,
        how: impl Fn(&Path, Option<&str>, Dialect, &mut Sample) -> Result<()>,
    ) -> Result<Vec<(Option<String>, String)>> {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        std::fs::write(&path, text).expect("a file");
        let mut sample = Sample::new(100, Dialect::default());
        how(&path, Some("d"), Dialect::default(), &mut sample)?;
        let text = |q: Query| (q.schema, String::from_utf8_lossy(&q.text).into_owned());
        Ok(sample.take().into_iter().map(text).collect())
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(Option<String>, String)> {
        let pair = |(s, t): &(&str, &str)| (Some((*s).to_owned()), (*t).to_owned());
        list.iter().map(pair).collect()
    }

    #[test]
    fn a_list_is_separated_by_semicolons_or_lines() {
        let wanted = pairs(&[("d", "SELECT ';' FROM t"), ("e`f", "SELECT 2\nFROM u")]);
        let text = "-- a comment\nSELECT ';' FROM t;\nUSE `e``f`;\n\nSELECT 2\nFROM u";
        assert_eq!(read(text, list).expect("queries"), wanted);
        let wanted = pairs(&[("d", "SELECT 1 FROM t"), ("e", "(SELECT 2 FROM u)")]);
        let text = "SELECT 1 FROM t\n\nuse e\n(SELECT 2 FROM u)\n";
        assert_eq!(read(text, list).expect("queries"), wanted);
        let one = "SELECT 1\nFROM t";
        assert_eq!(read(one, list).expect("a query"), pairs(&[("d", one)]));
    }

    #[test]
    fn a_list_with_something_else_is_refused_by_line() {
        let e = read("SELECT 1 FROM t;\nSELECT 2 FROM t\nFOR UPDATE;", list).expect_err("no");
        assert!(e.what.contains("line 2: not replayed: locks rows"), "{e}");
        let e = read("SELECT 1 FROM t\nSELECT SLEEP(1) FROM t", list).expect_err("no");
        assert!(
            e.what.contains("line 2: not replayed: calls SLEEP()"),
            "{e}"
        );
    }

    #[test]
    fn slow_logs_of_both_flavours() {
        let mysql = "/usr/sbin/mysqld, Version: 9.7.4 (x). started with:\nTcp port: 0  Unix socket: /s\n\
            Time                 Id Command    Argument\n\
            # Time: 2026-11-26T09:41:49.123456Z\n# User@Host: root[root] @ localhost []  Id:     8\n\
            # Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\nuse sh`op;\n\
            SET timestamp=1764150109;\nSELECT a\nFROM t;\n\
            # Time: 2026-11-26T09:41:50.123456Z\n# User@Host: root[root] @ localhost []  Id:     8\n\
            # Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
            SET timestamp=1764150110;\nUPDATE t SET a = 1;\n\
            /usr/sbin/mysqld, Version: 9.7.4 (x). started with:\nTcp port: 0  Unix socket: /s\n";
        assert_eq!(
            read(mysql, slow).expect("queries"),
            pairs(&[("sh`op", "SELECT a\nFROM t")])
        );
        let mariadb = "# Time: 261126  9:41:49\n# User@Host: root[root] @ localhost []\n\
            # Thread_id: 8  Schema: shop  QC_hit: No\n# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n\
            # Rows_affected: 0  Bytes_sent: 60\nSET timestamp=1764150109;\nselect 1 from t;\n\
            # User@Host: root[root] @ localhost []\n# Thread_id: 8  Schema:   QC_hit: No\n\
            SET timestamp=1764150109;\nselect 2 from t;\n";
        assert_eq!(
            read(mariadb, slow).expect("queries"),
            pairs(&[("shop", "select 1 from t"), ("shop", "select 2 from t")])
        );
    }

    #[test]
    fn general_logs_of_both_flavours() {
        let mysql = "2026-11-26T09:41:49.123456Z\t    8 Connect\troot@localhost on shop using Socket\n\
            2026-11-26T09:41:49.123456Z\t    8 Query\tSELECT a\nFROM t\n\
            2026-11-26T09:41:49.123456Z\t    9 Connect\troot@localhost on  using Socket\n\
            2026-11-26T09:41:49.123456Z\t    9 Init DB\tother\n\
            2026-11-26T09:41:49.123456Z\t    9 Prepare\tSELECT a FROM t WHERE b = ?\n\
            2026-11-26T09:41:49.123456Z\t    9 Execute\tSELECT a FROM t WHERE b = 5\n\
            2026-11-26T09:41:49.123456Z\t    8 Quit\t\n\
            2026-11-26T09:41:49.123456Z\t    8 Query\tSELECT 3 FROM t\n";
        assert_eq!(
            read(mysql, general).expect("queries"),
            pairs(&[
                ("shop", "SELECT a\nFROM t"),
                ("other", "SELECT a FROM t WHERE b = 5"),
                ("d", "SELECT 3 FROM t")
            ])
        );
        let mariadb = "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (x). started with:\nTcp port: 0  Unix socket: /s\n\
            Time\t\t    Id Command\tArgument\n\
            261126  9:41:49\t     8 Query\tUSE shop\n\t\t     8 Query\tSELECT 1 FROM t\n\t\t     8 Quit\t\n";
        assert_eq!(
            read(mariadb, general).expect("queries"),
            pairs(&[("shop", "SELECT 1 FROM t")])
        );
    }
}
