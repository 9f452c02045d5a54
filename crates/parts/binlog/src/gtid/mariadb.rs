//! GTIDs of MariaDB: domain, server and a number that grows within the domain.

use crate::fields::Fields;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;

/// The name of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// Stream of transactions with an order of its own.
    pub domain: u32,
    /// The server that it was first executed by.
    pub server: u32,
    /// Grows within the domain.
    pub sequence: u64,
}

impl Gtid {
    /// Reads `0-1-100`.
    pub fn parse(text: &str) -> Option<Gtid> {
        let mut parts = text.trim().split('-');
        let mut next = || {
            parts
                .next()
                .filter(|p| p.bytes().all(|b| b.is_ascii_digit()))
        };
        let gtid = Gtid {
            domain: next()?.parse().ok()?,
            server: next()?.parse().ok()?,
            sequence: next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(gtid)
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

/// The last transaction of each domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    domains: BTreeMap<u32, Gtid>,
}

impl Position {
    /// Reads `0-1-100,1-2-7`. A domain that is named more than once (a log that several servers wrote) counts with
    /// its highest number.
    pub fn parse(text: &str) -> Option<Position> {
        let mut position = Position::default();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            position.add(Gtid::parse(part)?);
        }
        Some(position)
    }

    /// Reads the body of a GTID_LIST event.
    pub fn decode(body: &[u8]) -> Result<Position> {
        let mut fields = Fields::new(body, "Gtid_list event");
        // The upper four bits are flags.
        let count = fields.u32()? & 0x0fff_ffff;
        let mut position = Position::default();
        for _ in 0..count {
            position.add(Gtid {
                domain: fields.u32()?,
                server: fields.u32()?,
                sequence: fields.u64()?,
            });
        }
        // An empty list is padded by two bytes, so that it is no shorter than other events.
        if !fields.is_empty() && count > 0 {
            return Err(Error::malformed("Gtid_list event", "bytes behind its end"));
        }
        Ok(position)
    }

    fn add(&mut self, gtid: Gtid) {
        let last = self.domains.entry(gtid.domain).or_insert(gtid);
        if gtid.sequence >= last.sequence {
            *last = gtid;
        }
    }

    /// Makes this the last one of its domain.
    pub fn set(&mut self, gtid: Gtid) {
        self.domains.insert(gtid.domain, gtid);
    }

    /// Each domain as far as either has come.
    pub fn add_all(&mut self, other: &Position) {
        other.domains.values().for_each(|gtid| self.add(*gtid));
    }

    /// Whether the domain has come as far as this transaction.
    pub fn reached(&self, gtid: &Gtid) -> bool {
        let last = self.domains.get(&gtid.domain);
        last.is_some_and(|last| last.sequence >= gtid.sequence)
    }

    pub(crate) fn is_within(&self, other: &Position) -> bool {
        self.domains.values().all(|gtid| other.reached(gtid))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    pub(crate) fn without(&self, other: &Position) -> Position {
        let left = self.domains.iter().filter(|(_, gtid)| !other.reached(gtid));
        Position {
            domains: left.map(|(domain, gtid)| (*domain, *gtid)).collect(),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, gtid) in self.domains.values().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            gtid.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_as_text() {
        let position = Position::parse("1-2-7, 0-1-100,0-3-99").unwrap();
        assert_eq!(position.to_string(), "0-1-100,1-2-7");
        assert!(position.reached(&Gtid::parse("0-9-100").unwrap()));
        assert!(!position.reached(&Gtid::parse("2-1-1").unwrap()));
        let earlier = Position::parse("0-1-5").unwrap();
        assert!(earlier.is_within(&position) && !position.is_within(&earlier));
        assert_eq!(position.without(&earlier).to_string(), "0-1-100,1-2-7");
        for bad in ["0-1", "0-1-2-3", "a-1-2", "0-1-+2", "4294967296-1-1"] {
            assert_eq!(Position::parse(bad), None, "{bad}");
        }
    }
}
