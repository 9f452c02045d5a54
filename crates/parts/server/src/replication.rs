//! Replication as a server tells of it: its channels and how far each is; and the words for them, which changed over the
//! versions.

use crate::ask::{Answer, Record, ask};
use crate::{Identity, Result, quote};
use wire::Conn;

/// A place in a source's binary log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPlace {
    /// File.
    pub file: String,
    /// Offset in it, in bytes.
    pub offset: u64,
}

impl LogPlace {
    /// Sorts places of one log. The number at the end of a file's name gets a further digit after the last one of its length.
    pub fn order(&self) -> (usize, &str, u64) {
        (self.file.len(), &self.file, self.offset)
    }
}

impl std::fmt::Display for LogPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", base::units::printable(&self.file), self.offset)
    }
}

/// A channel (MySQL) or connection (MariaDB).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// Its name; empty for the unnamed one.
    pub name: String,
    /// The source's host.
    pub host: String,
    /// Its port.
    pub port: u64,
    /// The source's `server_id`; 0 if it was never connected.
    pub source_id: u64,
    /// The account that it logs in with.
    pub user: String,
    /// What the thread that receives says of itself: `Yes`, `Connecting`, `No` and others.
    pub receiver: String,
    /// Whether the applier runs.
    pub applies: bool,
    /// Why the receiver stopped, or tries again.
    pub receive_error: Option<(u64, String)>,
    /// Why the applier stopped.
    pub apply_error: Option<(u64, String)>,
    /// What the applier's workers say of it (MySQL): there the error above only says that one of them has stopped.
    pub worker_errors: Vec<(u64, String)>,
    /// Up to where the log was received.
    pub received: LogPlace,
    /// Up to where it is applied.
    pub applied: LogPlace,
    /// Seconds that the applier is behind, as the server sees it; `None` if it does not run, or nothing is received.
    pub seconds_behind: Option<u64>,
    /// Whether it follows by GTIDs.
    pub by_gtid: bool,
    /// Whether it is told to use TLS.
    pub tls: bool,
    /// Settings that leave events out, as `replicate_do_db = a`.
    pub filters: Vec<String>,
}

/// Columns with such settings.
const FILTERS: [&str; 10] = [
    "replicate_do_db",
    "replicate_ignore_db",
    "replicate_do_table",
    "replicate_ignore_table",
    "replicate_wild_do_table",
    "replicate_wild_ignore_table",
    "replicate_rewrite_db",
    "replicate_do_domain_ids",
    "replicate_ignore_domain_ids",
    "replicate_ignore_server_ids",
];

impl Channel {
    /// Why the applier stopped, as exactly as the server says it.
    pub fn why_not_applied(&self) -> Option<&(u64, String)> {
        self.apply_error
            .as_ref()
            .map(|error| self.worker_errors.first().unwrap_or(error))
    }

    /// Whether the thread that receives runs, or tries to.
    pub fn receives(&self) -> bool {
        !self.receiver.eq_ignore_ascii_case("no")
    }

    /// Whether it is connected to its source.
    pub fn is_connected(&self) -> bool {
        self.receiver.eq_ignore_ascii_case("yes")
    }
}

/// The statement that shows all channels of a server.
pub(crate) fn status_statement(id: &Identity) -> &'static str {
    if id.mariadb_at_least(10, 0, 0) {
        "SHOW ALL SLAVES STATUS"
    } else if id.mysql_at_least(8, 0, 22) {
        "SHOW REPLICA STATUS"
    } else {
        "SHOW SLAVE STATUS"
    }
}

/// All channels of a server.
pub fn channels(conn: &mut Conn, id: &Identity) -> Result<Vec<Channel>> {
    let sql = status_statement(id);
    let answer = ask(conn, "replication status", sql)?;
    let rows = answer.rows.iter();
    let mut all: Vec<Channel> = rows.map(|row| channel(&answer, row)).collect();
    for channel in &mut all {
        if id.is_mysql() && channel.apply_error.is_some() {
            channel.worker_errors = worker_errors(conn, &channel.name);
        }
    }
    Ok(all)
}

/// Errors of a channel's workers, each once; none where the account or the version does not show them.
fn worker_errors(conn: &mut Conn, channel: &str) -> Vec<(u64, String)> {
    let sql = format!(
        "SELECT LAST_ERROR_NUMBER, LAST_ERROR_MESSAGE FROM performance_schema.replication_applier_status_by_worker \
        WHERE CHANNEL_NAME = {} AND LAST_ERROR_NUMBER <> 0 ORDER BY WORKER_ID",
        quote::text(channel)
    );
    let Ok(answer) = ask(conn, "errors of the applier's workers", &sql) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for row in &answer.rows {
        let error = (row.number(0).unwrap_or(0), row.text_or_empty(1));
        if !all.contains(&error) {
            all.push(error);
        }
    }
    all
}

