//! What a person, a log or a program sees while a job runs: a live display on a
//! terminal, plain lines elsewhere, JSON lines when asked for.
//!
//! The one place of the project that prints. Texts that come from servers and
//! archives are made harmless before they get here.

mod live;
pub mod report;
pub mod summary;

use base::pace::Pace;
use base::units::{bytes, count, printable};
use base::{Counters, Error, Event, Observer};
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often a plain log gets a line of progress.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// A wait that comes and goes, as one for a rate does, is told of so often.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// How the job is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A display that moves.
    Live,
    /// Lines.
    Plain,
    /// Warnings, errors and the summary.
    Quiet,
    /// JSON lines on standard output.
    Json,
}

impl Mode {
    /// What suits the flags and the terminal.
    pub fn choose(json: bool, quiet: bool) -> Mode {
        if json {
            Mode::Json
        } else if quiet {
            Mode::Quiet
        } else if std::io::stderr().is_terminal()
            && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
        {
            Mode::Live
        } else {
            Mode::Plain
        }
    }
}

/// A phase that runs.
struct Phase {
    name: &'static str,
    counters: Arc<Counters>,
    workers: usize,
    start: Instant,
    pace: Pace,
    waiting: Option<String>,
    /// The last wait that a plain log was told of, and when.
    told: Option<(String, Instant)>,
    steering: Option<String>,
}

/// The observer that prints.
pub struct Screen {
    mode: Mode,
    start: Instant,
    phase: Arc<Mutex<Option<Phase>>>,
    live: Option<live::Live>,
}

impl Screen {
    /// Starts to show; ticks from a thread of its own until dropped.
    pub fn new(mode: Mode) -> Arc<Screen> {
        let phase: Arc<Mutex<Option<Phase>>> = Arc::default();
        let live = (mode == Mode::Live).then(live::Live::default);
        let screen = Arc::new(Screen {
            mode,
            start: Instant::now(),
            phase,
            live,
        });
        let weak = Arc::downgrade(&screen);
        std::thread::spawn(move || {
            let mut last = Instant::now();
            loop {
                std::thread::sleep(Duration::from_millis(100));
                let Some(screen) = weak.upgrade() else { return };
                screen.with_phase(|p| {
                    if let Some(p) = p {
                        p.pace.mark(Instant::now(), p.counters.bytes.get());
                    }
                });
                match screen.mode {
                    Mode::Live => screen.tick_live(),
                    Mode::Plain if last.elapsed() >= PLAIN_EVERY => {
                        last = Instant::now();
                        screen.tick_plain();
                    }
                    Mode::Json if last.elapsed() >= Duration::from_secs(1) => {
                        last = Instant::now();
                        screen.tick_json();
                    }
                    _ => {}
                }
            }
        });
        screen
    }

    fn with_phase<R>(&self, f: impl FnOnce(&mut Option<Phase>) -> R) -> R {
        f(&mut self.phase.lock().unwrap_or_else(|e| e.into_inner()))
    }

    fn tick_live(&self) {
        if let Some(live) = &self.live {
            self.with_phase(|p| match p {
                Some(p) => live.show(p),
                None => live.clear(),
            });
        }
    }

    fn tick_plain(&self) {
        // Written without the lock: whoever reads may be slow, or gone.
        let line = self.with_phase(|p| p.as_ref().map(Phase::line));
        if let Some(line) = line {
            self.say(&line);
        }
    }

    fn tick_json(&self) {
        self.with_phase(|p| {
            if let Some(p) = p {
                self.json(serde_json::json!({
                    "event": "progress", "phase": p.name, "rows": p.counters.rows.get(),
                    "bytes": p.counters.bytes.get(), "stored": p.counters.stored.get(),
                    "bytes_expected": p.counters.bytes_expected.get(), "busy": p.counters.busy.get(),
                    "waiting": p.waiting, "impact": p.steering,
                }));
            }
        });
    }

