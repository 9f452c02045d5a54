//! The server's side: which files its log has, and the stream of one of them.

use crate::timeline::Timeline;
use base::{Error, Kind, Result};
use binlog::gtid::{Executed, mariadb, mysql};
use binlog::{Checksum, Description, Event, Header, kind};
use run::{Run, failure};
use server::Identity;
use std::time::Duration;
use wire::Conn;
use wire::replication::LogRequest;

/// A file of the server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogFile {
    pub(crate) name: String,
    pub(crate) size: u64,
}

/// A connection that the log is read through.
pub(crate) struct Source {
    pub(crate) conn: Conn,
    pub(crate) identity: Identity,
    /// All that it has, in its order.
    pub(crate) files: Vec<LogFile>,
    /// How its events are checked where no file has said so yet.
    pub(crate) checksum: Checksum,
}

impl Source {
    /// Connects, and makes sure that there is a log.
    pub(crate) fn open(run: &Run, options: &wire::Options) -> Result<Source> {
        let (mut conn, identity) = run::connect::open(run, options)?;
        if !identity.log_bin {
            let what = format!("the server {} has no binary log", options.endpoint);
            return Err(Error::new(Kind::Privilege, what)
                .hint("set log_bin in its configuration, and start it again"));
        }
        let files = files(&mut conn, &identity)?;
        let checksum = match identity.variable("binlog_checksum") {
            None | Some("NONE") => Checksum::None,
            Some(_) => Checksum::Crc32,
        };
        Ok(Source {
            conn,
            identity,
            files,
            checksum,
        })
    }

    /// The flavour, as it is written down.
    pub(crate) fn flavour(&self) -> &'static str {
        match self.identity.is_mariadb() {
            true => "mariadb",
            false => "mysql",
        }
    }

    /// Whether it is the server whose log this is.
    pub(crate) fn is_of(&self, timeline: &Timeline) -> bool {
        match (&self.identity.uuid, &timeline.server_uuid) {
            (Some(a), Some(b)) => a == b,
            _ => self.identity.server_id == timeline.server_id,
        }
    }

    /// The file of this name.
    pub(crate) fn file(&self, name: &str) -> Option<&LogFile> {
        self.files.iter().find(|f| f.name == name)
    }

    /// Says how the stream shall be: checksums as the server has them, and a sign of life every `heartbeat`.
    pub(crate) fn prepare(&mut self, heartbeat: Duration) -> Result<()> {
        let mut statements = vec![
            // The older names are understood by every server, the newer ones since 8.0.26.
            format!("SET @master_heartbeat_period = {}", heartbeat.as_nanos()),
            format!("SET @source_heartbeat_period = {}", heartbeat.as_nanos()),
        ];
        if self.identity.has_variable("binlog_checksum") {
            statements.push("SET @master_binlog_checksum = @@GLOBAL.binlog_checksum".to_owned());
            statements.push("SET @source_binlog_checksum = @@GLOBAL.binlog_checksum".to_owned());
        }
        if self.identity.is_mariadb() {
            // All kinds of events, none of them changed for an older replica.
            statements.push("SET @mariadb_slave_capability = 4".to_owned());
        }
        for statement in statements {
            self.conn
                .execute(&statement)
                .map_err(|e| failure::wire("cannot prepare the stream of the binary log", e))?;
        }
        Ok(())
    }

    /// What the server has executed by now.
    pub(crate) fn executed(&mut self) -> Result<Executed> {
        let mariadb = self.identity.is_mariadb();
        let sql = match mariadb {
            true => "SELECT @@GLOBAL.gtid_current_pos",
            false => "SELECT @@GLOBAL.gtid_executed",
        };
        let rows = self.conn.fetch(sql);
        let rows = rows.map_err(|e| failure::wire("cannot see what the server has executed", e))?;
        let cell = rows.into_iter().next().and_then(|r| r.into_iter().next());
        let text = String::from_utf8_lossy(&cell.flatten().unwrap_or_default()).into_owned();
        Ok(Executed::parse(mariadb, &text).unwrap_or_else(|| Executed::empty(mariadb)))
    }

    /// What a file says of itself.
    pub(crate) fn beginning(
        &mut self,
        run: &Run,
        options: &wire::Options,
        server_id: u32,
        file: &str,
    ) -> Result<Beginning> {
        let mariadb = self.identity.is_mariadb();
        // A stream ends with its connection, so it gets one of its own.
        let mut other = Source::open(run, options)?;
        other.prepare(Duration::from_secs(10))?;
        let mut description = Description::of_stream(other.checksum);
        let request = LogRequest {
            server_id,
            file: file.to_owned(),
            position: 4,
            follow: false,
            silence: Some(Duration::from_secs(60)),
            semi_sync: false,
        };
        let mut events = other.conn.binary_log(&request).map_err(privileges)?;
        let mut executed = Executed::empty(mariadb);
        let mut created = 0;
        // Rotate (made for the stream), description, and what was executed, perhaps behind another kind.
        for _ in 0..6 {
            let Some(bytes) = events.next().map_err(privileges)? else {
                break;
            };
            let event = Event::parse(bytes, &description).map_err(|e| of_log(file, &e))?;
            match event.header.kind {
                kind::FORMAT_DESCRIPTION => {
                    description = Description::parse(bytes).map_err(|e| of_log(file, &e))?;
                    created = event.header.timestamp;
                }
                kind::PREVIOUS_GTIDS | kind::GTID_LIST => {
                    executed = stated(&event)
                        .map_err(|e| of_log(file, &e))?
                        .unwrap_or(executed);
                    break;
                }
                _ => {}
            }
        }
        Ok(Beginning { executed, created })
    }
}