fn channel(answer: &Answer, row: &Record) -> Channel {
    let text = |names: &[&str]| {
        let at = answer.find(names);
        at.map(|at| row.text_or_empty(at)).unwrap_or_default()
    };
    let number = |names: &[&str]| text(names).parse::<u64>().unwrap_or(0);
    let error = |number_of: &str, what: &str| {
        let number = number(&[number_of]);
        (number != 0).then(|| (number, text(&[what])))
    };
    let place = |file: &[&str], offset: &[&str]| LogPlace {
        file: text(file),
        offset: number(offset),
    };
    let gtid = text(&["Auto_Position", "Using_Gtid"]);
    let receiver = text(&["Replica_IO_Running", "Slave_IO_Running"]);
    let connected = receiver.eq_ignore_ascii_case("yes");
    Channel {
        name: text(&["Channel_Name", "Connection_name"]),
        host: text(&["Source_Host", "Master_Host"]),
        port: number(&["Source_Port", "Master_Port"]),
        source_id: number(&["Source_Server_Id", "Master_Server_Id"]),
        user: text(&["Source_User", "Master_User"]),
        receiver,
        applies: text(&["Replica_SQL_Running", "Slave_SQL_Running"]).eq_ignore_ascii_case("yes"),
        receive_error: error("Last_IO_Errno", "Last_IO_Error"),
        apply_error: error("Last_SQL_Errno", "Last_SQL_Error"),
        worker_errors: Vec::new(),
        received: place(
            &["Source_Log_File", "Master_Log_File"],
            &["Read_Source_Log_Pos", "Read_Master_Log_Pos"],
        ),
        applied: place(
            &["Relay_Source_Log_File", "Relay_Master_Log_File"],
            &["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"],
        ),
        // Without a connection nothing says how far the source is.
        seconds_behind: text(&["Seconds_Behind_Source", "Seconds_Behind_Master"])
            .parse()
            .ok()
            .filter(|_| connected),
        by_gtid: !matches!(gtid.to_ascii_lowercase().as_str(), "" | "0" | "no"),
        tls: text(&["Source_SSL_Allowed", "Master_SSL_Allowed"]).eq_ignore_ascii_case("yes"),
        filters: FILTERS
            .iter()
            .map(|name| (name, text(&[name])))
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name} = {value}"))
            .collect(),
    }
}

/// The files of a server's own binary log with their sizes, oldest first.
pub fn binary_logs(conn: &mut Conn) -> Result<Vec<(String, u64)>> {
    let answer = ask(conn, "binary logs", "SHOW BINARY LOGS")?;
    let (name, size) = (answer.need(&["Log_name"])?, answer.need(&["File_size"])?);
    let rows = answer.rows.iter();
    Ok(rows
        .map(|row| (row.text_or_empty(name), row.number(size).unwrap_or(0)))
        .collect())
}

/// A thread of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// Both of them.
    Both,
    /// The one that applies.
    Applier,
}

/// The statements about one channel of one server.
#[derive(Clone, Debug)]
pub struct Words {
    mariadb: bool,
    channel: String,
}

impl Words {
    /// For MySQL from 8.0.23 on, and MariaDB.
    pub fn of(id: &Identity, channel: &str) -> Words {
        Words {
            mariadb: id.is_mariadb(),
            channel: channel.to_owned(),
        }
    }

    /// `SOURCE` or `MASTER`, as options begin.
    pub fn source(&self) -> &'static str {
        if self.mariadb { "MASTER" } else { "SOURCE" }
    }

    fn statement(&self, verb: &str, rest: &str) -> String {
        let named = quote::text(&self.channel);
        let rest = match rest {
            "" => String::new(),
            rest => format!(" {rest}"),
        };
        match (self.mariadb, self.channel.is_empty()) {
            (true, true) => format!("{verb} SLAVE{rest}"),
            (true, false) => format!("{verb} SLAVE {named}{rest}"),
            // Without it MySQL takes all channels.
            (false, _) => format!("{verb} REPLICA{rest} FOR CHANNEL {named}"),
        }
    }

    /// Says from where it reads; `options` are complete, with their words.
    pub fn change(&self, options: &[String]) -> String {
        let (list, named) = (options.join(", "), quote::text(&self.channel));
        match (self.mariadb, self.channel.is_empty()) {
            (true, true) => format!("CHANGE MASTER TO {list}"),
            (true, false) => format!("CHANGE MASTER {named} TO {list}"),
            (false, true) => format!("CHANGE REPLICATION SOURCE TO {list}"),
            (false, false) => format!("CHANGE REPLICATION SOURCE TO {list} FOR CHANNEL {named}"),
        }
    }

    /// Starts it.
    pub fn start(&self, thread: Thread) -> String {
        self.statement("START", name(thread))
    }

    /// Starts the applier, which stops at this place.
    pub fn start_until(&self, place: &LogPlace) -> String {
        let word = self.source();
        let rest = format!(
            "SQL_THREAD UNTIL {word}_LOG_FILE = {}, {word}_LOG_POS = {}",
            quote::text(&place.file),
            place.offset
        );
        self.statement("START", &rest)
    }

    /// Stops it.
    pub fn stop(&self, thread: Thread) -> String {
        self.statement("STOP", name(thread))
    }

    /// Removes it, with its relay logs.
    pub fn remove(&self) -> String {
        self.statement("RESET", "ALL")
    }
}

