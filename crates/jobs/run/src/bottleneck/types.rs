//! The types that a verdict consists of, and the figures that both its rules and its suggestions use.

use super::figures::Figures;

/// Where a worker's time can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitClass {
    /// penstock's own work on rows and chunks.
    Client,
    /// Beyond that, in penstock: the archive's disk.
    ArchiveDisk,
    /// What the operator, or a budget, allowed.
    Limit,
    /// The server at work.
    ServerCpu,
    /// The server ready to work, and no core free.
    CoreWait,
    /// Commits on their way to redo and binary log.
    Commit,
    /// Row locks.
    RowLocks,
    /// Metadata locks: somebody else uses, or changes, a table.
    MetadataLocks,
    /// The turn at a table's AUTO_INCREMENT.
    AutoInc,
    /// No room in the redo log.
    Redo,
    /// The server waiting for its disk.
    ServerDisk,
    /// The server waiting for something that it does not count.
    ServerWait,
    /// A server on another host, or the network to it.
    Remote,
    /// Workers through, while others were not.
    Stragglers,
    /// Workers without a piece of work.
    Idle,
    /// Other programs on this host; never a part of the workers' time.
    Others,
}

impl WaitClass {
    /// Its name in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            WaitClass::Client => "client",
            WaitClass::ArchiveDisk => "archive_disk",
            WaitClass::Limit => "limit",
            WaitClass::ServerCpu => "server_cpu",
            WaitClass::CoreWait => "core_wait",
            WaitClass::Commit => "commit",
            WaitClass::RowLocks => "row_locks",
            WaitClass::MetadataLocks => "metadata_locks",
            WaitClass::AutoInc => "auto_inc",
            WaitClass::Redo => "redo",
            WaitClass::ServerDisk => "server_disk",
            WaitClass::ServerWait => "server_wait",
            WaitClass::Remote => "server_or_network",
            WaitClass::Stragglers => "stragglers",
            WaitClass::Idle => "idle",
            WaitClass::Others => "other_programs",
        }
    }

    /// Its name for people.
    pub fn words(self) -> &'static str {
        match self {
            WaitClass::Client => "penstock's own work",
            WaitClass::ArchiveDisk => "the archive's disk",
            WaitClass::Limit => "the limits that it was given",
            WaitClass::ServerCpu => "the server at work",
            WaitClass::CoreWait => "the server waiting for a core",
            WaitClass::Commit => "commits",
            WaitClass::RowLocks => "row locks",
            WaitClass::MetadataLocks => "metadata locks",
            WaitClass::AutoInc => "turns at AUTO_INCREMENT",
            WaitClass::Redo => "a full redo log",
            WaitClass::ServerDisk => "the server's disk",
            WaitClass::ServerWait => "other waits in the server",
            WaitClass::Remote => "server or network",
            WaitClass::Stragglers => "waiting for the last worker",
            WaitClass::Idle => "no work at hand",
            WaitClass::Others => "other programs",
        }
    }
}

/// A part of the workers' time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What it went into.
    pub class: WaitClass,
    /// 0 to 1, of workers times seconds.
    pub share: f64,
}

/// Something to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The option or setting, as it is written.
    pub what: String,
    /// The figure that speaks for it.
    pub why: String,
    /// The most it can shorten the rows by, 0 to 1.
    pub gain: f64,
}

/// What held a run back.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Seconds looked at.
    pub seconds: f64,
    /// Cores of the client's host.
    pub cores: usize,
    /// Share of the cores' time: penstock.
    pub client_cpu: f64,
    /// The server, if it runs on this host.
    pub server_cpu: Option<f64>,
    /// Everything else on this host.
    pub other_cpu: Option<f64>,
    /// The workers' time, the largest part first.
    pub shares: Vec<Share>,
    /// What stands out most.
    pub dominant: WaitClass,
    /// The same in one sentence.
    pub sentence: String,
    /// What to try next, at most two, the most promising first.
    pub suggestions: Vec<Suggestion>,
    /// What could not be seen.
    pub not_measured: Vec<String>,
}

/// Processors count as used up from this share on: nobody gets all of them.
pub(super) const CPU_SATURATED: f64 = 0.85;

impl Figures {
    /// All the time that cores had.
    pub(super) fn core_seconds(&self) -> f64 {
        (self.cores.max(1) as f64 * self.wall).max(1e-9)
    }

    /// All the time that workers had.
    pub(super) fn worker_seconds(&self) -> f64 {
        (self.workers.max(1) as f64 * self.wall).max(1e-9)
    }

    /// Share of the cores that was in use by anybody, as far as that is known.
    pub(super) fn cpu_used(&self) -> f64 {
        let known = self.own_cpu + self.server_cpu.unwrap_or(0.0);
        (self.host_busy.unwrap_or(known).max(known) / self.core_seconds()).clamp(0.0, 1.0)
    }

    /// Share of the cores that the run itself had, and would need again.
    pub(super) fn cpu_used_by_run(&self) -> f64 {
        let known = self.own_cpu + self.server_cpu.unwrap_or(0.0);
        (known / self.core_seconds()).clamp(0.0, 1.0)
    }
}

/// The share of one class.
pub(super) fn share_of(shares: &[Share], cause: WaitClass) -> f64 {
    shares
        .iter()
        .find(|s| s.class == cause)
        .map_or(0.0, |s| s.share)
}

/// A share for people: `45 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
