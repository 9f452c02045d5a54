//! What directories can do as places of a server's files: throughput and latency of the patterns in which InnoDB and a
//! binary log read and write, side by side.
//!
//! `place` is a directory under test: it owns every file that is written, and removes it. `engine` reads and writes `pages`
//! at a queue depth, by io_uring (`ring`) or `threads`; `log` is a log with group commit; `window` is the time that is measured.
//! The patterns are made of these: `sequential`, `random`, `commits`, `doublewrite`, `small_files`, `mixed`. `figures`
//! puts the runs together, `estimate` says what they mean for TPC-C, `of_server` finds a server's directories.
//! Invariants: nothing is written but new files in a directory of this benchmark's own; they are removed on every way
//! out. What this does not do: judge settings of the host.

mod buffer;
mod commits;
mod doublewrite;
mod engine;
pub mod estimate;
mod figures;
mod limits;
mod log;
mod measure;
mod mixed;
mod of_server;
mod pages;
mod pattern;
mod place;
mod random;
mod ring;
mod sequential;
mod small_files;
mod space;
mod threads;
mod window;

pub use engine::{Choice, Engine};
pub use figures::{Bucket, Latency, Measured, Spread, Volume};
pub use pattern::Pattern;
pub use place::WORK;
pub use run::file_system::{FileSystem, group_limits};
pub use space::SMALLEST;
pub use window::{NOISE, STEADY};

use base::units::{bytes, printable, seconds};
use base::{Error, Event, Kind, Result, Standing};
use place::Place;
use run::Run;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use window::Window;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directories, in the order of the columns.
    pub directories: Vec<PathBuf>,
    /// A running server on this host whose directories are measured, too.
    pub of: Option<wire::Options>,
    /// Bytes of the file that is read and rewritten; chosen by free space if not named.
    pub size: Option<u64>,
    /// Patterns, in the order in which they are measured.
    pub patterns: Vec<Pattern>,
    /// Runs of each pattern.
    pub runs: u32,
    /// Time before each measurement.
    pub ramp: Duration,
    /// Time of each measurement.
    pub measure: Duration,
    /// Longest time for all of it.
    pub longest: Option<Duration>,
    /// How pages are read and written at a queue depth.
    pub engine: Choice,
}

/// What was found out.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server whose directories were measured, in words.
    pub server: Option<String>,
    /// Each directory, with its patterns.
    pub volumes: Vec<Volume>,
    /// How pages were read and written.
    pub engine: Engine,
    /// Why not by io_uring, where that was wanted.
    pub no_ring: Option<String>,
    /// Time before each measurement, and of each.
    pub windows: (Duration, Duration),
    /// Runs that were asked for.
    pub runs: u32,
    /// The patterns that were to be measured.
    pub patterns: Vec<Pattern>,
    /// The limit on what is read and written, in bytes per second.
    pub max_rate: Option<u64>,
    /// The limit on the time of all of it, and what was not measured because of it.
    pub longest: Option<Duration>,
    /// What was not measured, by name.
    pub left_out: Vec<String>,
    /// Files that could not be removed: each directory with the reason.
    pub not_removed: Vec<String>,
}

/// Measures.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    // What is removed below must not be left by a second interrupt.
    let _files = run
        .cancel
        .delay_exit("the benchmark's files are being removed");
    let begin = Instant::now();
    let (engine, no_ring) = Engine::choose(options.engine)?;
    let (server, named) = match &options.of {
        Some(server) => {
            let found = of_server::directories(run, server)?;
            (Some(found.server), found.directories)
        }
        None => (None, Vec::new()),
    };
    let own = options.directories.iter().map(|d| of_server::Named {
        use_: None,
        path: d.clone(),
    });
    let places = open(run, named.into_iter().chain(own).collect())?;
    let sizes = space::divide(&places, options)?;
    let mut volumes: Vec<Volume> = Vec::new();
    let mut tested = Vec::new();
    for (place, size) in places.into_iter().zip(sizes) {
        run.observer.note(format!(
            "{}: {}, {} free; a file of {}",
            printable(&place.name()),
            place.file_system,
            bytes(place.file_system.free),
            bytes(size)
        ));
        volumes.push(Volume::new(&place, size));
        tested.push(random::Tested::new(place, size, engine));
    }
    let (ramp, measure) = fitting(run, options, tested.len());
    let patterns = limits::check(run, options, &tested, measure)?;
    let deadline = options.longest.map(|longest| begin + longest);
    let too_slow = options.patterns.iter().filter(|p| !patterns.contains(p));
    let mut left_out: Vec<String> = too_slow
        .map(|p| format!("{p}: one operation takes longer than a measurement at --max-rate"))
        .collect();
    for (tested, volume) in tested.iter_mut().zip(&mut volumes) {
        let phase = run.phase("filling a file", 1);
        tested.counters = phase.counters.clone();
        tested.deadline = deadline;
        tested.fill(run, &patterns)?;
        volume.direct = tested.is_direct();
    }
    let phase = run.phase("measuring", 1);
    for tested in &mut tested {
        tested.counters = phase.counters.clone();
    }
    let mut missed = Missed::default();
    for n in 1..=options.runs {
        for pattern in &patterns {
            for (tested, volume) in tested.iter_mut().zip(&mut volumes) {
                run.check()?;
                let over = |at: Instant| deadline.is_some_and(|end| at >= end);
                if over(Instant::now() + ramp + measure) {
                    missed.add(n, *pattern, &volume.name);
                    continue;
                }
                if n == 1 && options.longest.is_none() && !ramp.is_zero() {
                    let settled = settle(run, *pattern, tested, ramp)
                        .map_err(|e| e.context(format_args!("{pattern} in {}", volume.name)))?;
                    volume.settled(*pattern, settled);
                }
                let text = format!("run {n} of {}: {pattern}, {}", options.runs, volume.name);
                run.observer.event(Event::Standing(Standing {
                    text: printable(&text),
                    values: vec![("run", f64::from(n))],
                }));
                let window = Window::new(ramp, measure);
                let measured = measure::measure(*pattern, run, tested, window)
                    .map_err(|e| e.context(format_args!("{pattern} in {}", volume.name)))?;
                volume.add(*pattern, measured, begin.elapsed());
            }
        }
    }
    drop(phase);
    left_out.extend(missed.lines(options.runs));
    // What was measured is not lost because of what is left on the disk.
    let removed = tested.into_iter().map(|t| t.remove());
    let not_removed = removed.filter_map(|r| r.err().map(|e| e.what)).collect();
    Ok(Summary {
        server,
        volumes,
        engine,
        no_ring,
        windows: (ramp, measure),
        runs: options.runs,
        patterns,
        max_rate: run.disk_limiter.rate(),
        longest: options.longest,
        left_out,
        not_removed,
    })
}

