//! From an open socket to a session: greeting, TLS, proof of identity.
//!
//! Capabilities are the smallest set that moves rows. LOCAL INFILE is announced
//! only if the options say so; multi-statements and multi-results never. The
//! greeting is parsed here, with checks, because it is the first thing a hostile
//! server can send.

use crate::auth::{Channel, Plugin, Step};
use crate::buffer::Buffer;
use crate::payload::{self, Cursor, put_lenenc, put_text};
use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls::TlsStream;
use crate::{Error, Options, Result, SslMode};
use mysql_common::constants::CapabilityFlags as Caps;
use std::io::Write;
use std::time::{Duration, Instant};

/// utf8mb4_general_ci: known to every server since MySQL 5.5.3.
const COLLATION: u8 = 45;
/// The biggest packet we say we take; servers know none bigger.
const MAX_PACKET: u32 = 1 << 30;
/// No packet of a login is bigger, so a rogue server cannot fill memory before it is trusted with anything.
const LOGIN_LIMIT: usize = 64 * 1024;
/// More rounds than any plugin or chain of plugins takes.
const ROUNDS: usize = 32;

/// The result of a login.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) stream: Stream,
    pub(crate) buffer: Buffer,
    pub(crate) id: u32,
    pub(crate) version: String,
    pub(crate) deprecate_eof: bool,
}

/// The server's first packet.
#[derive(Debug)]
pub(crate) struct Greeting {
    version: String,
    id: u32,
    scramble: Vec<u8>,
    caps: Caps,
    plugin: Vec<u8>,
}

/// Connects and logs in, all within the options' connect timeout.
pub(crate) fn login(options: &Options) -> Result<Session> {
    let now = Instant::now();
    // A wait that is too long to represent becomes a day.
    let deadline = now
        .checked_add(options.connect_timeout)
        .unwrap_or_else(|| now + Duration::from_secs(86_400));
    let socket = Socket::open(&options.endpoint, options.limited.as_ref(), deadline)?;
    let mut session = Session {
        stream: Stream::Plain(socket),
        buffer: Buffer::new(),
        id: 0,
        version: String::new(),
        deprecate_eof: false,
    };
    let greeting = parse_greeting(session.receive()?)?;
    session.id = greeting.id;
    session.version = greeting.version.clone();

    let unix = session.stream.socket().is_some_and(Socket::is_unix);
    let use_tls = wants_tls(options.ssl_mode, unix, greeting.caps)?;
    let caps = capabilities(greeting.caps, options, use_tls);
    session.deprecate_eof = caps.contains(Caps::CLIENT_DEPRECATE_EOF);
    if use_tls {
        session.send(&head(caps))?;
        if !session.buffer.is_empty() {
            // Bytes sent before the handshake would be taken for encrypted ones.
            return Err(Error::Protocol("data in clear ahead of TLS".into()));
        }
        let plain = std::mem::replace(&mut session.stream, Stream::Gone);
        if let Stream::Plain(socket) = plain {
            session.stream = Stream::Tls(Box::new(TlsStream::connect(socket, options)?));
        }
    }
    let channel = Channel {
        tls: use_tls,
        unix,
        ask_key: options.get_server_public_key,
    };
    session.prove(options, &greeting, caps, channel)?;
    if let Some(socket) = session.stream.socket_mut() {
        socket.settle(options.write_timeout)?;
        socket.wait_at_gate(options.limited.as_ref().is_some_and(|g| g.waits));
    }
    Ok(session)
}

/// Whether to use TLS with a server of these capabilities.
fn wants_tls(mode: SslMode, unix: bool, server: Caps) -> Result<bool> {
    let offered = server.contains(Caps::CLIENT_SSL);
    match mode {
        SslMode::Disabled => Ok(false),
        SslMode::Preferred => Ok(offered && !unix),
        _ if offered => Ok(true),
        _ => Err(Error::Tls(
            "the server offers none, and the settings forbid going on without".into(),
        )),
    }
}

fn capabilities(server: Caps, options: &Options, use_tls: bool) -> Caps {
    let mut caps = Caps::CLIENT_LONG_PASSWORD
        | Caps::CLIENT_LONG_FLAG
        | Caps::CLIENT_PROTOCOL_41
        | Caps::CLIENT_TRANSACTIONS
        | Caps::CLIENT_SECURE_CONNECTION
        | Caps::CLIENT_PLUGIN_AUTH
        | Caps::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | Caps::CLIENT_CONNECT_ATTRS
        | Caps::CLIENT_DEPRECATE_EOF;
    caps.set(Caps::CLIENT_LOCAL_FILES, options.local_infile);
    caps.set(Caps::CLIENT_SSL, use_tls);
    // LOCAL_FILES is ours to say: servers with local_infile off leave it out, and
    // then answer LOAD DATA LOCAL with an error that names the reason.
    caps & (server | Caps::CLIENT_LOCAL_FILES)
}

/// The part that a TLS request and a full login have in common.
fn head(caps: Caps) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(&caps.bits().to_le_bytes());
    out.extend_from_slice(&MAX_PACKET.to_le_bytes());
    out.push(COLLATION);
    out.extend_from_slice(&[0; 23]);
    out
}

