//! One connection of a replica, from its login to its request for events.

use super::account::Account;
use super::answers::{Answer, Profile, Wishes, answer};
use super::login;
use super::pipe::Pipe;
use super::sender::Sender;
use crate::packets::{self, column, error, row};
use crate::payload::{Cursor, put_lenenc};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long a replica may be silent between two questions.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most statements that are kept of those that were refused.
const KEPT: usize = 16;

const QUIT: u8 = 1;
const QUERY: u8 = 3;
const PING: u8 = 14;
const BINLOG_DUMP: u8 = 18;
const REGISTER: u8 = 21;
const BINLOG_DUMP_GTID: u8 = 30;

/// The replica's request for events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The file.
    pub file: Vec<u8>,
    /// Where in it.
    pub offset: u64,
    /// The replica's own server number.
    pub replica_id: u32,
    /// The longest silence that the replica takes for normal.
    pub heartbeat: Option<Duration>,
}

/// See the module.
#[derive(Debug)]
pub struct Session {
    pipe: Pipe,
    profile: Arc<Profile>,
    account: Account,
    id: u32,
    wishes: Wishes,
    refused: Vec<String>,
}

impl Session {
    pub(super) fn new(pipe: Pipe, profile: Arc<Profile>, account: Account, id: u32) -> Session {
        Session {
            pipe,
            profile,
            account,
            id,
            wishes: Wishes::default(),
            refused: Vec::new(),
        }
    }

    /// Statements that were not understood, for the log of the run.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Lets the replica log in and answers it until it asks for events; `None` if it leaves before.
    pub fn until_dump(&mut self) -> io::Result<Option<Dump>> {
        login::login(
            &mut self.pipe,
            &self.profile.version,
            self.id,
            &self.account,
        )?;
        loop {
            let packet = match self.pipe.receive(Some(PATIENCE)) {
                Ok(packet) => packet,
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                Err(e) => return Err(e),
            };
            let Some((&command, rest)) = packet.split_first() else {
                return Err(io::Error::other("the replica sent an empty command"));
            };
            match command {
                QUIT => return Ok(None),
                PING | REGISTER => self.ok()?,
                QUERY => self.statement(&String::from_utf8_lossy(rest))?,
                BINLOG_DUMP => return self.dump(rest).map(Some),
                BINLOG_DUMP_GTID => {
                    let text = "the log is served from a position in a file: SOURCE_AUTO_POSITION must be 0";
                    self.refuse("COM_BINLOG_DUMP_GTID", text)?;
                }
                other => self.refuse(
                    &format!("command {other}"),
                    "this server serves a binary log and nothing else",
                )?,
            }
        }
    }

    /// Sends events from here on.
    pub fn into_sender(self) -> Sender {
        Sender::new(self.pipe)
    }

    /// Ends a request for events with an error of the source, which replicas take for final.
    pub fn fail(&mut self, why: &str) -> io::Result<()> {
        self.pipe.reply(&[error(1236, why)])
    }

    fn dump(&mut self, rest: &[u8]) -> io::Result<Dump> {
        let mut c = Cursor::new(rest, "a request for events");
        let mut fixed = || -> crate::Result<(u32, u32)> {
            let offset = c.u32()?;
            c.u16()?; // flags: which events are wanted; all are sent
            Ok((offset, c.u32()?))
        };
        let (offset, replica_id) = fixed().map_err(io::Error::other)?;
        if self.profile.checksum != "NONE" && !self.wishes.checksums {
            self.fail("the log has checksums, which this replica does not know")?;
            return Err(io::Error::other(
                "the replica does not know checksums of events",
            ));
        }
        Ok(Dump {
            file: c.rest().to_vec(),
            offset: u64::from(offset),
            replica_id,
            heartbeat: self.wishes.heartbeat,
        })
    }

    fn statement(&mut self, sql: &str) -> io::Result<()> {
        match answer(&self.profile, &mut self.wishes, sql) {
            Answer::Ok => self.ok(),
            Answer::Row(cells) => {
                let (names, values): (Vec<_>, Vec<_>) = cells.into_iter().unzip();
                self.rows(&names, Some(values))
            }
            Answer::Nothing(names) => self.rows(&names, None),
            Answer::UnknownVariable(name) => {
                let text = format!("Unknown system variable '{name}'");
                self.pipe.reply(&[error(1193, &text)])
            }
            Answer::UnknownFunction(name) => {
                let text = format!("FUNCTION {name} does not exist");
                self.pipe.reply(&[error(1305, &text)])
            }
            Answer::Refused => self.refuse(sql, "this server serves a binary log and nothing else"),
        }
    }

    fn rows(&mut self, names: &[String], values: Option<Vec<String>>) -> io::Result<()> {
        let mut count = Vec::new();
        put_lenenc(&mut count, names.len() as u64);
        let end = vec![0xFE, 0, 0, 2, 0];
        let mut packets = vec![count];
        packets.extend(names.iter().map(|n| column(n)));
        packets.push(end.clone());
        packets.extend(values.map(|v| {
            let cells: Vec<_> = v.into_iter().map(|v| Some(v.into_bytes())).collect();
            row(&cells)
        }));
        packets.push(end);
        self.pipe.reply(&packets)
    }

    fn ok(&mut self) -> io::Result<()> {
        self.pipe.reply(&[packets::ok(0, 0, "")])
    }

    fn refuse(&mut self, what: &str, text: &str) -> io::Result<()> {
        if self.refused.len() < KEPT {
            self.refused.push(what.chars().take(200).collect());
        }
        self.pipe.reply(&[error(1235, text)])
    }
}
