//! One connection of the rogue: alone, or between a client and a real server.

use super::{Reply, Script};
use crate::Endpoint;
use crate::packets::{column, error, frame, ok, row};
use crate::payload::put_lenenc;
use mysql_common::constants::CapabilityFlags as Caps;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Either kind of socket.
pub(super) trait Pipe: Read + Write + Send {
    fn twin(&self) -> io::Result<Box<dyn Pipe>>;
    fn hang_up(&self);
}

impl Pipe for TcpStream {
    fn twin(&self) -> io::Result<Box<dyn Pipe>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn hang_up(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Pipe for UnixStream {
    fn twin(&self) -> io::Result<Box<dyn Pipe>> {
        Ok(Box::new(self.try_clone()?))
    }

    fn hang_up(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

pub(super) fn dial(endpoint: &Endpoint) -> io::Result<Box<dyn Pipe>> {
    Ok(match endpoint {
        Endpoint::Tcp(host, port) => Box::new(TcpStream::connect((host.as_str(), *port))?),
        Endpoint::Unix(path) => Box::new(UnixStream::connect(path)?),
    })
}

/// The side of a connection that sends to the client, and cuts it where the script says.
struct Mouth {
    pipe: Box<dyn Pipe>,
    left: u64,
}

impl Mouth {
    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let now = &bytes[..bytes.len().min(most)];
        self.pipe.write_all(now)?;
        self.left -= now.len() as u64;
        if now.len() < bytes.len() || self.left == 0 {
            self.pipe.hang_up();
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }
}

/// One connection.
pub(super) struct Session {
    pipe: Box<dyn Pipe>,
    mouth: Arc<Mutex<Mouth>>,
    script: Script,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Session {
    pub(super) fn new(
        pipe: Box<dyn Pipe>,
        script: Script,
        heard: Arc<Mutex<Vec<u8>>>,
    ) -> io::Result<Session> {
        let mouth = Mouth {
            pipe: pipe.twin()?,
            left: script.cut.unwrap_or(u64::MAX),
        };
        Ok(Session {
            pipe,
            mouth: Arc::new(Mutex::new(mouth)),
            script,
            heard,
        })
    }

    pub(super) fn serve(mut self) -> io::Result<()> {
        let done = match self.script.upstream.clone() {
            Some(endpoint) => self.between(&endpoint),
            None => self.alone(),
        };
        self.pipe.hang_up();
        done
    }

    fn alone(&mut self) -> io::Result<()> {
        self.say(&frame(&[&self.script.greeting], 0))?;
        let (seq, response) = self.listen()?;
        let deprecate_eof = wants_deprecate_eof(&response);
        let login = self.script.login.clone();
        self.reply(login, seq.wrapping_add(1), deprecate_eof)?;
        loop {
            let (seq, command) = self.listen()?;
            match command.split_first() {
                Some((3, sql)) => {
                    let reply = (self.script.answer)(sql);
                    self.reply(reply, seq.wrapping_add(1), deprecate_eof)?;
                }
                Some((1, _)) => return Ok(()),
                // Late answers to a login that the script made up.
                _ => {}
            }
        }
    }

    /// Passes everything through but the statements that the script answers.
    fn between(&mut self, endpoint: &Endpoint) -> io::Result<()> {
        let mut server = dial(endpoint)?;
        let mut back = server.twin()?;
        let (mouth, client) = (self.mouth.clone(), self.pipe.twin()?);
        let pump = thread::spawn(move || {
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(n @ 1..) = back.read(&mut chunk) {
                let Ok(mut mouth) = mouth.lock() else { break };
                if mouth.say(&chunk[..n]).is_err() {
                    break;
                }
            }
            back.hang_up();
            client.hang_up();
        });
        let (mut logged_in, mut deprecate_eof) = (false, false);
        let done = loop {
            let (seq, packet) = match self.listen() {
                Ok(packet) => packet,
                Err(e) => break Err(e),
            };
            // The login's packets have numbers from 1 up; a first 0 is a command.
            logged_in |= seq == 0;
            if !logged_in && seq == 1 {
                deprecate_eof = wants_deprecate_eof(&packet);
            }
            if let Some((3, sql)) = packet.split_first()
                && logged_in
                && seq == 0
            {
                let reply = (self.script.answer)(sql);
                if reply != Reply::Forward {
                    match self.reply(reply, 1, deprecate_eof) {
                        Ok(()) => continue,
                        Err(e) => break Err(e),
                    }
                }
            }
            // Framed by hand: a full packet here already has its continuation behind it.
            let head = (packet.len() as u32 | u32::from(seq) << 24).to_le_bytes();
            if let Err(e) = server.write_all(&[&head[..], &packet].concat()) {
                break Err(e);
            }
        };
        server.hang_up();
        let _ = pump.join();
        done
    }

    fn reply(&mut self, reply: Reply, seq: u8, deprecate_eof: bool) -> io::Result<()> {
        match reply {
            Reply::Ok(affected, info) => self.say(&frame(&[ok(0, affected, &info)], seq)),
            Reply::Error(code, text) => self.say(&frame(&[error(code, &text)], seq)),
            Reply::Rows(columns, rows) => {
                let mut count = Vec::new();
                put_lenenc(&mut count, columns.len() as u64);
                let mut packets = vec![count];
                packets.extend(columns.iter().map(|c| column(c)));
                let eof = vec![0xFE, 0, 0, 2, 0];
                if !deprecate_eof {
                    packets.push(eof.clone());
                }
                packets.extend(rows.iter().map(|r| row(r)));
                packets.push(if deprecate_eof { ok(0xFE, 0, "") } else { eof });
                self.say(&frame(&packets, seq))
            }
            Reply::File(name) => self.reply(Reply::FileThen(name, ok(0, 0, "")), seq, true),
            Reply::FileThen(name, last) => {
                self.say(&frame(&[[&[0xFB], name.as_bytes()].concat()], seq))?;
                loop {
                    let (seq, data) = self.listen()?;
                    if data.is_empty() {
                        return self.say(&frame(&[last], seq.wrapping_add(1)));
                    }
                }
            }
            Reply::Packets(payloads) => self.say(&frame(&payloads, seq)),
            Reply::Raw(bytes) => self.say(&bytes),
            Reply::Stall => loop {
                // Reading on notices a client that gives up.
                self.listen()?;
                thread::sleep(Duration::from_millis(1));
            },
            Reply::Close | Reply::Forward => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.mouth.lock() {
            Ok(mut mouth) => mouth.say(bytes),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// One packet of the client: its number and payload.
    fn listen(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 4];
        self.pipe.read_exact(&mut head)?;
        let len = u32::from_le_bytes([head[0], head[1], head[2], 0]);
        let mut payload = Vec::new();
        let got = (&mut self.pipe)
            .take(u64::from(len))
            .read_to_end(&mut payload)?;
        if let Ok(mut heard) = self.heard.lock() {
            heard.extend_from_slice(&head);
            heard.extend_from_slice(&payload);
        }
        if got as u64 != u64::from(len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok((head[3], payload))
    }
}

/// Which end of rows a client asks for with its login.
fn wants_deprecate_eof(login: &[u8]) -> bool {
    login
        .first_chunk()
        .is_some_and(|c| u32::from_le_bytes(*c) & Caps::CLIENT_DEPRECATE_EOF.bits() != 0)
}