/// Reads the server's first packet.
pub(crate) fn parse_greeting(payload: &[u8]) -> Result<Greeting> {
    match payload.first() {
        Some(0xFF) => return Err(payload::err(payload)?.into()),
        Some(10) => {}
        Some(0xFB) => return Err(Error::LocalFile),
        Some(n) => {
            return Err(Error::Protocol(format!(
                "the greeting speaks protocol version {n}; this does not look like a MySQL or MariaDB server"
            )));
        }
        None => return Err(Error::Protocol("an empty greeting".into())),
    }
    let mut c = Cursor::new(&payload[1..], "the greeting");
    let version = String::from_utf8_lossy(c.until_nul()).into_owned();
    let id = c.u32()?;
    let mut scramble = c.take(8)?.to_vec();
    c.take(1)?;
    let low = u32::from(c.u16()?);
    // A server from before 4.1 stops here, and so does every one that lacks what we need.
    let mut caps = Caps::from_bits_retain(low);
    if !caps.contains(Caps::CLIENT_PROTOCOL_41 | Caps::CLIENT_SECURE_CONNECTION) {
        return Err(Error::Protocol(format!(
            "the server ({version:?}) is older than the protocol spoken here"
        )));
    }
    c.u8()?; // default collation
    c.u16()?; // status
    caps |= Caps::from_bits_retain(u32::from(c.u16()?) << 16);
    let scramble_len = usize::from(c.u8()?);
    c.take(10)?;
    // 12 bytes and a NUL in all servers there are; the length field is 0 in old ones.
    let second = c.take(scramble_len.saturating_sub(8).max(13))?;
    scramble.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
    let plugin = if caps.contains(Caps::CLIENT_PLUGIN_AUTH) {
        c.until_nul().to_vec()
    } else {
        b"mysql_native_password".to_vec()
    };
    Ok(Greeting {
        version: plain_version(&version).to_owned(),
        id,
        scramble,
        caps,
        plugin,
    })
}

/// MariaDB puts `5.5.5-` in front so that old replicas of MySQL accept it.
fn plain_version(version: &str) -> &str {
    version
        .strip_prefix("5.5.5-")
        .filter(|v| v.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or(version)
}

impl Session {
    fn receive(&mut self) -> Result<&[u8]> {
        let packet = self.buffer.packet(&mut self.stream, LOGIN_LIMIT)?;
        Ok(self.buffer.bytes(packet.range))
    }

    fn send(&mut self, payload: &[u8]) -> Result<()> {
        let seq = self.buffer.seq();
        let len = (payload.len() as u32).to_le_bytes();
        let mut packet = vec![len[0], len[1], len[2], seq];
        packet.extend_from_slice(payload);
        self.buffer.set_seq(seq.wrapping_add(1));
        self.stream.write_all(&packet)?;
        Ok(())
    }

    /// Sends who we are and answers challenges until the server says yes or no.
    fn prove(
        &mut self,
        options: &Options,
        greeting: &Greeting,
        caps: Caps,
        channel: Channel,
    ) -> Result<()> {
        let password = options.password.as_ref().map_or("", |p| p.reveal());
        let password = password.as_bytes();
        // The server's default says nothing of the account: one that is not known
        // here is no reason to give up, the account's own is asked for later.
        let mut plugin = Plugin::named(&greeting.plugin)
            .ok()
            .filter(|p| *p != Plugin::Ed25519)
            .unwrap_or(Plugin::Native);
        let mut scramble = greeting.scramble.clone();
        let first = plugin.answer(&scramble, password, channel)?;
        self.send(&response(options, caps, plugin, &first))?;

        for _ in 0..ROUNDS {
            let payload = self.receive()?;
            match payload.split_first() {
                Some((0x00, _)) => return Ok(()),
                Some((0xFF, _)) => return Err(payload::err(payload)?.into()),
                Some((0xFB, _)) => return Err(Error::LocalFile),
                Some((0xFE, [])) => {
                    return Err(Plugin::named(b"mysql_old_password")
                        .err()
                        .unwrap_or(Error::LocalFile));
                }
                Some((0xFE, rest)) => {
                    let mut c = Cursor::new(rest, "a change of plugin");
                    plugin = Plugin::named(c.until_nul())?;
                    scramble = c.rest().to_vec();
                    // A NUL ends the scramble of the old plugins, but does not belong to it.
                    if plugin != Plugin::Ed25519 && scramble.len() == 21 {
                        scramble.truncate(20);
                    }
                    let answer = plugin.answer(&scramble, password, channel)?;
                    self.send(&answer)?;
                }
                Some((0x01, data)) => match plugin.more(data, &scramble, password, channel)? {
                    Step::Send(answer) => self.send(&answer)?,
                    Step::Wait => {}
                },
                _ => return Err(Error::Protocol("an unknown packet in the login".into())),
            }
        }
        Err(Error::Protocol("the login does not finish".into()))
    }
}

/// The full login packet.
fn response(options: &Options, caps: Caps, plugin: Plugin, answer: &[u8]) -> Vec<u8> {
    let mut out = head(caps);
    // A NUL would end the name early, and log in as another account.
    out.extend(options.user.bytes().take_while(|&b| b != 0));
    out.push(0);
    if caps.contains(Caps::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
        put_text(&mut out, answer);
    } else {
        // At most 255: without TLS no answer is longer than a hash, and servers
        // that know TLS and clear passwords know the capability above.
        out.push(answer.len().min(255) as u8);
        out.extend_from_slice(&answer[..answer.len().min(255)]);
    }
    if caps.contains(Caps::CLIENT_PLUGIN_AUTH) {
        out.extend_from_slice(plugin.name().as_bytes());
        out.push(0);
    }
    if caps.contains(Caps::CLIENT_CONNECT_ATTRS) {
        let mut attributes = Vec::new();
        let pid = std::process::id().to_string();
        for (key, value) in [
            ("_client_name", "penstock"),
            ("_client_version", env!("CARGO_PKG_VERSION")),
            ("_pid", pid.as_str()),
            ("program_name", "penstock"),
        ] {
            put_text(&mut attributes, key.as_bytes());
            put_text(&mut attributes, value.as_bytes());
        }
        put_lenenc(&mut out, attributes.len() as u64);
        out.extend_from_slice(&attributes);
    }
    out
}
