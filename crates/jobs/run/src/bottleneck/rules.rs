//! From figures to a verdict: where the workers' time went, which of it stands
//! out, and what would bring how much.
//!
//! The workers' time (workers times seconds) is cut into parts that never add
//! up to more than all of it. A gain is never promised beyond the part that it
//! takes away (Amdahl), nor beyond what the processors leave: a run that itself
//! keeps them busy for 80 % of its time cannot get shorter than that by waiting less.

use super::figures::{Figures, Job};
use super::suggestions;
use base::units::{bytes, seconds};

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

/// Cuts the workers' time into its parts.
fn shares(f: &Figures) -> Vec<Share> {
    let all = f.worker_seconds();
    let tail = f.straggler_wait.clamp(0.0, all);
    let busy = f.busy.clamp(0.0, all - tail);
    let waited = f.waited.clamp(0.0, busy);
    let limited = f.limited.clamp(0.0, busy - waited);
    let own = busy - waited - limited;
    let full = f.cpu_used() >= CPU_SATURATED;
    let mut parts = vec![
        (WaitClass::Stragglers, tail),
        (WaitClass::Idle, all - tail - busy),
    ];
    // Time in penstock that no core was used for, although there were some, is the disk's.
    let disk = if full {
        0.0
    } else {
        (own - f.own_cpu).clamp(0.0, own)
    };
    // The threads that write may wait while their worker does not: no more than what looks like the disk's.
    let limited_disk = f.limited_disk.clamp(0.0, disk);
    parts.push((WaitClass::Limit, limited + limited_disk));
    parts.push((WaitClass::ArchiveDisk, disk - limited_disk));
    parts.push((WaitClass::Client, own - disk));
    let mut rest = waited;
    let mut take = |cause, much: f64| {
        let much = much.clamp(0.0, rest);
        rest -= much;
        parts.push((cause, much));
        rest
    };
    take(WaitClass::Commit, f.commit);
    let traffic = f.traffic.unwrap_or_default();
    take(WaitClass::RowLocks, traffic.row_locks);
    take(WaitClass::MetadataLocks, f.metadata_wait.unwrap_or(0.0));
    let after = take(WaitClass::AutoInc, f.auto_inc_wait.unwrap_or(0.0));
    let redo = f.redo.map_or(0.0, |r| r.full_share);
    // Where its threads are not seen, all of the server has to stand for them, and
    // with all cores in use what does not run there waits for one.
    let served = f.connection_threads.or(f.server_cpu.map(|cpu| {
        let wait = if full { f64::INFINITY } else { 0.0 };
        (cpu, wait)
    }));
    match served {
        Some((cpu, delay)) => {
            take(WaitClass::ServerCpu, cpu);
            let blocked = take(WaitClass::CoreWait, delay);
            take(WaitClass::Redo, blocked * redo);
            if disk_was_waited_for(f) {
                take(WaitClass::ServerDisk, f64::INFINITY);
            }
            take(WaitClass::ServerWait, f64::INFINITY);
        }
        None => {
            take(WaitClass::Redo, after * redo);
            take(WaitClass::Remote, f64::INFINITY);
        }
    }
    let mut shares: Vec<Share> = parts
        .into_iter()
        .map(|(cause, s)| Share {
            class: cause,
            share: s / all,
        })
        .filter(|s| s.share > 0.0)
        .collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.class.cmp(&b.class)));
    shares
}

/// Whether anything says that disks were slow: idle cores that wait for one,
/// the kernel's own account, or the server's.
fn disk_was_waited_for(f: &Figures) -> bool {
    f.iowait.is_some_and(|s| s > 0.1 * f.core_seconds())
        || f.pressure.is_some_and(|s| s > 0.25 * f.wall)
        || f.files.values().sum::<f64>() > 0.25 * f.wall
        || f.traffic.is_some_and(|t| t.wait_free > 0)
}

/// The verdict.
pub fn evaluate(f: &Figures) -> Report {
    let shares = shares(f);
    let part = |s: f64| s / f.core_seconds();
    let server_cpu = f.server_cpu.map(part);
    let other_cpu = f
        .host_busy
        .filter(|_| f.same_host)
        .map(|all| part((all - f.own_cpu - f.server_cpu.unwrap_or(0.0)).max(0.0)));
    let others = other_cpu.unwrap_or(0.0);
    let dominant = dominant(f, &shares, others);
    Report {
        seconds: f.wall,
        cores: f.cores,
        client_cpu: part(f.own_cpu).clamp(0.0, 1.0),
        server_cpu,
        other_cpu,
        dominant,
        sentence: sentence(f, &shares, dominant, others),
        suggestions: suggestions::suggestions(f, &shares),
        shares,
        not_measured: f.not_measured.clone(),
    }
}

