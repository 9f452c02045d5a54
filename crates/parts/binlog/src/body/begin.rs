//! The events that transactions begin with: GTID, ANONYMOUS_GTID, GTID_TAGGED of MySQL, GTID of MariaDB.

use crate::event::Event;
use crate::fields::Fields;
use crate::gtid::{Gtid, mariadb, mysql};
use crate::{Error, Result, kind};

/// MariaDB: nothing ends the transaction but its only statement.
const STANDALONE: u8 = 1;

/// What is known of a transaction when it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// Its name, if it has one.
    pub gtid: Option<Gtid>,
    /// When it was committed on the server that wrote this log: microseconds since 1970 (MySQL since 8.0.1).
    pub committed: Option<u64>,
    /// MariaDB: it ends with its first statement.
    pub standalone: bool,
}

impl Begin {
    /// Reads an event; `None` if it is of another kind.
    pub fn parse(event: &Event<'_>) -> Result<Option<Begin>> {
        Ok(Some(match event.header.kind {
            kind::GTID => mysql_begin(event.body(), true)?,
            kind::ANONYMOUS_GTID => mysql_begin(event.body(), false)?,
            kind::GTID_TAGGED => tagged(event.body())?,
            kind::MARIADB_GTID => mariadb_begin(event)?,
            _ => return Ok(None),
        }))
    }
}

fn mysql_begin(body: &[u8], named: bool) -> Result<Begin> {
    let mut fields = Fields::new(body, "GTID event");
    fields.u8()?; // flags
    let uuid = fields.take(16)?;
    let number = fields.u64()?;
    let mut begin = Begin::default();
    if named {
        begin.gtid = Some(Gtid::MySql(gtid(uuid, "", number)?));
    }
    // 5.6 ends here; 5.7 has the order, 8.0 the times and lengths.
    const LOGICAL_ORDER: u8 = 2;
    if fields.is_empty() || fields.u8()? != LOGICAL_ORDER {
        return Ok(begin);
    }
    fields.take(16)?; // the order among the source's transactions
    if fields.is_empty() {
        return Ok(begin);
    }
    // The highest bit says that the time at the first server follows; without it, both are the same.
    const ORIGINAL_FOLLOWS: u64 = 1 << 55;
    begin.committed = Some(fields.u56()? & !ORIGINAL_FOLLOWS);
    Ok(begin)
}

fn gtid(uuid: &[u8], tag: &str, number: u64) -> Result<mysql::Gtid> {
    let origin = mysql::Origin::new(uuid, tag);
    let origin = origin.ok_or_else(|| Error::malformed("GTID event", "no UUID"))?;
    if number == 0 || number >= i64::MAX as u64 {
        return Err(Error::malformed(
            "GTID event",
            format!("the number {number}"),
        ));
    }
    Ok(mysql::Gtid { origin, number })
}

/// Fields with numbers, of which the ones at the end may be missing.
fn tagged(body: &[u8]) -> Result<Begin> {
    let mut fields = Fields::new(body, "Gtid_tagged event");
    fields.varint()?; // version of the serialization
    fields.varint()?; // length
    fields.varint()?; // last field that must not be skipped
    let mut begin = Begin::default();
    let (mut uuid, mut tag, mut number) = ([0; 16], String::new(), None);
    while !fields.is_empty() {
        match fields.varint()? {
            0 => {
                fields.varint()?; // flags
            }
            1 => {
                for byte in &mut uuid {
                    *byte = fields.varint()? as u8;
                }
            }
            2 => number = u64::try_from(fields.signed_varint()?).ok(),
            3 => {
                let length = usize::try_from(fields.varint()?).unwrap_or(usize::MAX);
                tag = String::from_utf8_lossy(fields.take(length)?).into_owned();
            }
            4 | 5 => {
                fields.signed_varint()?; // the order among the source's transactions
            }
            6 => begin.committed = Some(fields.varint()?),
            7..=11 => {
                fields.varint()?; // time at the first server, length, versions, group commit
            }
            // A later server's: its length is not known, and all that is needed was before it.
            _ => break,
        }
    }
    let number = number.ok_or_else(|| fields.wrong("no number"))?;
    begin.gtid = Some(Gtid::MySql(gtid(&uuid, &tag, number)?));
    Ok(begin)
}

fn mariadb_begin(event: &Event<'_>) -> Result<Begin> {
    let mut fields = Fields::new(event.body(), "Gtid event");
    let sequence = fields.u64()?;
    let domain = fields.u32()?;
    let flags = fields.u8()?;
    Ok(Begin {
        gtid: Some(Gtid::MariaDb(mariadb::Gtid {
            domain,
            server: event.header.server_id,
            sequence,
        })),
        standalone: flags & STANDALONE != 0,
        ..Begin::default()
    })
}