/// What the first events of a file say.
pub(crate) struct Beginning {
    /// What was executed before it; nothing if they do not say that.
    pub(crate) executed: Executed,
    /// When it was begun: seconds since 1970.
    pub(crate) created: u32,
}

/// What an event says was executed before its file; `None` if it is of another kind.
pub(crate) fn stated(event: &Event<'_>) -> binlog::Result<Option<Executed>> {
    Ok(match event.header.kind {
        kind::PREVIOUS_GTIDS => Some(Executed::MySql(mysql::Set::decode(event.body())?)),
        kind::GTID_LIST => Some(Executed::MariaDb(mariadb::Position::decode(event.body())?)),
        _ => None,
    })
}

/// An error in what is kept of a log.
pub(crate) fn of_kept(file: &str, e: &binlog::Error) -> Error {
    let e = of_log(file, e);
    Error {
        kind: Kind::Archive,
        ..e.hint("penstock check says what is damaged; restore that from a copy of the repository")
    }
}

/// An error in the bytes of a log.
pub(crate) fn of_log(file: &str, e: &binlog::Error) -> Error {
    let what = format!("the binary log cannot be read on in {file}: {e}");
    Error::new(Kind::Failed, base::units::printable(&what))
}

fn files(conn: &mut Conn, identity: &Identity) -> Result<Vec<LogFile>> {
    let rows = conn.fetch("SHOW BINARY LOGS").map_err(|e| match e.code() {
        Some(1227) => {
            let privilege = match identity.mariadb_at_least(10, 5, 2) {
                true => "BINLOG MONITOR",
                false => "REPLICATION CLIENT",
            };
            let what = "the account may not see which files the binary log has";
            Error::new(Kind::Privilege, what).hint(format!(
                "GRANT REPLICATION SLAVE, {privilege} ON *.* TO the account"
            ))
        }
        _ => failure::wire("cannot see which files the binary log has", e),
    })?;
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    // In front of what MySQL encrypts stands a header, which it does not send.
    const HEADER: u64 = 512;
    let header = |row: &Vec<Option<Vec<u8>>>| match text(row.get(2)).as_str() {
        "Yes" => HEADER,
        _ => 0,
    };
    let size = |row| -> Option<u64> { text(row).parse().ok() };
    Ok(rows
        .iter()
        .map(|row| LogFile {
            name: text(row.first()),
            size: size(row.get(1)).unwrap_or(0).saturating_sub(header(row)),
        })
        .collect())
}

/// Whether an event was made for the stream and stands in no file. The header of a Rotate that a source makes has no time.
pub(crate) fn is_made_for_stream(header: &Header) -> bool {
    let heartbeat = matches!(header.kind, kind::HEARTBEAT | kind::HEARTBEAT_V2);
    let rotate = header.kind == kind::ROTATE && header.timestamp == 0;
    heartbeat || rotate || header.is_artificial()
}

/// What a server refuses for want of a privilege.
pub(crate) fn privileges(e: wire::Error) -> Error {
    let code = e.code();
    let e = failure::wire("cannot follow the binary log", e);
    match code {
        Some(1227 | 1045) => Error {
            kind: Kind::Privilege,
            ..e.hint("GRANT REPLICATION SLAVE ON *.* TO the account")
        },
        _ => e,
    }
}