/// The most parts of a pattern that its steady state is waited for.
const PARTS: u32 = 8;

/// How long a pattern was done before it was measured, until it was steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// So long.
    pub after: Duration,
    /// Whether it was steady then.
    pub steady: bool,
}

/// Does a pattern in parts, until one is as fast as the one before it: a volume with credits for bursts is fast at first.
fn settle(
    run: &Run,
    pattern: Pattern,
    tested: &mut random::Tested,
    part: Duration,
) -> Result<Settled> {
    let begin = Instant::now();
    let mut before: Option<f64> = None;
    for _ in 0..PARTS {
        run.check()?;
        let window = Window::new(Duration::ZERO, part);
        let rate = measure::measure(pattern, run, tested, window)?.rate;
        let same = |b: f64| (rate - b).abs() <= STEADY * b;
        if before.is_some_and(same) {
            return Ok(Settled {
                after: begin.elapsed(),
                steady: true,
            });
        }
        before = Some(rate);
    }
    Ok(Settled {
        after: begin.elapsed(),
        steady: false,
    })
}

/// Runs that were not made for want of time.
#[derive(Default)]
struct Missed(Vec<(u32, String)>);

impl Missed {
    fn add(&mut self, n: u32, pattern: Pattern, volume: &str) {
        self.0.push((n, format!("{pattern} in {volume}")));
    }

    /// A line for each pattern and directory, with the runs that are missing.
    fn lines(self, runs: u32) -> Vec<String> {
        let mut first: Vec<(String, u32)> = Vec::new();
        for (n, what) in self.0 {
            match first.iter_mut().find(|(w, _)| *w == what) {
                // The time is over from one run on.
                Some((_, from)) => *from = n.min(*from),
                None => first.push((what, n)),
            }
        }
        let line = |(what, from): (String, u32)| match (from, runs) {
            (1, _) => what,
            (from, runs) if from == runs => format!("{what}: run {from}"),
            (from, runs) => format!("{what}: runs {from} to {runs}"),
        };
        first.into_iter().map(line).collect()
    }
}

/// Opens the directories. One that is named twice, also by another path, is measured once, as are directories of a server
/// that are on one file system.
fn open(run: &Run, named: Vec<of_server::Named>) -> Result<Vec<Place>> {
    let mut places: Vec<Place> = Vec::new();
    for named in named {
        let fail = |e: std::io::Error| place::failed("open", &named.path, &e);
        let path = std::fs::canonicalize(&named.path).map_err(fail)?;
        let device = path.metadata().map_err(fail)?.dev();
        let same = |p: &&mut Place| {
            p.is_of(&path) || (named.use_.is_some() && p.file_system.device == device)
        };
        match places.iter_mut().find(same) {
            Some(there) => there.also(named.use_),
            None => places.push(Place::new(run, path, named.use_)?),
        }
    }
    if places.is_empty() {
        return Err(Error::new(Kind::Usage, "there is no directory to measure")
            .hint("name one, or --of SERVER"));
    }
    Ok(places)
}

/// The least time of a measurement: below it a window holds too few operations to say anything.
const SHORTEST: Duration = Duration::from_millis(200);

/// The ramp and the window, shortened so that all runs fit into the time that is allowed.
fn fitting(run: &Run, options: &Options, places: usize) -> (Duration, Duration) {
    let Some(longest) = options.longest else {
        return (options.ramp, options.measure);
    };
    let all = options.runs as usize * options.patterns.len() * places;
    // A quarter of it for making files, last syncs and removal.
    let each = longest.mul_f64(0.75) / u32::try_from(all.max(1)).unwrap_or(u32::MAX);
    let wanted = options.ramp + options.measure;
    if wanted <= each {
        return (options.ramp, options.measure);
    }
    let part = each.as_secs_f64() / wanted.as_secs_f64();
    let measure = options
        .measure
        .mul_f64(part)
        .max(SHORTEST.min(options.measure));
    run.observer.note(format!(
        "--max-time {}: each measurement takes {} instead of {}",
        seconds(longest.as_secs_f64()),
        seconds(measure.as_secs_f64()),
        seconds(options.measure.as_secs_f64())
    ));
    (options.ramp.mul_f64(part), measure)
}
