//! The event that every file begins with: which server wrote it, and what its events look like.

use crate::event::{HEADER, SUM};
use crate::fields::Fields;
use crate::{Error, Header, Result, kind};

/// How the bytes of events are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Not at all.
    None,
    /// Four bytes at the end of each event.
    Crc32,
}

/// What a FORMAT_DESCRIPTION event says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Version of the server that wrote the file, as it says it.
    pub server_version: String,
    /// When it was written: seconds since 1970; 0 if the file was not begun by a start of the server.
    pub created: u32,
    /// How events are checked.
    pub checksum: Checksum,
}

impl Description {
    /// What is assumed of a stream before its first event: nothing but how the server checks its events now.
    pub fn of_stream(checksum: Checksum) -> Description {
        Description {
            server_version: String::new(),
            created: 0,
            checksum,
        }
    }

    /// Reads one: all bytes of the event. Its checksum is not verified here, see [`crate::Event::parse`].
    pub fn parse(bytes: &[u8]) -> Result<Description> {
        let header = Header::parse(bytes)?;
        let what = "Format_desc event";
        if header.kind != kind::FORMAT_DESCRIPTION {
            let shown = kind::shown(header.kind);
            return Err(Error::malformed(
                what,
                format!("a {shown} event in its place"),
            ));
        }
        let body = bytes.get(HEADER..).unwrap_or_default();
        let mut fields = Fields::new(body, what);
        let version = fields.u16()?;
        if version != 4 {
            return Err(fields.wrong(format!("version {version} of the format; only 4 is known")));
        }
        let text = fields.take(50)?;
        let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
        let server_version = String::from_utf8_lossy(&text[..end]).into_owned();
        let created = fields.u32()?;
        let length = fields.u8()?;
        if usize::from(length) != HEADER {
            return Err(fields.wrong(format!("headers of {length} bytes")));
        }
        let rest = fields.rest();
        // Servers that know checksums end with the algorithm and four bytes for the sum of this very event, whether it
        // is used or not. MariaDB has known them since 5.3, MySQL since 5.6.1.
        let checksum = match knows_checksums(&server_version) {
            false => Checksum::None,
            true => {
                let Some(at) = rest.len().checked_sub(SUM + 1) else {
                    return Err(fields.wrong("no room for the kind of checksum"));
                };
                match rest[at] {
                    0 => Checksum::None,
                    1 => Checksum::Crc32,
                    other => {
                        return Err(fields.wrong(format!("checksums of an unknown kind {other}")));
                    }
                }
            }
        };
        Ok(Description {
            server_version,
            created,
            checksum,
        })
    }

    /// Whether the file was written by MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.server_version.to_ascii_lowercase().contains("mariadb")
    }

    /// Whether the server that wrote it knows checksums, whether or not it uses them.
    pub(crate) fn knows_checksums(&self) -> bool {
        knows_checksums(&self.server_version)
    }
}

fn knows_checksums(version: &str) -> bool {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let numbers = (next(), next(), next());
    let mariadb = version.to_ascii_lowercase().contains("mariadb");
    numbers >= (5, 6, 1) || mariadb && numbers >= (5, 3, 0)
}