    fn json(&self, mut value: serde_json::Value) {
        if let Some(map) = value.as_object_mut() {
            map.insert(
                "seconds".into(),
                round(self.start.elapsed().as_secs_f64()).into(),
            );
        }
        // A closed pipe must not stop a backup.
        let _ = writeln!(std::io::stdout(), "{value}");
    }

    fn say(&self, text: &str) {
        match &self.live {
            Some(live) => live.println(text),
            None => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
    }

    /// Takes the display away before the summary.
    pub fn finish(&self) {
        self.with_phase(|p| *p = None);
        if let Some(live) = &self.live {
            live.clear();
        }
    }

    /// Shows how the job failed.
    pub fn error(&self, e: &Error) {
        self.finish();
        self.failed(e);
    }

    /// Shows a bug: called by the thread that panics, which may hold any lock of the screen, so none is waited for.
    pub fn panicked(&self, e: &Error) {
        if let Ok(mut phase) = self.phase.try_lock() {
            *phase = None;
        }
        self.failed(e);
    }

    fn failed(&self, e: &Error) {
        if self.mode == Mode::Json {
            self.json(serde_json::json!({
                "event": "error", "kind": e.kind.name(), "exit_code": e.kind.exit_code(),
                "message": e.what, "hint": e.hint,
            }));
            return;
        }
        let mut err = std::io::stderr();
        let _ = writeln!(err, "ERROR: {}", lines(&e.what));
        if let Some(hint) = &e.hint {
            let _ = writeln!(err, "HINT: {}", lines(hint));
        }
    }

    /// Writes a document to standard output, as it is.
    pub fn document(&self, text: &str) -> base::Result<()> {
        self.finish();
        let mut out = std::io::stdout();
        let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        done.map_err(|e| {
            Error::new(
                base::Kind::Storage,
                format!("cannot write to standard output: {e}"),
            )
        })
    }

    /// Shows the summary: text for people, one object for programs.
    pub fn summary(&self, text: &str, value: serde_json::Value) {
        self.finish();
        if self.mode == Mode::Json {
            self.json(value);
        } else {
            let _ = write!(std::io::stdout(), "{text}");
        }
    }
}

/// Several lines stay several, each harmless.
fn lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

pub(crate) fn round(v: f64) -> f64 {
    (v * 1000.0).round() / 1000.0
}

impl Observer for Screen {
    fn event(&self, event: Event) {
        match event {
            Event::Phase {
                name,
                counters,
                workers,
            } => {
                match self.mode {
                    Mode::Json => self.json(
                        serde_json::json!({"event": "phase", "phase": name, "workers": workers}),
                    ),
                    Mode::Plain => self.say(&format!("{name} …")),
                    _ => {}
                }
                self.with_phase(|p| {
                    *p = Some(Phase {
                        name,
                        counters,
                        workers,
                        start: Instant::now(),
                        pace: Pace::new(Instant::now()),
                        waiting: None,
                        told: None,
                        steering: None,
                    });
                });
            }
            Event::PhaseEnd { name, seconds } => {
                let done = self.with_phase(Option::take);
                if let Some(live) = &self.live {
                    live.clear();
                }
                match (self.mode, done) {
                    (Mode::Json, Some(p)) => self.json(serde_json::json!({
                        "event": "phase_end", "phase": name, "phase_seconds": round(seconds),
                        "rows": p.counters.rows.get(), "bytes": p.counters.bytes.get(),
                    })),
                    (Mode::Live | Mode::Plain, Some(p)) => self.say(&p.done(seconds)),
                    _ => {}
                }
            }
            Event::Note(text) => match self.mode {
                Mode::Json => self.json(serde_json::json!({"event": "note", "message": text})),
                Mode::Quiet => {}
                _ => self.say(&lines(&text)),
            },
            Event::Warning(text) => match self.mode {
                Mode::Json => self.json(serde_json::json!({"event": "warning", "message": text})),
                _ => self.say(&format!("WARNING: {}", lines(&text))),
            },
            Event::Decision(text) if self.mode == Mode::Json => {
                self.json(serde_json::json!({"event": "decision", "message": text}));
            }
            Event::Waiting(what) => {
                // A log gets a line when a wait begins; its figures go on in the regular lines.
                let news = self.with_phase(|p| p.as_mut().is_some_and(|p| p.wait(&what)));
                if let (true, Some(what), Mode::Plain) = (news, what, self.mode) {
                    self.say(&format!("waiting for {}", lines(&what)));
                }
            }
            Event::Steering(text) => self.with_phase(|p| {
                if let Some(p) = p {
                    p.steering = text;
                }
            }),
            Event::Table {
                schema,
                table,
                rows,
                bytes,
            } if self.mode == Mode::Json => {
                self.json(serde_json::json!({
                        "event": "table", "schema": schema, "table": table, "rows": rows, "bytes": bytes,
                    }));
            }
            _ => {}
        }
    }
}

impl Phase {
    /// Bytes per second, lately.
    fn rate(&self) -> f64 {
        let bytes = self.counters.bytes.get();
        self.pace
            .rate(Instant::now(), bytes)
            .unwrap_or(bytes as f64 / self.start.elapsed().as_secs_f64().max(0.001))
    }

