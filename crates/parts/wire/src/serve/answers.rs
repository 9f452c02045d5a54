//! What replicas ask before they ask for events, and the answers.
//!
//! Statements are recognized by their words, not by their exact spelling, because each version writes them a little
//! differently. What is not recognized gets an error: a replica that needs an answer says so, and one that does not
//! continues.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The server that the replica believes to read from.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its version, as the log's own server wrote it.
    pub version: String,
    /// Its number; must not be the replica's.
    pub server_id: u32,
    /// How the events of its log are protected, in the servers' own word: `NONE` or `CRC32`.
    pub checksum: &'static str,
    /// Its global variables that replicas ask for, with names in lower case.
    pub variables: Vec<(&'static str, String)>,
}

/// What a statement gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Ok,
    /// One row: names and values.
    Row(Vec<(String, String)>),
    /// No row under these columns.
    Nothing(Vec<String>),
    /// Error 1193, which replicas expect from servers that lack a variable.
    UnknownVariable(String),
    /// Error 1305, which MariaDB's replicas expect from servers that lack a function.
    UnknownFunction(&'static str),
    /// Not known here.
    Refused,
}

/// What a session has set for itself.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    /// The longest silence that the replica takes for normal.
    pub(super) heartbeat: Option<Duration>,
    /// Whether it understands checksums.
    pub(super) checksums: bool,
}

/// The variables that replicas set in their session. Only the two above matter to what is sent.
const SETTABLE: [&str; 14] = [
    "master_heartbeat_period",
    "source_heartbeat_period",
    "master_binlog_checksum",
    "source_binlog_checksum",
    "slave_uuid",
    "replica_uuid",
    "mariadb_slave_capability",
    "slave_connect_state",
    "slave_gtid_strict_mode",
    "slave_gtid_ignore_duplicates",
    "slave_until_gtid",
    "rpl_semi_sync_slave",
    "rpl_semi_sync_replica",
    "slave_compressed_event_protocol",
];

/// The answer to one statement.
pub(super) fn answer(profile: &Profile, wishes: &mut Wishes, sql: &str) -> Answer {
    let sql = sql.trim().trim_end_matches(';').trim_end();
    let mut words = sql.splitn(2, char::is_whitespace);
    let (verb, rest) = (
        words.next().unwrap_or(""),
        words.next().unwrap_or("").trim(),
    );
    match verb.to_ascii_uppercase().as_str() {
        "SELECT" => select(profile, rest),
        "SHOW" => show(profile, rest),
        "SET" => set(wishes, rest),
        _ => Answer::Refused,
    }
}

fn select(profile: &Profile, what: &str) -> Answer {
    let lower = what.to_ascii_lowercase();
    let row = |value: String| Answer::Row(vec![(what.to_owned(), value)]);
    if lower == "unix_timestamp()" {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        return row(now.map_or(0, |d| d.as_secs()).to_string());
    }
    if lower == "version()" {
        return row(profile.version.clone());
    }
    if lower.starts_with("binlog_gtid_pos(") {
        return Answer::UnknownFunction("binlog_gtid_pos");
    }
    if let Some(name) = lower.strip_prefix("@@") {
        let name = name.strip_prefix("global.").unwrap_or(name);
        return match variable(profile, name) {
            Some(value) => row(value),
            None => Answer::UnknownVariable(name.to_owned()),
        };
    }
    match lower.as_str() {
        "@master_binlog_checksum" | "@source_binlog_checksum" => row(profile.checksum.to_owned()),
        _ => Answer::Refused,
    }
}

fn variable(profile: &Profile, name: &str) -> Option<String> {
    match name {
        "server_id" => Some(profile.server_id.to_string()),
        "binlog_checksum" => Some(profile.checksum.to_owned()),
        _ => profile
            .variables
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, v)| v.clone()),
    }
}

