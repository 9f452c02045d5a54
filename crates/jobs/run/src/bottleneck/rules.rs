//! From figures to a verdict: where the workers' time went, which of it stands
//! out, and what would bring how much.
//!
//! The workers' time (workers times seconds) is cut into parts that never add
//! up to more than all of it. A gain is never promised beyond the part that it
//! takes away (Amdahl), nor beyond what the processors leave: a run that itself
//! keeps them busy for 80 % of its time cannot get shorter than that by waiting less.

use super::figures::{Figures, Job};
use super::suggestions;
use super::types::{CPU_SATURATED, Report, Share, WaitClass, percent, share_of};
use base::units::{bytes, seconds};

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