    /// Seconds to go, once there is something to judge by.
    fn eta(&self) -> Option<f64> {
        let (done, all) = (&self.counters.bytes, &self.counters.bytes_expected);
        self.pace.eta(Instant::now(), done.get(), all.get())
    }

    /// Takes note of a wait; whether it is to be told of.
    fn wait(&mut self, what: &Option<String>) -> bool {
        let begins = self.waiting.is_none();
        self.waiting.clone_from(what);
        let Some(text) = what.as_ref().filter(|_| begins) else {
            return false;
        };
        let told = self.told.as_ref();
        let news = told.is_none_or(|(t, at)| t != text || at.elapsed() >= TELL_AGAIN);
        if news {
            self.told = Some((text.clone(), Instant::now()));
        }
        news
    }

    /// One line that says how it stands.
    fn line(&self) -> String {
        let c = &self.counters;
        let moved = c.bytes.get() > 0 || c.rows.get() > 0;
        if let Some(what) = self.waiting.as_ref().filter(|_| !moved) {
            return format!(
                "{}: waiting for {} ({})",
                self.name,
                printable(what),
                base::units::seconds(self.start.elapsed().as_secs_f64())
            );
        }
        if c.bytes.get() == 0 && c.rows.get() == 0 {
            return format!(
                "{} … {}",
                self.name,
                base::units::seconds(self.start.elapsed().as_secs_f64())
            );
        }
        let mut line = format!("{}: ", self.name);
        if c.rows.get() > 0 {
            line += &format!("{} rows, ", count(c.rows.get()));
        }
        line += &bytes(c.bytes.get());
        let all = c.bytes_expected.get();
        if all > 0 {
            let share = (c.bytes.get() as f64 / all as f64 * 100.0).min(99.0);
            line += &format!(" ({share:.0} %)");
        }
        line += &format!(", {}/s", bytes(self.rate() as u64));
        if let Some(eta) = self.eta() {
            line += &format!(", {} to go", base::units::seconds(eta));
        }
        line += &format!(", {}/{} workers busy", c.busy.get(), self.workers);
        if let Some(what) = &self.waiting {
            line += &format!("; waiting for {}", printable(what));
        }
        if let Some(text) = &self.steering {
            line += &format!("; {}", printable(text));
        }
        line
    }

    fn done(&self, seconds: f64) -> String {
        let c = &self.counters;
        let mut line = format!("{:<22}{:>9}", self.name, base::units::seconds(seconds));
        if c.bytes.get() > 0 {
            let rate = (c.bytes.get() as f64 / seconds.max(0.001)) as u64;
            if c.rows.get() > 0 {
                line += &format!("   {} rows", count(c.rows.get()));
            }
            line += &format!("   {}, {}/s", bytes(c.bytes.get()), bytes(rate));
        }
        line
    }
}
