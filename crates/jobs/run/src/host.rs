//! What this host knows about the two processes: CPU time of penstock, of a server that runs here, of
//! all processes together, and waits for disks.
//!
//! All of it is read from `/proc`, which costs microseconds and needs no privilege. What is not
//! available (another system, a container, a server on another host) is `None`, never zero.

use server::Identity;
use std::path::{Path, PathBuf};
use wire::{Conn, Endpoint};

/// Totals of the whole host since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Host {
    /// Core-seconds busy.
    pub busy: f64,
    /// Core-seconds idle while a process waited for a disk.
    pub iowait: f64,
    /// Seconds in which at least one task waited for a disk, where the kernel counts them (pressure
    /// stall information).
    pub pressure: Option<f64>,
}

/// Totals of the host's disks since it started, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disks {
    /// Read from them.
    pub read: u64,
    /// Written to them.
    pub written: u64,
}

/// Totals of all disks.
pub fn disks() -> Option<Disks> {
    let text = std::fs::read_to_string("/proc/diskstats").ok()?;
    parse_disks(&text, |name| {
        // Whole devices only, and none that is layered on another device.
        !["loop", "ram", "dm-", "md", "zram"]
            .iter()
            .any(|p| name.starts_with(p))
            && Path::new("/sys/block").join(name).exists()
    })
}

fn parse_disks(text: &str, whole: impl Fn(&str) -> bool) -> Option<Disks> {
    /// Sectors of this file have this many bytes, whatever the disk's are.
    const SECTOR: u64 = 512;
    let mut found = None;
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace().skip(2);
        let (Some(name), Some(read), Some(written)) = (fields.next(), fields.nth(2), fields.nth(3))
        else {
            continue;
        };
        let (Ok(read), Ok(written)) = (read.parse::<u64>(), written.parse::<u64>()) else {
            continue;
        };
        if !name.contains(['/', '.']) && whole(name) {
            let all: &mut Disks = found.get_or_insert_default();
            all.read = all.read.wrapping_add(read.wrapping_mul(SECTOR));
            all.written = all.written.wrapping_add(written.wrapping_mul(SECTOR));
        }
    }
    found
}

/// CPU seconds of this process.
pub fn own_cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Whether this process may use all cores of the host; only then do the host's figures and ours measure
/// the same thing.
fn may_use_all_cores(stat: &str) -> bool {
    let all = stat
        .lines()
        .filter(|l| l.starts_with("cpu") && !l.starts_with("cpu "))
        .count();
    all == cores()
}

/// Totals of the host.
pub fn host() -> Option<Host> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    if !may_use_all_cores(&stat) {
        return None;
    }
    let mut host = parse_stat(&stat)?;
    host.pressure = std::fs::read_to_string("/proc/pressure/io")
        .ok()
        .and_then(|text| parse_pressure(&text));
    Some(host)
}

fn parse_stat(text: &str) -> Option<Host> {
    let line = text.lines().find(|l| l.starts_with("cpu "))?;
    // user nice system idle iowait irq softirq steal; guest time is part of user's.
    let n: Vec<f64> = line
        .split_ascii_whitespace()
        .skip(1)
        .take(8)
        .map_while(|v| v.parse().ok())
        .collect();
    let tick = tick();
    Some(Host {
        busy: (n.iter().sum::<f64>() - n.get(3)? - n.get(4)?) / tick,
        iowait: n[4] / tick,
        pressure: None,
    })
}

fn parse_pressure(text: &str) -> Option<f64> {
    let some = text.lines().find(|l| l.starts_with("some "))?;
    let total = some.split("total=").nth(1)?.trim();
    Some(total.parse::<f64>().ok()? / 1e6)
}

fn tick() -> f64 {
    rustix::param::clock_ticks_per_second().max(1) as f64
}

/// Whether a server runs on this host, as far as its name says.
pub fn is_this_one(endpoint: &Endpoint, id: &Identity) -> bool {
    match endpoint {
        Endpoint::Unix(_) => true,
        Endpoint::Tcp(..) => {
            let here = rustix::system::uname();
            here.nodename().to_string_lossy() == id.hostname.as_str()
        }
    }
}

