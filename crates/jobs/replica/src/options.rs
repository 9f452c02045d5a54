//! What to make.

use base::Secret;
use copy::servers;
use std::path::PathBuf;
use std::time::Duration;

/// Where the new server finds its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Host, as the new server resolves it.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// An account of the source that may replicate.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub user: String,
    /// Its password.
    pub password: Secret,
}

/// What the new server's memory is filled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hot {
    /// What is hot on the source now, whose files are on this host.
    OfSource,
    /// What a file of `penstock warm save` says.
    File(PathBuf),
}

/// What to make.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server to follow.
    pub source: wire::Options,
    /// How the data is copied: from the source, or from a replica of it. Its one target is the new server.
    pub copy: servers::Options,
    /// The data comes from the archive that the one load of `copy` names, and the source is not copied.
    pub from_archive: bool,
    /// How that archive is made first, if it is only in between: it is removed at the end.
    pub via: Option<dump::Options>,
    /// Where the new server finds its source; `None`: as penstock does.
    pub address: Option<Address>,
    /// The account for replication; `None`: one is made.
    pub account: Option<Account>,
    /// From which hosts that account may come.
    pub account_host: String,
    /// Name of the channel or connection; empty for the unnamed one.
    pub channel: String,
    /// Longest wait until the new server has caught up.
    pub catch_up: Duration,
    /// How far behind it may be to count as caught up.
    pub behind: Duration,
    /// Compare both sides at the end.
    pub verify: bool,
    /// Fill the new server's memory at the end.
    pub warm: Option<Hot>,
    /// The new server may be open for the writes of others.
    pub allow_writable: bool,
    /// Go on with what an earlier run has begun.
    pub resume: bool,
    /// Directory of the record of what was made.
    pub state: PathBuf,
}
