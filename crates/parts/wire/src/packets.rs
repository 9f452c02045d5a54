//! Payloads and frames as a server makes them, for the server half that replicas read from (`serve`) and for the
//! scripted one of tests (`rogue`).

use crate::payload::{put_lenenc, put_text};
use mysql_common::constants::CapabilityFlags as Caps;

/// The capabilities that a plain server without TLS announces.
#[cfg(any(test, debug_assertions))]
pub fn capabilities() -> Caps {
    Caps::CLIENT_LONG_PASSWORD
        | Caps::CLIENT_LONG_FLAG
        | Caps::CLIENT_PROTOCOL_41
        | Caps::CLIENT_TRANSACTIONS
        | Caps::CLIENT_SECURE_CONNECTION
        | Caps::CLIENT_LOCAL_FILES
        | Caps::CLIENT_PLUGIN_AUTH
        | Caps::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | Caps::CLIENT_CONNECT_ATTRS
}

/// A greeting's payload, always with the same scramble: for scripts.
#[cfg(any(test, debug_assertions))]
pub fn greeting(version: &str, plugin: &str, caps: Caps) -> Vec<u8> {
    greeting_of(version, plugin, caps, 7, b"abcdefghijklmnopqrst")
}

/// A greeting's payload; `id` is the number of the connection.
pub(crate) fn greeting_of(
    version: &str,
    plugin: &str,
    caps: Caps,
    id: u32,
    scramble: &[u8; 20],
) -> Vec<u8> {
    let caps = caps.bits().to_le_bytes();
    let mut out = vec![10];
    out.extend_from_slice(version.as_bytes());
    out.push(0);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&scramble[..8]);
    out.push(0);
    out.extend_from_slice(&caps[..2]);
    out.push(45);
    out.extend_from_slice(&2u16.to_le_bytes());
    out.extend_from_slice(&caps[2..]);
    out.push(21);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&scramble[8..]);
    out.push(0);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out
}

/// The payload of a column definition.
pub fn column(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for text in ["def", "", "", "", name, ""] {
        put_text(&mut out, text.as_bytes());
    }
    out.extend_from_slice(&[12, 45, 0, 255, 0, 0, 0, 253, 0, 0, 0, 0, 0]);
    out
}

/// The payload of a text row.
pub fn row(cells: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut out = Vec::new();
    for cell in cells {
        match cell {
            Some(text) => put_text(&mut out, text),
            None => out.push(0xFB),
        }
    }
    out
}

/// The payload of an OK packet with this first byte (0x00, or 0xFE at the end of rows).
pub fn ok(header: u8, affected: u64, info: &str) -> Vec<u8> {
    let mut out = vec![header];
    put_lenenc(&mut out, affected);
    out.extend_from_slice(&[0, 2, 0, 0, 0]);
    if !info.is_empty() {
        put_text(&mut out, info.as_bytes());
    }
    out
}

/// The payload of an error packet.
pub fn error(code: u16, text: &str) -> Vec<u8> {
    let mut out = vec![0xFF];
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(b"#HY000");
    out.extend_from_slice(text.as_bytes());
    out
}

/// Frames payloads as packets from this sequence number on, splitting those that are too long for one.
pub fn frame<P: AsRef<[u8]>>(payloads: &[P], mut seq: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for payload in payloads {
        let mut rest = payload.as_ref();
        loop {
            let (now, later) = rest.split_at(rest.len().min(crate::buffer::FULL));
            out.extend_from_slice(&(now.len() as u32 | u32::from(seq) << 24).to_le_bytes());
            out.extend_from_slice(now);
            seq = seq.wrapping_add(1);
            rest = later;
            if now.len() < crate::buffer::FULL {
                break;
            }
        }
    }
    out
}
