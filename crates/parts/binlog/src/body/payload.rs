//! TRANSACTION_PAYLOAD: a whole transaction but for its GTID, compressed (MySQL, `binlog_transaction_compression`).

use crate::fields::Fields;
use crate::{Event, Result};
use std::io::Read;

/// The transaction that the event holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    bytes: &'a [u8],
    zstd: bool,
    /// Length of the events, as the event says.
    pub length: Option<u64>,
}

impl<'a> Payload<'a> {
    /// Reads the body of a TRANSACTION_PAYLOAD event.
    pub fn parse(body: &'a [u8]) -> Result<Payload<'a>> {
        let mut fields = Fields::new(body, "Transaction_payload event");
        let (mut zstd, mut length) = (false, None);
        loop {
            let field = fields.packed()?;
            if field == 0 {
                break;
            }
            let mut value = Fields::new(fields.packed_bytes()?, "Transaction_payload event");
            match field {
                2 => {
                    zstd = match value.packed()? {
                        0 => true,
                        255 => false,
                        other => {
                            return Err(fields.wrong(format!("an unknown compression {other}")));
                        }
                    }
                }
                3 => length = Some(value.packed()?),
                _ => {}
            }
        }
        Ok(Payload {
            bytes: fields.rest(),
            zstd,
            length,
        })
    }

    /// Calls `each` with the events, one after the other; they have no checksums of their own. No event may be longer
    /// than `limit` bytes.
    pub fn events(
        &self,
        limit: usize,
        mut each: impl FnMut(Event<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut stream: Box<dyn Read + '_> = match self.zstd {
            true => Box::new(zstd::stream::read::Decoder::with_buffer(self.bytes)?),
            false => Box::new(self.bytes),
        };
        let mut bytes = Vec::new();
        while crate::file::read_event(&mut stream, &mut bytes, limit)? {
            each(Event::without_checksum(&bytes)?)?;
        }
        Ok(())
    }
}
