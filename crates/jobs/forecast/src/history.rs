//! What earlier runs of this host took: one file in the state directory, one line of JSON for each run, for each speed of
//! the processor that was measured, and for each disk.
//!
//! Invariants: the file is bounded ([`MOST_BYTES`]); a line is written whole, under a lock, so that runs that end at the
//! same time keep theirs; a line that cannot be read (cut, damaged, of another version) is passed over. Whatever fails
//! here is returned in words, and fails no job.

use crate::cpu;
use crate::make::Basis;
use crate::stage::Stage;
use crate::work::{Work, hashed};
use run::file_system::FileSystem;
use run::state::{self, Opened, StateDir};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Its directory in the state directory, for what is kept of runs that have ended.
const DIRECTORY: &str = "forecast";

/// Its name there.
const FILE: &str = "history.jsonl";

/// At this size the older half of the file is dropped.
const MOST_BYTES: u64 = 256 << 10;

/// How long a line waits for other runs that write theirs.
const WAIT: Duration = Duration::from_secs(2);

/// Runs of one kind that a forecast looks at, the newest first.
pub const MOST_RUNS: usize = 20;

/// A run that teaches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ran {
    /// What it had to do.
    pub work: Work,
    /// Seconds of all of it.
    pub seconds: f64,
    /// Seconds of its stages.
    pub stages: BTreeMap<Stage, f64>,
    /// Bytes of the archive that it wrote.
    pub written: u64,
    /// What was forecast when it began.
    pub forecast: Option<Earlier>,
}

/// A forecast, as it is kept with the run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Earlier {
    /// Seconds.
    pub seconds: f64,
    /// Least and most.
    pub low: f64,
    /// See [`Earlier::low`].
    pub high: f64,
    /// Earlier runs that it was based on.
    pub runs: usize,
}

/// A disk, as `penstock bench disk` measured it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// The number of the device, which another one may have after a restart.
    pub device: u64,
    /// A hash of its file system, by which it is known then.
    pub file_system: String,
    /// Bytes per second that are written one after the other.
    pub write: f64,
    /// Bytes per second that are read so.
    pub read: f64,
}

impl Disk {
    /// What was measured on this file system: bytes per second.
    pub fn of(on: &FileSystem, write: f64, read: f64) -> Disk {
        Disk {
            device: on.device,
            file_system: hashed(&format!("{} {}", on.kind, on.source)),
            write,
            read,
        }
    }

    /// Whether a disk can be like this: 1 kB to 1 TB a second.
    fn can_be(&self) -> bool {
        [self.write, self.read]
            .iter()
            .all(|rate| (1e3..1e12).contains(rate))
    }
}

/// Longer runs than this teach nothing: a month.
const LONGEST: f64 = 31.0 * 86400.0;

/// More of anything than any server has.
const MOST: u64 = 1 << 60;

impl Ran {
    /// Whether a run can have been like this: another program, or a damaged disk, may have written the line.
    fn can_be(&self) -> bool {
        let time = |s: f64| (0.0..=LONGEST).contains(&s);
        let (w, all) = (&self.work, self.work.all());
        let amounts = [
            w.rows.bytes,
            w.tablespaces.bytes,
            w.stored,
            w.alone,
            self.written,
        ];
        let counts = [
            w.tables, w.objects, all.rows, all.tables, w.workers, w.cores,
        ];
        let forecast = self
            .forecast
            .is_none_or(|f| time(f.seconds) && f.seconds > 0.0);
        time(self.seconds)
            && self.seconds > 0.0
            && self.stages.values().all(|s| time(*s))
            && amounts.iter().chain(&counts).all(|n| *n < MOST)
            && forecast
    }
}

/// What a line is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum About {
    Run(Box<Ran>),
    Speed(f64),
    Disk(Disk),
}

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    /// Seconds since 1970.
    at: u64,
    /// A hash of the host's name: a home directory may be shared.
    host: String,
    /// A program without optimisation is another one.
    build: String,
    version: String,
    #[serde(flatten)]
    about: About,
}

/// See the module.
#[derive(Debug, Default)]
pub struct History {
    directory: Option<PathBuf>,
    host: String,
    runs: Vec<Ran>,
    speed: Option<f64>,
    disks: Vec<Disk>,
}

impl History {
    /// What is kept in this state directory; `None`: nothing is, and nothing will be.
    pub fn open(state: Option<&Path>) -> History {
        let name = rustix::system::uname();
        let mut history = History {
            directory: state.map(|d| d.join(DIRECTORY)),
            host: hashed(&name.nodename().to_string_lossy()),
            ..History::default()
        };
        let file = history.directory.as_ref().map(|d| d.join(FILE));
        let text = file.map(|f| read(&f)).unwrap_or_default();
        for line in String::from_utf8_lossy(&text).lines() {
            let Ok(line) = serde_json::from_str::<Line>(line) else {
                continue;
            };
            // A disk is the same for every build of the program.
            let of_build = matches!(line.about, About::Disk(_)) || line.build == build();
            if line.host == history.host && of_build {
                history.add(line.about);
            }
        }
        history
    }

    fn add(&mut self, about: About) {
        match about {
            About::Run(ran) if ran.can_be() => self.runs.push(*ran),
            About::Speed(speed) => self.speed = Some(speed).filter(|s| (0.01..100.0).contains(s)),
            About::Disk(disk) if disk.can_be() => {
                self.disks
                    .retain(|d| (d.device, &d.file_system) != (disk.device, &disk.file_system));
                self.disks.push(disk);
            }
            About::Run(_) | About::Disk(_) => {}
        }
    }

