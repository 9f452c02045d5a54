//! The types that a verdict consists of, and the figures that both its rules and its suggestions use.

use super::figures::Figures;

/// Where a worker's time can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitClass {
    /// penstock's own work on rows and chunks.
    Client,
    /// Time in penstock without CPU use: the archive's disk.
    ArchiveDisk,
    /// The network to the archive, or the host at its other end.
    ArchiveLink,
    /// Waiting for a limit of the operator or of an impact budget.
    Limit,
    /// The server using CPU.
    ServerCpu,
    /// The server runnable, but no core free.
    CoreWait,
    /// Commits, until redo and binary log have them.
    Commit,
    /// Row locks.
    RowLocks,
    /// Metadata locks: another session uses or changes a table.
    MetadataLocks,
    /// The lock of a table's AUTO_INCREMENT.
    AutoInc,
    /// No room in the redo log.
    Redo,
    /// The server waiting for its disk.
    ServerDisk,
    /// The server waiting for something that it has no counter for.
    ServerWait,
    /// A server on another host, or the network to it.
    Remote,
    /// Workers that were done, while others were not.
    Stragglers,
    /// Workers without a task.
    Idle,
    /// Other programs on this host; never a share of the workers' time.
    Others,
}

impl WaitClass {
    /// Its name in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            WaitClass::Client => "client",
            WaitClass::ArchiveDisk => "archive_disk",
            WaitClass::ArchiveLink => "archive_link",
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
            WaitClass::ArchiveLink => "the link to the archive's place",
            WaitClass::Limit => "the configured limits",
            WaitClass::ServerCpu => "server CPU",
            WaitClass::CoreWait => "the server waiting for a core",
            WaitClass::Commit => "commits",
            WaitClass::RowLocks => "row locks",
            WaitClass::MetadataLocks => "metadata locks",
            WaitClass::AutoInc => "AUTO_INCREMENT locks",
            WaitClass::Redo => "a full redo log",
            WaitClass::ServerDisk => "the server's disk",
            WaitClass::ServerWait => "other waits in the server",
            WaitClass::Remote => "server or network",
            WaitClass::Stragglers => "waiting for the last worker",
            WaitClass::Idle => "no task",
            WaitClass::Others => "other programs",
        }
    }
}

/// A share of the workers' time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What the time was spent on.
    pub class: WaitClass,
    /// 0 to 1, of workers times seconds.
    pub share: f64,
}

/// A change that is likely to shorten the next run.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The option or setting, as it is typed.
    pub what: String,
    /// The figure that supports it.
    pub why: String,
    /// The largest possible gain in time of the rows, 0 to 1.
    pub gain: f64,
}

/// What a run waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Seconds measured.
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
    /// The bottleneck.
    pub dominant: WaitClass,
    /// The same in one sentence.
    pub sentence: String,
    /// Suggestions, at most two, the most promising first.
    pub suggestions: Vec<Suggestion>,
    /// What could not be measured.
    pub not_measured: Vec<String>,
}

/// From this share on the cores count as saturated: no program gets all of them.
pub(super) const CPU_SATURATED: f64 = 0.85;

impl Figures {
    /// Cores times seconds.
    pub(super) fn core_seconds(&self) -> f64 {
        (self.cores.max(1) as f64 * self.wall).max(1e-9)
    }

    /// Workers times seconds.
    pub(super) fn worker_seconds(&self) -> f64 {
        (self.workers.max(1) as f64 * self.wall).max(1e-9)
    }

    /// Share of the cores' time that was used by any program, as far as it is known.
    pub(super) fn cpu_used(&self) -> f64 {
        let known = self.own_cpu + self.server_cpu.unwrap_or(0.0);
        (self.host_busy.unwrap_or(known).max(known) / self.core_seconds()).clamp(0.0, 1.0)
    }

    /// Share of the cores' time that the run itself used, and would need again.
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