fn name(thread: Thread) -> &'static str {
    match thread {
        Thread::Both => "",
        Thread::Applier => "SQL_THREAD",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flavour_has_its_words() {
        let words = |mariadb, channel: &str| Words {
            mariadb,
            channel: channel.to_owned(),
        };
        let place = LogPlace {
            file: "b.000002".into(),
            offset: 4,
        };
        assert_eq!(words(true, "").remove(), "RESET SLAVE ALL");
        assert_eq!(words(true, "x").remove(), "RESET SLAVE 'x' ALL");
        assert_eq!(
            words(false, "").start(Thread::Both),
            "START REPLICA FOR CHANNEL ''"
        );
        assert_eq!(
            words(false, "x").start_until(&place),
            "START REPLICA SQL_THREAD UNTIL SOURCE_LOG_FILE = 'b.000002', SOURCE_LOG_POS = 4 FOR CHANNEL 'x'"
        );
        assert_eq!(
            words(true, "x").stop(Thread::Applier),
            "STOP SLAVE 'x' SQL_THREAD"
        );
        assert_eq!(
            words(true, "x").change(&["MASTER_PORT = 1".into()]),
            "CHANGE MASTER 'x' TO MASTER_PORT = 1"
        );
        assert_eq!(
            words(false, "x").change(&["SOURCE_PORT = 1".into()]),
            "CHANGE REPLICATION SOURCE TO SOURCE_PORT = 1 FOR CHANNEL 'x'"
        );
    }

    fn parsed(pairs: &[(&str, &str)]) -> Channel {
        let (columns, cells) = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Some(value.as_bytes().to_vec())))
            .unzip();
        let mut answer = Answer::default();
        answer.columns = columns;
        channel(&answer, &Record(cells))
    }

    #[test]
    fn both_flavours_are_read() {
        let mysql = parsed(&[
            ("Channel_Name", "penstock"),
            ("Replica_IO_Running", "Connecting"),
            ("Replica_SQL_Running", "Yes"),
            ("Relay_Source_Log_File", "binlog.000003"),
            ("Exec_Source_Log_Pos", "158"),
            ("Last_IO_Errno", "2003"),
            ("Last_IO_Error", "no"),
            ("Replicate_Do_DB", ""),
            ("Auto_Position", "1"),
        ]);
        assert!(mysql.receives() && !mysql.is_connected() && mysql.applies && mysql.by_gtid);
        assert!(mysql.filters.is_empty());
        assert_eq!(mysql.receive_error, Some((2003, "no".into())));
        assert_eq!(mysql.applied.to_string(), "binlog.000003:158");
        let mariadb = parsed(&[
            ("Connection_name", "penstock"),
            ("Slave_IO_Running", "No"),
            ("Slave_SQL_Running", "No"),
            ("Relay_Master_Log_File", "b.000001"),
            ("Exec_Master_Log_Pos", "4"),
            ("Last_SQL_Errno", "1062"),
            ("Last_SQL_Error", "Duplicate entry"),
            ("Replicate_Wild_Ignore_Table", "mysql.%"),
            ("Using_Gtid", "No"),
        ]);
        assert!(!mariadb.receives() && !mariadb.applies && !mariadb.by_gtid);
        assert_eq!(mariadb.apply_error, Some((1062, "Duplicate entry".into())));
        assert_eq!(mariadb.filters, ["replicate_wild_ignore_table = mysql.%"]);
    }

    #[test]
    fn later_files_come_after_earlier_ones() {
        let place = |file: &str, offset| LogPlace {
            file: file.into(),
            offset,
        };
        let (a, b) = (place("b.999999", 900), place("b.1000000", 4));
        assert!(a.order() < b.order());
        assert!(place("b.000001", 10).order() > place("b.000001", 9).order());
    }
}