    /// The runs, the oldest first.
    pub fn runs(&self) -> &[Ran] {
        &self.runs
    }

    /// What is known of the disk that a directory is on, or would be on.
    pub fn disk(&self, directory: &Path) -> Option<Disk> {
        let path = std::path::absolute(directory).ok()?;
        let mut above = path.ancestors();
        let on = above.find_map(|p| FileSystem::at(p).ok())?;
        let known = Disk::of(&on, 0.0, 0.0);
        let same = |d: &&Disk| (d.device, &d.file_system) == (known.device, &known.file_system);
        self.disks.iter().find(same).cloned()
    }

    /// How fast this processor is, as a multiple of the one of the built-in rates; measured once.
    pub fn speed(&mut self) -> f64 {
        match self.speed {
            Some(speed) => speed,
            None => {
                let speed = cpu::speed();
                self.speed = Some(speed);
                let _ = self.append(About::Speed(speed));
                speed
            }
        }
    }

    /// Keeps what a disk can do.
    pub fn keep_disk(&mut self, disk: Disk) -> Result<(), String> {
        self.add(About::Disk(disk.clone()));
        self.append(About::Disk(disk))
    }

    /// Keeps a run.
    pub fn keep(&mut self, ran: Ran) -> Result<(), String> {
        self.append(About::Run(Box::new(ran.clone())))?;
        self.runs.push(ran);
        Ok(())
    }

    /// Without a measurement of this processor, which differs from run to run.
    #[cfg(test)]
    pub(crate) fn with_speed(mut self, speed: f64) -> History {
        self.speed = Some(speed);
        self
    }

    #[cfg(test)]
    pub(crate) fn remember(&mut self, ran: Ran) {
        self.runs.push(ran);
    }

    fn append(&self, about: About) -> Result<(), String> {
        let Some(directory) = &self.directory else {
            return Err("no history is kept".to_owned());
        };
        let line = Line {
            at: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
            host: self.host.clone(),
            build: build().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            about,
        };
        let line = serde_json::to_string(&line).map_err(|e| e.to_string())?;
        write(StateDir(directory), &line).map_err(|e| e.to_string())
    }
}

/// Forecasts of runs like this one, and what those took: the newest first.
pub fn earlier<'h>(runs: &'h [Ran], work: &'h Work) -> impl Iterator<Item = (&'h Earlier, f64)> {
    let like = move |r: &&Ran| {
        r.work.job == work.job
            && r.work.flavour == work.flavour
            && r.work.server == work.server
            && r.work.offline == work.offline
            && (r.work.tablespaces.tables > 0) == (work.tablespaces.tables > 0)
    };
    let kept = runs.iter().rev().filter(like).take(MOST_RUNS);
    kept.filter_map(|r| Some((r.forecast.as_ref().filter(|f| f.runs > 0)?, r.seconds)))
}

impl Earlier {
    /// As it is kept.
    pub fn of(f: &crate::Forecast) -> Earlier {
        let rounded = base::units::rounded;
        Earlier {
            seconds: rounded(f.seconds),
            low: rounded(f.low),
            high: rounded(f.high),
            runs: match f.basis {
                Basis::Runs(n) => n,
                Basis::Defaults => 0,
            },
        }
    }
}

fn build() -> &'static str {
    match cfg!(debug_assertions) {
        true => "debug",
        false => "release",
    }
}

/// The file's bytes; none if it cannot be read. A file that another program made larger is read in part.
fn read(path: &Path) -> Vec<u8> {
    let open = || -> Option<Vec<u8>> {
        match state::open_current(path).ok()?? {
            Opened::Ours(file) => file.read(4 * MOST_BYTES).ok(),
            Opened::Busy(file) => state::read_all(&file, 4 * MOST_BYTES).ok(),
            Opened::Removed => None,
        }
    };
    open().unwrap_or_default()
}

/// Adds a line, under the lock of the file.
fn write(directory: StateDir<'_>, line: &str) -> state::Result<()> {
    directory.create()?;
    let path = directory.0.join(FILE);
    let deadline = std::time::Instant::now() + WAIT;
    loop {
        let mut file = match state::create(&path)? {
            Opened::Ours(file) => file,
            _ if std::time::Instant::now() > deadline => {
                return Err(state::Failure::busy(&path));
            }
            _ => {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let there = match file.read(4 * MOST_BYTES) {
            Ok(there) if (there.len() + line.len()) as u64 <= MOST_BYTES => there,
            Ok(there) => return file.replace(newer_half(&there, line).as_bytes()),
            // Larger than it ever is: another program wrote to it.
            Err(_) => return file.replace(format!("{line}\n").as_bytes()),
        };
        // What a killed run left of a line ends here.
        let begin = match there.last() {
            None | Some(b'\n') => "",
            Some(_) => "\n",
        };
        file.append(format!("{begin}{line}\n").as_bytes())?;
        return match there.is_empty() {
            true => file.sync_name(),
            false => Ok(()),
        };
    }
}

/// The newer lines of the file, and this one.
fn newer_half(there: &[u8], line: &str) -> String {
    let text = String::from_utf8_lossy(there);
    let mut kept: Vec<&str> = vec![line];
    let mut size = line.len();
    for old in text.lines().rev().filter(|l| !l.is_empty()) {
        size += old.len() + 1;
        if size as u64 > MOST_BYTES / 2 {
            break;
        }
        kept.push(old);
    }
    kept.reverse();
    kept.iter().map(|l| format!("{l}\n")).collect()
}
