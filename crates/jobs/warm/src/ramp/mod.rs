//! `warm ramp`: traffic comes to a new server step by step, as what is measured there allows.
//!
//! `hook` runs the operator's command with 10, 25, 50 and 100, `measure` looks at the server. A step is taken when the
//! server was within the limits for the steady time, and taken back when it is beyond them in two intervals that follow
//! each other.
//!
//! Invariant: the command is only ever called with one of the steps, and the last call is in the result however it ends.

mod hook;
mod measure;

use crate::check::{Replayer, queries_of_list};
use base::{Error, Kind, Result};
use measure::{Meter, Reading};
use run::Run;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The shares of traffic, in percent.
pub const STEPS: [u8; 4] = [10, 25, 50, 100];

/// Intervals beyond the limits, one after another, after which a step is taken back.
const BEYOND: u32 = 2;

/// Queries of a sample at most.
const QUERIES: usize = 1000;

/// How a ramp is done.
#[derive(Clone, Debug)]
pub struct Options {
    /// The new server.
    pub server: wire::Options,
    /// The operator's command; the percentage is its last argument.
    pub hook: String,
    /// How long the command may take.
    pub hook_timeout: Duration,
    /// A file of queries to measure with; `None`: what performance_schema counts.
    pub queries: Option<PathBuf>,
    /// The schema of queries that do not say it.
    pub schema: Option<String>,
    /// How long a query may take.
    pub longest: Duration,
    /// The latency that is allowed, in seconds.
    pub max_latency: Option<f64>,
    /// The pages from disk a second that are allowed.
    pub max_reads: Option<f64>,
    /// How long one measurement takes.
    pub interval: Duration,
    /// How long the server has to be within the limits for the next step.
    pub steady: Duration,
    /// How long all of it may take.
    pub give_up: Duration,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At 100, steady.
    Steady,
    /// It took too long.
    GaveUp,
    /// The command failed.
    Hook(String),
    /// On request.
    Stopped,
}

/// One call of the command.
#[derive(Clone, Debug)]
pub struct Step {
    /// Seconds since the beginning.
    pub at: f64,
    /// The share, in percent.
    pub percent: u8,
    /// Why.
    pub why: String,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server, in words.
    pub server: String,
    /// How latency was measured.
    pub measured: &'static str,
    /// How it ended.
    pub ended: Ended,
    /// The calls that succeeded, in order.
    pub steps: Vec<Step>,
    /// The last latency that was measured, in seconds.
    pub latency: Option<f64>,
    /// Pages from disk a second, at the end.
    pub reads: f64,
    /// Seconds it took.
    pub seconds: f64,
}

impl Summary {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self.ended {
            Ended::Steady => 0,
            Ended::GaveUp => Kind::Limit.exit_code(),
            Ended::Hook(_) => Kind::Failed.exit_code(),
            Ended::Stopped => Kind::Interrupted.exit_code(),
        }
    }

    /// The share of the traffic that was asked for last.
    pub fn last(&self) -> Option<u8> {
        self.steps.last().map(|s| s.percent)
    }
}

/// Ramps.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let (conn, id) = run::connect::open(run, &options.server)?;
    let measured = match options.queries {
        Some(_) => "95 % of the sample queries take at most that",
        None => "mean of all SELECTs, by performance_schema",
    };
    let meter = match &options.queries {
        Some(path) => {
            let (queries, mode) = queries_of_list(path, options.schema.as_deref(), &id, QUERIES)?;
            if queries.is_empty() {
                return Err(Error::new(Kind::Usage, "the sample has no query")
                    .hint("name a file with SELECTs that read tables"));
            }
            let replayer = Replayer::open(run, &options.server, &id, &mode, options.longest)?;
            Meter::Sample {
                replayer: Box::new(replayer),
                queries,
                next: 0,
            }
        }
        None => Meter::counted(conn, &id, options.max_latency.is_some())?,
    };
    let mut ramp = Ramp {
        options,
        begin: Instant::now(),
        steps: Vec::new(),
        last: Reading::default(),
    };
    let ended = ramp.climb(run, meter)?;
    Ok(Summary {
        server: format!("{id} at {}", options.server.endpoint),
        measured,
        ended,
        steps: ramp.steps,
        latency: ramp.last.latency,
        reads: ramp.last.reads,
        seconds: ramp.begin.elapsed().as_secs_f64(),
    })
}

struct Ramp<'o> {
    options: &'o Options,
    begin: Instant,
    steps: Vec<Step>,
    last: Reading,
}

impl Ramp<'_> {
    fn climb(&mut self, run: &Run, mut meter: Meter) -> Result<Ended> {
        let phase = run.phase("ramp", 1);
        let mut place = 0;
        if let Err(ended) = self.call(run, place, "the beginning".to_owned()) {
            return Ok(ended);
        }
        let mut steady = Instant::now();
        let mut beyond = 0;
        loop {
            let reading = meter.measure(run, self.options.interval)?;
            if run.check().is_err() {
                return Ok(Ended::Stopped);
            }
            phase.counters.rows.add(1);
            let why = self.beyond(&reading);
            let is_known = reading.latency.is_some() || self.options.max_latency.is_none();
            self.last = reading;
            let next = match why {
                Some(why) => {
                    steady = Instant::now();
                    beyond += 1;
                    match beyond >= BEYOND && place > 0 {
                        true => Some((place - 1, why)),
                        false => None,
                    }
                }
                // Where nothing ran, nothing is known.
                None if !is_known => {
                    steady = Instant::now();
                    None
                }
                None => {
                    beyond = 0;
                    let is_steady = steady.elapsed() >= self.options.steady;
                    if is_steady && place + 1 == STEPS.len() {
                        return Ok(Ended::Steady);
                    }
                    is_steady.then(|| (place + 1, "within the limits".to_owned()))
                }
            };
            if let Some((to, why)) = next {
                if let Err(ended) = self.call(run, to, why) {
                    return Ok(ended);
                }
                (place, beyond, steady) = (to, 0, Instant::now());
            }
            if self.begin.elapsed() > self.options.give_up {
                return Ok(Ended::GaveUp);
            }
        }
    }

    /// Calls the command; how the ramp ends if it fails.
    fn call(&mut self, run: &Run, place: usize, why: String) -> Result<(), Ended> {
        let percent = STEPS[place];
        run.observer.note(format!("{percent} %: {why}"));
        match hook::call(run, &self.options.hook, percent, self.options.hook_timeout) {
            Ok(()) => {
                self.steps.push(Step {
                    at: self.begin.elapsed().as_secs_f64(),
                    percent,
                    why,
                });
                Ok(())
            }
            Err(_) if run.check().is_err() => Err(Ended::Stopped),
            Err(e) => Err(Ended::Hook(format!("called with {percent}: {e}"))),
        }
    }

    /// Why a reading is beyond the limits.
    fn beyond(&self, reading: &Reading) -> Option<String> {
        if let Some(why) = &reading.refused {
            return Some(format!("a query of the sample was not answered: {why}"));
        }
        let ms = |s: f64| format!("{:.2} ms", s * 1e3);
        if let (Some(latency), Some(most)) = (reading.latency, self.options.max_latency)
            && latency > most
        {
            return Some(format!("a latency of {}, above {}", ms(latency), ms(most)));
        }
        let most = self
            .options
            .max_reads
            .filter(|most| reading.reads > *most)?;
        Some(format!(
            "{:.0} pages from disk a second, above {most:.0}",
            reading.reads
        ))
    }
}
