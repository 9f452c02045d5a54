//! What packets hold: OK, ERR, EOF and column definitions, read with checks.
//!
//! Nothing here trusts a length: every read says whether the bytes are there,
//! and a field that does not fit becomes [`Error::Protocol`].
//! Formats: MySQL source documentation, "Client/Server Protocol"; MariaDB
//! knowledge base, "Clients & Utilities / Protocol".

use crate::{Column, Error, Result, ServerError};

/// The server has another result after this one.
pub(crate) const MORE_RESULTS: u16 = 0x0008;

/// Walks a payload from front to back.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Cursor<'a> {
    /// A cursor over `payload`; `what` names it in errors.
    pub(crate) fn new(payload: &'a [u8], what: &'static str) -> Self {
        Self {
            rest: payload,
            what,
        }
    }

    fn short(&self) -> Error {
        Error::Protocol(format!("{} ends too early", self.what))
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or_else(|| self.short())?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        let b = self.take(2)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// Up to the next NUL, which is consumed, or to the end if there is none.
    pub(crate) fn until_nul(&mut self) -> &'a [u8] {
        match self.rest.iter().position(|&b| b == 0) {
            Some(at) => {
                let text = &self.rest[..at];
                self.rest = &self.rest[at + 1..];
                text
            }
            None => std::mem::take(&mut self.rest),
        }
    }

    /// A length-encoded integer.
    pub(crate) fn lenenc(&mut self) -> Result<u64> {
        let bytes = match self.u8()? {
            n @ 0..=0xFA => return Ok(u64::from(n)),
            0xFC => self.take(2)?,
            0xFD => self.take(3)?,
            0xFE => self.take(8)?,
            _ => {
                return Err(Error::Protocol(format!(
                    "{} holds no valid length",
                    self.what
                )));
            }
        };
        let mut full = [0; 8];
        full[..bytes.len()].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(full))
    }

    /// A length-encoded string.
    pub(crate) fn text(&mut self) -> Result<&'a [u8]> {
        let len = self.lenenc()?;
        let len = usize::try_from(len).map_err(|_| self.short())?;
        self.take(len)
    }
}

/// What an OK or EOF packet says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OkPacket {
    pub(crate) affected: u64,
    pub(crate) status: u16,
    pub(crate) warnings: u16,
    pub(crate) info: String,
}

/// An OK packet, header byte included (0x00, or 0xFE at the end of rows).
pub(crate) fn ok(payload: &[u8]) -> Result<OkPacket> {
    let mut c = Cursor::new(payload, "an OK packet");
    c.u8()?;
    let affected = c.lenenc()?;
    c.lenenc()?; // last insert id
    let status = c.u16()?;
    let warnings = c.u16()?;
    // Documented as the rest of the packet, sent with a length in front by every
    // server there is; a server that follows the documentation is understood too.
    let mut info = c.rest();
    let mut with_length = c.clone();
    if let Ok(text) = with_length.text() {
        info = text;
    }
    Ok(OkPacket {
        affected,
        status,
        warnings,
        info: String::from_utf8_lossy(info).into_owned(),
    })
}

/// The old EOF packet, header byte included.
pub(crate) fn eof(payload: &[u8]) -> Result<OkPacket> {
    let mut c = Cursor::new(payload, "an EOF packet");
    c.u8()?;
    let warnings = c.u16()?;
    let status = c.u16()?;
    Ok(OkPacket {
        status,
        warnings,
        ..OkPacket::default()
    })
}

/// An ERR packet, header byte included. Before the login there is no SQL state in it.
pub(crate) fn err(payload: &[u8]) -> Result<ServerError> {
    let mut c = Cursor::new(payload, "an error packet");
    c.u8()?;
    let code = c.u16()?;
    let mut state = "HY000".to_owned();
    if c.rest().first() == Some(&b'#') && c.rest().len() >= 6 {
        state = String::from_utf8_lossy(&c.take(6)?[1..]).into_owned();
    }
    Ok(ServerError {
        code,
        state,
        // Servers break lines where they quote a statement; a message is one line here.
        message: String::from_utf8_lossy(c.rest()).replace(['\r', '\n'], " "),
    })
}

/// A column definition (protocol 4.1).
pub(crate) fn column(payload: &[u8]) -> Result<Column> {
    let mut c = Cursor::new(payload, "a column definition");
    for _ in ["catalog", "schema", "table", "original table"] {
        c.text()?;
    }
    let name = String::from_utf8_lossy(c.text()?).into_owned();
    c.text()?; // original name
    c.lenenc()?; // length of the fixed part, always 12
    let collation = c.u16()?;
    c.u32()?; // display width
    let type_code = c.u8()?;
    let flags = c.u16()?;
    let decimals = c.u8()?;
    Ok(Column {
        name,
        type_code,
        flags,
        collation,
        decimals,
    })
}

/// Appends a length-encoded integer.
pub(crate) fn put_lenenc(out: &mut Vec<u8>, n: u64) {
    let bytes = n.to_le_bytes();
    match n {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a length-encoded string.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_lenenc(out, text.len() as u64);
    out.extend_from_slice(text);
}