fn share_of(shares: &[Share], cause: WaitClass) -> f64 {
    shares
        .iter()
        .find(|s| s.class == cause)
        .map_or(0.0, |s| s.share)
}

/// What stands out: who is at work where no core is left, else the largest part.
fn dominant(f: &Figures, shares: &[Share], others: f64) -> WaitClass {
    // The last worker is at work itself, so at most all the others wait for it.
    let all = f.workers.max(2) as f64;
    let tail = share_of(shares, WaitClass::Stragglers) * all / (all - 1.0);
    let work = [WaitClass::Client, WaitClass::ServerCpu, WaitClass::CoreWait];
    let work: f64 = work.iter().map(|c| share_of(shares, *c)).sum();
    if f.cpu_used() >= CPU_SATURATED && tail < 0.5 && work >= 0.5 {
        let part = |s: f64| s / f.core_seconds();
        let (own, server) = (part(f.own_cpu), part(f.server_cpu.unwrap_or(0.0)));
        return match (own, server) {
            _ if others > own && others > server => WaitClass::Others,
            _ if server > own => WaitClass::ServerCpu,
            _ => WaitClass::Client,
        };
    }
    match shares.iter().find(|s| s.class != WaitClass::Stragglers) {
        Some(s) if s.share >= tail => s.class,
        None if tail <= 0.0 => WaitClass::Idle,
        _ => WaitClass::Stragglers,
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn sentence(f: &Figures, shares: &[Share], dominant: WaitClass, others: f64) -> String {
    let part = |s: f64| s / f.core_seconds();
    let (own, server) = (part(f.own_cpu), part(f.server_cpu.unwrap_or(0.0)));
    let cores = match f.cores {
        1 => "the core was".to_owned(),
        n => format!("the {n} cores were"),
    };
    let cores = format!("{cores} {} busy", percent(f.cpu_used()));
    let work = [WaitClass::Client, WaitClass::ServerCpu, WaitClass::Others];
    if f.cpu_used() >= CPU_SATURATED && work.contains(&dominant) {
        let who = match dominant {
            WaitClass::Others => "other programs on this host",
            WaitClass::ServerCpu => "server CPU",
            _ => "client CPU",
        };
        let mut parts = vec![format!("penstock {}", percent(own))];
        if f.server_cpu.is_some() {
            let at = usize::from(own > server);
            parts.insert(at, format!("server {}", percent(server)));
        }
        if others >= 0.05 {
            parts.push(format!("other programs {}", percent(others)));
        }
        return format!("{who}: {cores} ({})", parts.join(", "));
    }
    let time = format!(
        "{} of the workers' time",
        percent(share_of(shares, dominant))
    );
    let what = match dominant {
        WaitClass::Client => match f.job {
            Some(Job::Dump { .. }) => {
                format!("client CPU: {time} went into taking rows apart and compressing them")
            }
            _ => format!("client CPU: {time} went into reading and unpacking chunks"),
        },
        WaitClass::ArchiveDisk => format!("the archive's disk: {time}"),
        WaitClass::Limit => format!("the limits that it was given: {time}"),
        WaitClass::ServerCpu => format!("server CPU: {time}"),
        WaitClass::CoreWait => format!("too few cores: the server waited for one during {time}"),
        WaitClass::Commit => format!("commits: {time} passed until redo and binary log had them"),
        WaitClass::RowLocks => format!("row locks: {time}"),
        WaitClass::MetadataLocks => {
            format!("metadata locks, of tables that another session uses: {time}")
        }
        WaitClass::AutoInc => format!("turns at an AUTO_INCREMENT: {time}"),
        WaitClass::Redo => {
            let redo = f.redo.unwrap_or_default();
            format!(
                "a full redo log: {time}; up to {} of {} were not yet in data files",
                bytes(redo.age),
                bytes(redo.max_age)
            )
        }
        WaitClass::ServerDisk => format!("the server's disk: {time}"),
        WaitClass::ServerWait => {
            format!("waits inside the server (pages, latches, log writes): {time}")
        }
        WaitClass::Remote => format!("the server or the network to it: {time}"),
        WaitClass::Stragglers => match &f.last_worker {
            Some((alone, table)) => format!(
                "the last worker, on {table}: alone for {} ({time} waited for others)",
                seconds(*alone)
            ),
            None => format!("the last worker: {time} waited for others"),
        },
        WaitClass::Idle => format!("too little to do at a time: {time}"),
        WaitClass::Others => "other programs on this host".to_owned(),
    };
    format!("{what}; {cores}")
}
