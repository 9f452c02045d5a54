//! What the log says about a place: the format of its file, and the transaction that follows.

use crate::log::{FIRST, LogFiles, Place, broken};
use crate::precheck::Names;
use base::Result;
use binlog::file::File;
use binlog::{Boundaries, Description, Transaction};
use std::io::{BufReader, Read};

type Reader<'a> = BufReader<Box<dyn Read + Send + 'a>>;

/// What the first file says of itself.
pub(crate) fn description(log: &dyn LogFiles, file: usize) -> Result<Description> {
    let (file, _) = open(
        log,
        Place {
            file,
            offset: FIRST,
        },
    )?;
    Ok(file.description().clone())
}

/// A file from this place on, its description read.
fn open(log: &dyn LogFiles, place: Place) -> Result<(File<Reader<'_>>, u64)> {
    let fail = |offset, why: &dyn std::fmt::Display| {
        let at = Place { offset, ..place };
        broken(log, at, why)
    };
    let reader = |offset| {
        log.open(place.file, offset)
            .map(BufReader::new)
            .map_err(|e| fail(offset, &e))
    };
    let mut file = File::open(reader(0)?).map_err(|e| fail(0, &e))?;
    match file.next().map_err(|e| fail(FIRST, &e))? {
        Some((_, event)) if event.header.kind == binlog::kind::FORMAT_DESCRIPTION => {}
        _ => return Err(fail(FIRST, &"it does not begin with a format description")),
    }
    let first = file.position();
    if place.offset > first {
        let description = file.description().clone();
        file = File::from(reader(place.offset)?, place.offset, description);
    }
    Ok((file, first))
}

/// The transaction that follows a place, with its end if it ends in the same file; `None` at the end of the log. In logs
/// that are still written, and after a crash, it may be torn.
pub(crate) fn next(log: &dyn LogFiles, place: Place) -> Result<Option<Transaction>> {
    for file in place.file..log.files().len() {
        let offset = if file == place.file {
            place.offset
        } else {
            FIRST
        };
        let (mut events, _) = open(log, Place { file, offset })?;
        let mut boundaries = Boundaries::new();
        loop {
            let offset = events.position();
            let fail = |e: binlog::Error| broken(log, Place { file, offset }, e);
            let Some((at, event)) = events.next().map_err(fail)? else {
                break;
            };
            let mark = boundaries.take(at, &event).map_err(fail)?;
            if mark == binlog::Mark::End {
                return Ok(Some(boundaries.ended().clone()));
            }
            if let Some(begun) = boundaries.begun()
                && begun.gtid.is_some()
            {
                return Ok(Some(begun.clone()));
            }
        }
        if let Some(begun) = boundaries.begun() {
            return Ok(Some(begun.clone()));
        }
    }
    Ok(None)
}

/// Which names the transactions from a place on have, by the first of them.
pub(crate) fn names(log: &dyn LogFiles, place: Place) -> Result<Names> {
    for file in place.file..log.files().len() {
        let offset = if file == place.file {
            place.offset
        } else {
            FIRST
        };
        let (mut events, _) = open(log, Place { file, offset })?;
        loop {
            let offset = events.position();
            let fail = |e: binlog::Error| broken(log, Place { file, offset }, e);
            let Some((_, event)) = events.next().map_err(fail)? else {
                break;
            };
            match event.header.kind {
                binlog::kind::GTID | binlog::kind::GTID_TAGGED => return Ok(Names::Gtids),
                binlog::kind::ANONYMOUS_GTID => return Ok(Names::Anonymous),
                binlog::kind::MARIADB_GTID | binlog::kind::QUERY => return Ok(Names::Other),
                _ => {}
            }
        }
    }
    Ok(Names::Other)
}
