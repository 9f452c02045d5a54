//! What a replay is asked to do, and what it returns. Data only.

use crate::log::{LogFiles, NamedPlace, Place};
use binlog::Transaction;
use binlog::gtid::Executed;
use instance::tune;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Most bytes that are sent and not applied, by default: what relay logs take on the target's disk, about.
pub const AHEAD: u64 = 256 << 20;

/// The target, and how it is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// The target; its account may administer replication.
    pub wire: wire::Options,
    /// Where the target reaches this host; `None` for the address from which this host reaches the target.
    pub listen: Option<Listen>,
    /// Workers of the applier; `None` for twice the cores.
    pub workers: Option<u32>,
    /// Most bytes that are sent and not applied.
    pub ahead: u64,
    /// Whether commits need not reach the disk while the log is replayed.
    pub tune: bool,
    /// The directory of the journal of settings that are changed.
    pub state: PathBuf,
}

impl Options {
    /// A target on this host, with the defaults.
    pub fn new(wire: wire::Options, state: PathBuf) -> Options {
        Options {
            wire,
            listen: None,
            workers: None,
            ahead: AHEAD,
            tune: false,
            state,
        }
    }
}

/// Where a target on another host connects to. The log crosses the network unencrypted.
#[derive(Clone, Copy, Debug)]
pub struct Listen {
    /// The address of this host, as the target reaches it; port 0 is a free one.
    pub address: SocketAddr,
    /// The target's address: the only one that is served.
    pub target: IpAddr,
}

/// The part of a log that is applied.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The log.
    pub log: &'a dyn LogFiles,
    /// Between two transactions: what is before is in the target's data.
    pub from: Place,
    /// Between two transactions: what is after is not applied.
    pub to: Place,
    /// Transactions that the target has in any case, and that are left out; needed where the log is of several servers.
    pub executed: Option<&'a Executed>,
}

/// What was done.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Where it began.
    pub from: NamedPlace,
    /// The end of the last transaction that was applied.
    pub to: NamedPlace,
    /// Bytes of the log between the two.
    pub bytes: u64,
    /// Transactions that were applied.
    pub transactions: u64,
    /// Transactions that were left out.
    pub skipped: u64,
    /// Seconds that the target was applying.
    pub seconds: f64,
    /// Workers of its applier.
    pub workers: u32,
    /// The last transaction that was applied.
    pub last: Option<Transaction>,
    /// The one that follows it, and is not applied; `None` where the log ends.
    pub next: Option<Transaction>,
    /// MySQL's `gtid_executed` or MariaDB's `gtid_slave_pos` of the target now.
    pub gtids: String,
    /// Settings that were changed and put back.
    pub settings: tune::Report,
}
