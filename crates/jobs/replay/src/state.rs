//! What the thread that serves the log and the one that watches the applier know of each other.

use crate::log::{LogFiles, Place};
use base::{Error, lock};
use binlog::Transaction;
use std::sync::Mutex;

/// See the module.
#[derive(Debug)]
pub(crate) struct State(Mutex<Inner>);

/// How far the log was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The end of the last event.
    pub(crate) place: Place,
    /// The end of the last whole transaction that the target has to apply.
    pub(crate) whole: Place,
    /// The last whole transaction.
    pub(crate) last: Option<Transaction>,
    /// Whole transactions.
    pub(crate) transactions: u64,
    /// Transactions that were left out, because the target has them.
    pub(crate) skipped: u64,
    /// Everything was sent.
    pub(crate) finished: bool,
}

#[derive(Debug)]
struct Inner {
    /// For each file, the bytes of the files before it, as far as they are known.
    before: Vec<u64>,
    sent: Sent,
    applied: Place,
    /// Why the log cannot be served.
    failure: Option<Error>,
    refused: Vec<String>,
    /// The target is being detached: what ends its connection is no news.
    ending: bool,
}

impl State {
    /// Nothing is sent yet, and everything before `from` is applied.
    pub(crate) fn new(from: Place) -> State {
        State(Mutex::new(Inner {
            before: vec![0; from.file + 1],
            sent: Sent {
                place: from,
                whole: from,
                last: None,
                transactions: 0,
                skipped: 0,
                finished: false,
            },
            applied: from,
            failure: None,
            refused: Vec::new(),
            ending: false,
        }))
    }

    pub(crate) fn sent(&self) -> Sent {
        lock(&self.0).sent.clone()
    }

    pub(crate) fn applied(&self) -> Place {
        lock(&self.0).applied
    }

    pub(crate) fn set_applied(&self, place: Place) {
        let mut inner = lock(&self.0);
        inner.applied = inner.applied.max(place);
    }

    /// An event of a transaction that is not whole yet was sent.
    pub(crate) fn sent_event(&self, end: Place) {
        let mut inner = lock(&self.0);
        inner.sent.place = inner.sent.place.max(end);
    }

    /// A transaction is whole. After a new connection some come again.
    pub(crate) fn sent_transaction(&self, end: Place, transaction: &Transaction) {
        let mut inner = lock(&self.0);
        inner.sent.place = inner.sent.place.max(end);
        if end > inner.sent.whole {
            inner.sent.whole = end;
            inner.sent.transactions += 1;
            inner.sent.last = Some(transaction.clone());
        }
    }

    pub(crate) fn skipped(&self) {
        lock(&self.0).sent.skipped += 1;
    }

    pub(crate) fn finish(&self) {
        lock(&self.0).sent.finished = true;
    }

    /// A file has ended: where the next one is in all bytes.
    pub(crate) fn file_ended(&self, file: usize, length: u64) {
        let mut inner = lock(&self.0);
        if inner.before.len() == file + 1 {
            let next = inner.before[file] + length;
            inner.before.push(next);
        }
    }

    /// Bytes of the log up to a place that was sent, from the beginning of the first file.
    pub(crate) fn bytes(&self, place: Place) -> u64 {
        let inner = lock(&self.0);
        inner.before.get(place.file).copied().unwrap_or(0) + place.offset
    }

    /// Bytes that were sent and are not applied; 0 if no whole transaction is among them.
    pub(crate) fn ahead(&self) -> u64 {
        let (place, whole, applied) = {
            let inner = lock(&self.0);
            (inner.sent.place, inner.sent.whole, inner.applied)
        };
        if applied >= whole {
            return 0;
        }
        self.bytes(place).saturating_sub(self.bytes(applied))
    }

    pub(crate) fn fail(&self, e: Error) {
        lock(&self.0).failure.get_or_insert(e);
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        lock(&self.0).failure.clone()
    }

    pub(crate) fn set_ending(&self) {
        lock(&self.0).ending = true;
    }

    pub(crate) fn is_ending(&self) -> bool {
        lock(&self.0).ending
    }

    pub(crate) fn refused(&self, statements: &[String]) {
        let mut inner = lock(&self.0);
        for s in statements {
            if !inner.refused.contains(s) {
                inner.refused.push(s.clone());
            }
        }
    }

    pub(crate) fn take_refused(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.0).refused)
    }

    /// The place that the server calls so. Files longer than 4 GiB have places that servers count modulo 4 GiB: it is
    /// the first one that is not before what is known to be applied.
    pub(crate) fn place(&self, log: &dyn LogFiles, file: &str, offset: u64) -> Option<Place> {
        let file = log.files().iter().position(|f| f.name == file)?;
        let inner = lock(&self.0);
        let mut place = Place { file, offset };
        const WRAP: u64 = 1 << 32;
        while offset < WRAP && place < inner.applied && place.file == inner.applied.file {
            let next = Place {
                file,
                offset: place.offset + WRAP,
            };
            if next > inner.sent.place {
                break;
            }
            place = next;
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogFile;
    use std::io::{self, Read};

    struct Names(Vec<LogFile>);

    impl LogFiles for Names {
        fn files(&self) -> &[LogFile] {
            &self.0
        }

        fn open(&self, _: usize, _: u64) -> io::Result<Box<dyn Read + Send + '_>> {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn at(file: usize, offset: u64) -> Place {
        Place { file, offset }
    }

    #[test]
    fn places_beyond_4_gib_are_told_from_those_before() {
        let name = "binlog.000001".to_owned();
        let log = Names(vec![LogFile { name, length: None }]);
        let state = State::new(at(0, 4));
        let place = |offset| state.place(&log, "binlog.000001", offset);
        state.sent_event(at(0, (5 << 30) + 7));
        assert_eq!(place(100), Some(at(0, 100)));
        state.set_applied(at(0, (4 << 30) - 5));
        assert_eq!(place(100), Some(at(0, (4 << 30) + 100)));
        // Where nothing was sent, nothing can be.
        assert_eq!(place((1 << 30) + 8), Some(at(0, (1 << 30) + 8)));
        assert_eq!(state.place(&log, "other.000001", 100), None);
    }

    #[test]
    fn only_whole_transactions_count_as_ahead() {
        let state = State::new(at(1, 4));
        state.sent_event(at(1, 1000));
        assert_eq!(state.ahead(), 0);
        state.sent_transaction(at(1, 2000), &Transaction::default());
        state.file_ended(1, 2500);
        state.sent_event(at(2, 100));
        assert_eq!(state.ahead(), 2500 + 100 - 4);
        state.set_applied(at(1, 2000));
        assert_eq!(state.ahead(), 0);
        // The same transaction on a second connection is the same.
        state.sent_transaction(at(1, 2000), &Transaction::default());
        assert_eq!(state.sent().transactions, 1);
    }
}