/// `SHOW VARIABLES LIKE 'name'`.
fn show(profile: &Profile, what: &str) -> Answer {
    let lower = what.to_ascii_lowercase();
    let mut words = lower.split_whitespace();
    let mut next = words.next();
    if matches!(next, Some("global" | "session")) {
        next = words.next();
    }
    if next != Some("variables") || words.next() != Some("like") {
        return Answer::Refused;
    }
    let name = words.next().unwrap_or("").trim_matches(['\'', '"']);
    if name.is_empty() || words.next().is_some() {
        return Answer::Refused;
    }
    let columns = ["Variable_name".to_owned(), "Value".to_owned()];
    match variable(profile, name) {
        Some(value) => {
            let [first, second] = columns;
            Answer::Row(vec![(first, name.to_owned()), (second, value)])
        }
        None => Answer::Nothing(columns.into()),
    }
}

/// `SET NAMES …`, or a list of variables of the session.
fn set(wishes: &mut Wishes, list: &str) -> Answer {
    if list
        .get(..6)
        .is_some_and(|w| w.eq_ignore_ascii_case("names "))
    {
        return Answer::Ok;
    }
    for one in outside_quotes(list) {
        let Some((name, value)) = one.split_once('=') else {
            return Answer::Refused;
        };
        let name = name.trim().trim_end_matches(':').to_ascii_lowercase();
        let Some(name) = name.strip_prefix('@').filter(|n| SETTABLE.contains(n)) else {
            return Answer::Refused;
        };
        if name.ends_with("_heartbeat_period") {
            let nanoseconds = value
                .trim()
                .trim_matches('\'')
                .parse::<f64>()
                .unwrap_or(0.0);
            wishes.heartbeat =
                (nanoseconds >= 1.0).then(|| Duration::from_nanos(nanoseconds as u64));
        }
        wishes.checksums |= name.ends_with("_binlog_checksum");
    }
    Answer::Ok
}

/// The parts between commas that are not in quotes: a GTID set has commas.
fn outside_quotes(list: &str) -> Vec<&str> {
    let (mut parts, mut from, mut quote) = (Vec::new(), 0, None);
    for (at, c) in list.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (',', None) => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(sql: &str) -> (Answer, Wishes) {
        let profile = Profile {
            version: "9.7.4".into(),
            server_id: 77,
            checksum: "CRC32",
            variables: vec![("gtid_mode", "ON".into())],
        };
        let mut wishes = Wishes::default();
        (answer(&profile, &mut wishes, sql), wishes)
    }

    #[test]
    fn variables_are_answered_in_both_forms() {
        let row = |name: &str, value: &str| Answer::Row(vec![(name.into(), value.into())]);
        assert_eq!(
            ask("SELECT @@GLOBAL.GTID_MODE").0,
            row("@@GLOBAL.GTID_MODE", "ON")
        );
        assert_eq!(
            ask("SHOW VARIABLES LIKE 'SERVER_ID'").0,
            Answer::Row(vec![
                ("Variable_name".into(), "server_id".into()),
                ("Value".into(), "77".into())
            ])
        );
        assert_eq!(
            ask("SELECT @@global.rpl_semi_sync_source_enabled").0,
            Answer::UnknownVariable("rpl_semi_sync_source_enabled".into())
        );
        assert!(matches!(
            ask("SHOW GLOBAL VARIABLES LIKE 'x'").0,
            Answer::Nothing(_)
        ));
    }

    #[test]
    fn sessions_set_what_replicas_set_and_nothing_else() {
        let (said, wishes) = ask(
            "SET @master_heartbeat_period = 30000001024, @source_heartbeat_period = 30000001024",
        );
        assert_eq!(said, Answer::Ok);
        assert_eq!(wishes.heartbeat, Some(Duration::from_nanos(30_000_001_024)));
        let (said, wishes) = ask("SET @source_binlog_checksum= @@global.binlog_checksum");
        assert!(said == Answer::Ok && wishes.checksums);
        assert_eq!(
            ask("SET @slave_connect_state='0-1-5,1-1-6', @slave_uuid='a'").0,
            Answer::Ok
        );
        for sql in [
            "SET GLOBAL server_id = 1",
            "SET @other = 1",
            "SET @x",
            "SELECT 1",
            "DROP TABLE t",
            "",
        ] {
            assert_eq!(ask(sql).0, Answer::Refused, "{sql}");
        }
    }
}
