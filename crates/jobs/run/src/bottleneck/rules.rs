//! From figures to a report: where the workers' time went, which class dominates, and what would help
//! how much.
//!
//! The workers' time (workers times seconds) is divided into shares that never add up to more than all
//! of it. A gain is never promised beyond the share that it removes (Amdahl's law), nor beyond what the
//! cores leave: a run that itself keeps them busy for 80 % of its time cannot get shorter than that by
//! waiting less.

use super::figures::{Figures, Job};
use super::suggestions;
use super::types::{CPU_SATURATED, Report, Share, WaitClass, percent, share_of};
use base::units::{bytes, seconds};

/// Divides the workers' time into shares.
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
    // Time in penstock without CPU use, although cores were free, counts as waiting for the disk.
    // The wait for the network to an archive is measured, not concluded; the rate limit of writes is in it.
    let disk = match f.link {
        Some(link) => (link + f.limited_disk).clamp(0.0, own),
        None if full => 0.0,
        None => (own - f.own_cpu).clamp(0.0, own),
    };
    // The threads that write may wait while their worker does not: at most what counts as waiting for
    // the disk.
    let limited_disk = f.limited_disk.clamp(0.0, disk);
    parts.push((WaitClass::Limit, limited + limited_disk));
    let archive = match f.link {
        Some(_) => WaitClass::ArchiveLink,
        None => WaitClass::ArchiveDisk,
    };
    parts.push((archive, disk - limited_disk));
    parts.push((WaitClass::Client, own - disk));
    let mut rest = waited;
    let mut take = |class, seconds: f64| {
        let seconds = seconds.clamp(0.0, rest);
        rest -= seconds;
        parts.push((class, seconds));
        rest
    };
    take(WaitClass::Commit, f.commit);
    let traffic = f.traffic.unwrap_or_default();
    take(WaitClass::RowLocks, traffic.row_locks);
    take(WaitClass::MetadataLocks, f.metadata_wait.unwrap_or(0.0));
    let after = take(WaitClass::AutoInc, f.auto_inc_wait.unwrap_or(0.0));
    let redo = f.redo.map_or(0.0, |r| r.full_share);
    // If the server's connection threads cannot be seen, the whole server is counted instead, and with
    // all cores in use the rest of the time counts as waiting for one.
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

/// Whether a figure says that disks were slow: idle cores that wait for one, the kernel's pressure
/// figures, or the server's counters.
fn disk_was_waited_for(f: &Figures) -> bool {
    f.iowait.is_some_and(|s| s > 0.1 * f.core_seconds())
        || f.pressure.is_some_and(|s| s > 0.25 * f.wall)
        || f.files.values().sum::<f64>() > 0.25 * f.wall
        || f.traffic.is_some_and(|t| t.wait_free > 0)
}

/// Evaluates the figures of a run.
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

/// The dominant class: the largest CPU user if the cores are saturated, else the largest share.
fn dominant(f: &Figures, shares: &[Share], others: f64) -> WaitClass {
    // The last worker is busy itself, so at most all others wait for it.
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
                format!("client CPU: {time} went into decoding and compressing rows")
            }
            _ => format!("client CPU: {time} went into reading and decompressing chunks"),
        },
        WaitClass::ArchiveDisk => format!("the archive's disk: {time}"),
        WaitClass::ArchiveLink => {
            format!("the link to the archive's place, or the host there: {time} was waiting for it")
        }
        WaitClass::Limit => format!("the configured limits: {time}"),
        WaitClass::ServerCpu => format!("server CPU: {time}"),
        WaitClass::CoreWait => format!("too few cores: the server waited for one for {time}"),
        WaitClass::Commit => format!("commits (redo and binary log writes): {time}"),
        WaitClass::RowLocks => format!("row locks: {time}"),
        WaitClass::MetadataLocks => {
            format!("metadata locks of tables that another session uses: {time}")
        }
        WaitClass::AutoInc => format!("AUTO_INCREMENT locks: {time}"),
        WaitClass::Redo => {
            let redo = f.redo.unwrap_or_default();
            format!(
                "a full redo log: {time}; up to {} of {} not yet flushed to data files",
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
                "the last worker, on {table}: alone for {} ({time} spent waiting for it)",
                seconds(*alone)
            ),
            None => format!("the last worker: {time} spent waiting for it"),
        },
        WaitClass::Idle => format!("workers without a task: {time}"),
        WaitClass::Others => "other programs on this host".to_owned(),
    };
    format!("{what}; {cores}")
}