/// A server process on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// The server at the other end of a connection, if it runs on this host and is a server: CPU time
    /// of a proxy or another program would mislead.
    pub fn of(conn: &Conn, endpoint: &Endpoint, id: &Identity) -> Option<Process> {
        Process::found(conn, endpoint, id).ok()
    }

    /// The same, or why it is not known.
    pub fn found(conn: &Conn, endpoint: &Endpoint, id: &Identity) -> Result<Process, String> {
        let found = match endpoint {
            Endpoint::Unix(_) => Process(
                conn.peer_process()
                    .ok_or("the kernel does not say which process is behind its socket")?,
            ),
            Endpoint::Tcp(..) => {
                if !is_this_one(endpoint, id) {
                    return Err(format!("its host says that it is {}", id.hostname));
                }
                let file = id.variable("pid_file");
                let file = PathBuf::from(file.ok_or("it has no process id file")?);
                let file = if file.is_relative() {
                    Path::new(&id.datadir).join(file)
                } else {
                    file
                };
                let text = std::fs::read_to_string(&file).map_err(|e| {
                    format!(
                        "its process id file {} cannot be read ({e}); over its socket none is needed",
                        file.display()
                    )
                })?;
                let id = text.trim().parse();
                Process(id.map_err(|_| format!("{} holds no process id", file.display()))?)
            }
        };
        let none = |_| format!("there is no process {} here", found.0);
        let command = std::fs::read(format!("/proc/{}/cmdline", found.0)).map_err(none)?;
        let command = String::from_utf8_lossy(&command);
        match ["mysqld", "mariadbd"].iter().any(|n| command.contains(n)) {
            true => Ok(found),
            false => Err(format!("process {} is no mysqld or mariadbd", found.0)),
        }
    }

    /// The process of this number, which is known to be a server.
    pub fn numbered(id: u32) -> Process {
        Process(id)
    }

    /// Its process id.
    pub fn id(self) -> u32 {
        self.0
    }

    /// Whether this account may see which mounts it has.
    pub fn shows_mounts(self) -> bool {
        std::fs::read_link(format!("/proc/{}/ns/mnt", self.0)).is_ok()
    }

    /// A path as it sees it: services and containers may have mounts of their own. The path itself where they are ours.
    pub fn sees(self, path: &Path) -> PathBuf {
        let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        match (of("self"), of(&self.0.to_string())) {
            (Some(own), Some(its)) if own != its => {
                let below = path.strip_prefix("/").unwrap_or(path);
                let root = format!("/proc/{}/root", self.0);
                Path::new(&root).join(below)
            }
            _ => path.to_owned(),
        }
    }

    /// Its CPU seconds so far.
    pub fn cpu(self) -> Option<f64> {
        parse_process(&std::fs::read_to_string(format!("/proc/{}/stat", self.0)).ok()?)
    }
}

/// CPU time of one thread, and the time that it waited for a core, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thread {
    /// Running.
    pub cpu: f64,
    /// Runnable, but no core was free.
    pub delay: f64,
}

impl Process {
    /// Ids of its threads that serve connections, where they carry that name (MySQL 8 and later).
    pub fn connection_threads(self) -> Vec<u64> {
        let directory = format!("/proc/{}/task", self.0);
        let Ok(list) = std::fs::read_dir(directory) else {
            return Vec::new();
        };
        list.flatten()
            .filter(|t| {
                std::fs::read_to_string(t.path().join("comm"))
                    .is_ok_and(|n| n.trim_end() == "connection")
            })
            .filter_map(|t| t.file_name().to_str()?.parse().ok())
            .collect()
    }

    /// Totals of one of its threads.
    pub fn thread(self, number: u64) -> Option<Thread> {
        let path = format!("/proc/{}/task/{number}/schedstat", self.0);
        parse_thread(&std::fs::read_to_string(path).ok()?)
    }
}

fn parse_thread(text: &str) -> Option<Thread> {
    // Nanoseconds running, nanoseconds waiting, time slices.
    let mut n = text.split_ascii_whitespace();
    let cpu: f64 = n.next()?.parse().ok()?;
    let delay: f64 = n.next()?.parse().ok()?;
    Some(Thread {
        cpu: cpu / 1e9,
        delay: delay / 1e9,
    })
}

fn parse_process(stat: &str) -> Option<f64> {
    // The name in parentheses may contain anything, including blanks and parentheses.
    let rest = &stat[stat.rfind(')')? + 1..];
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / tick())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_parsed() {
        let tick = tick();
        let h = parse_stat("cpu  100 10 50 1000 40 5 5 0 0 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!((h.busy * tick, h.iowait * tick), (170.0, 40.0));
        let text = "some avg10=1.0 avg60=0 avg300=0 total=2500000\nfull avg10=0 total=1\n";
        assert_eq!(parse_pressure(text), Some(2.5));
        let line = "12 (my) sq(ld) S 1 1 1 0 -1 4194560 1 0 0 0 300 200 0 0 20 0 5 0 1";
        assert_eq!(parse_process(line).map(|s| s * tick), Some(500.0));
    }

    #[test]
    fn disks_are_summed_without_their_partitions() {
        let text = "   8 0 sda 10 0 100 5 20 0 200 5 0 0 0\n   8 1 sda1 9 0 90 5 19 0 190 5 0 0 0\n 259 0 nvme0n1 1 0 10 0 2 0 20 0 0 0 0\nodd\n";
        let found = parse_disks(text, |n| n != "sda1").unwrap();
        assert_eq!((found.read, found.written), (110 * 512, 220 * 512));
        assert_eq!(parse_disks(text, |_| false), None);
        assert_eq!(parse_disks("", |_| true), None);
    }

    #[test]
    fn malformed_files_give_none() {
        assert_eq!(parse_stat(""), None);
        assert_eq!(parse_stat("cpu  a b"), None);
        assert_eq!(parse_pressure("full total=3"), None);
        assert_eq!(parse_process("1 (x"), None);
        assert_eq!(parse_process("1 (x) S 1"), None);
        assert_eq!(parse_thread("5000000000"), None);
        let t = parse_thread("5000000000 1000000000 7\n").unwrap();
        assert_eq!((t.cpu, t.delay), (5.0, 1.0));
        assert!(own_cpu() > 0.0 && cores() > 0);
    }
}
