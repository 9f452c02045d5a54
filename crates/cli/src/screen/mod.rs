//! What a person, a log or a program sees while a job runs: a live display on a terminal, lines with
//! the time (UTC) elsewhere, JSON lines with --json.
//!
//! The one place of the project that prints. Control characters in texts from servers and archives
//! are escaped here, so that they cannot control a terminal.

mod live;
pub mod report;
pub mod runs;

use base::pace::Pace;
use base::units::{bytes, count, printable, rounded};
use base::{Counters, Error, Event, Kind, Observer, RateLimiter};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How often a plain log gets a line of progress.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// A wait that comes and goes, as one for a rate does, gets a line this often.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(60);

/// How the job is shown.
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
    /// The same without progress and notes.
    QuietJson,
}

impl Mode {
    /// What suits the flags and the terminal.
    pub fn choose(json: bool, quiet: bool) -> Mode {
        if json && quiet {
            Mode::QuietJson
        } else if json {
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

    fn is_json(self) -> bool {
        matches!(self, Mode::Json | Mode::QuietJson)
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
    /// The last wait that went to a plain log, and when.
    announced: Option<(String, Instant)>,
    impact: Option<String>,
    standing: base::Standing,
}

/// The observer that prints.
pub struct Screen {
    mode: Mode,
    start: Instant,
    /// Whether the job is paused, once there is one.
    limiter: OnceLock<Arc<RateLimiter>>,
    phase: Arc<Mutex<Option<Phase>>>,
    live: Option<live::Live>,
    /// Warnings of this run, so that the summary does not say one again.
    warned: Mutex<Vec<String>>,
    /// The first error of standard output.
    lost: Mutex<Option<std::io::Error>>,
    /// Standard output holds an archive: what is printed goes to standard error.
    left: AtomicBool,
}

impl Screen {
    /// Starts the display, which a thread updates until it is dropped.
    pub fn new(mode: Mode) -> Arc<Screen> {
        let phase: Arc<Mutex<Option<Phase>>> = Arc::default();
        let live = (mode == Mode::Live).then(live::Live::default);
        let screen = Arc::new(Screen {
            mode,
            start: Instant::now(),
            limiter: OnceLock::new(),
            phase,
            live,
            warned: Mutex::default(),
            lost: Mutex::default(),
            left: AtomicBool::new(false),
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

    /// The limiter of the job that is shown, which says whether the job is paused.
    pub fn follow(&self, limiter: Arc<RateLimiter>) {
        let _ = self.limiter.set(limiter);
    }

    fn paused(&self) -> bool {
        self.limiter.get().is_some_and(|l| l.paused())
    }

    fn with_phase<R>(&self, f: impl FnOnce(&mut Option<Phase>) -> R) -> R {
        f(&mut self.phase.lock().unwrap_or_else(|e| e.into_inner()))
    }

    fn tick_live(&self) {
        if let Some(live) = &self.live {
            self.with_phase(|p| match p {
                Some(p) => live.show(p, self.paused()),
                None => live.clear(),
            });
        }
    }

    fn tick_plain(&self) {
        // Written without the lock: the reader may be slow, or gone.
        let line = self.with_phase(|p| p.as_ref().map(|p| p.line(None, self.paused())));
        if let Some(line) = line {
            self.say(&line);
        }
    }

    fn tick_json(&self) {
        self.with_phase(|p| {
            if let Some(p) = p {
                let mut progress = serde_json::json!({
                    "event": "progress", "phase": p.name, "rows": p.counters.rows.get(),
                    "bytes": p.counters.bytes.get(), "stored": p.counters.stored.get(),
                    "bytes_expected": p.counters.bytes_expected.get(), "busy": p.counters.busy.get(),
                    "waiting": p.waiting, "impact": p.impact,
                });
                for (name, value) in &p.standing.values {
                    progress[*name] = rounded(*value).into();
                }
                self.json(progress);
            }
        });
    }

    fn json(&self, mut value: serde_json::Value) {
        if let Some(map) = value.as_object_mut() {
            map.insert(
                "seconds".into(),
                rounded(self.start.elapsed().as_secs_f64()).into(),
            );
        }
        self.out(&format!("{value}\n"));
    }

    /// From now on nothing is printed to standard output.
    pub fn leave_stdout(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    /// Writes to standard output. A closed pipe or a full disk must not stop a backup: it is an error at the end.
    fn out(&self, text: &str) {
        if self.left.load(Ordering::Relaxed) {
            let _ = std::io::stderr().write_all(text.as_bytes());
            return;
        }
        let mut out = std::io::stdout();
        let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if let Err(e) = done {
            let mut lost = self.lost.lock().unwrap_or_else(|e| e.into_inner());
            lost.get_or_insert(e);
        }
    }

    /// Whether some of the output could not be written.
    pub fn lost_output(&self) -> bool {
        self.lost
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .is_some()
    }

    /// Says on standard error that output could not be written; the exit code, if that was so.
    pub fn ended(&self) -> Option<u8> {
        let lost = self.lost.lock().unwrap_or_else(|e| e.into_inner()).take()?;
        let mut err = std::io::stderr();
        let _ = writeln!(err, "ERROR: cannot write to standard output: {lost}");
        let _ = writeln!(
            err,
            "HINT: the work itself is complete; only what was to be printed is lost"
        );
        Some(base::Kind::Storage.exit_code())
    }

    fn say(&self, text: &str) {
        match &self.live {
            Some(live) => live.println(text),
            None if self.mode == Mode::Plain => {
                let now = jiff::Timestamp::now();
                for line in text.lines() {
                    let _ = writeln!(std::io::stderr(), "{now:.0} {line}");
                }
            }
            None => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
    }

    /// Shows what would be lost, and asks whether it may be: an error unless somebody at a terminal says yes.
    pub fn agree(&self, what: &str, lost: &[String]) -> base::Result<()> {
        let hint = "add --yes if that is meant; --dry-run shows all of it and changes nothing";
        let usage = |text: String| Error::new(Kind::Usage, text).hint(hint);
        let shown = |most: usize| {
            let names = lost.iter().take(most).map(|name| printable(name));
            let more = match lost.len().saturating_sub(most) {
                0 => None,
                n => Some(format!("and {} more", count(n as u64))),
            };
            names.chain(more).collect::<Vec<String>>()
        };
        let asks = !self.mode.is_json()
            && std::io::stdin().is_terminal()
            && std::io::stderr().is_terminal();
        if !asks {
            let names = shown(5).join(", ");
            return Err(usage(format!(
                "{what}: {names}; there is no terminal to ask on"
            )));
        }
        self.finish();
        let mut err = std::io::stderr();
        let _ = writeln!(err, "{what}:");
        for name in shown(50) {
            let _ = writeln!(err, "  {name}");
        }
        let _ = write!(err, "Type yes to go on: ");
        let _ = err.flush();
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        if read.is_ok() && answer.trim().eq_ignore_ascii_case("yes") {
            return Ok(());
        }
        Err(usage(
            "nothing was changed: the answer was not yes".to_owned(),
        ))
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

    /// Shows a bug: called by the thread that panics, which may hold any lock of the screen, so it waits
    /// for none.
    pub fn panicked(&self, e: &Error) {
        if let Ok(mut phase) = self.phase.try_lock() {
            *phase = None;
        }
        self.failed(e);
    }

    fn failed(&self, e: &Error) {
        if self.mode.is_json() {
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

    /// Shows the end of a run.
    ///
    /// With `--quiet` its exceptions go to standard error, too: that is what a log of cron keeps.
    pub fn summary(&self, summary: &::report::summary::Summary) {
        if self.mode == Mode::Quiet {
            let warned = self.warned.lock().unwrap_or_else(|e| e.into_inner());
            let news = summary.exceptions.iter().filter(|e| !warned.contains(e));
            for exception in news {
                self.say(&format!("WARNING: {}", lines(exception)));
            }
        }
        self.result(&::report::summary::lines(summary), summary.json());
    }

    /// Shows a result: text for people, one object for programs.
    pub fn result(&self, text: &str, value: serde_json::Value) {
        self.finish();
        if self.mode.is_json() {
            self.json(value);
        } else {
            self.out(text);
        }
    }
}

/// Several lines stay several, each harmless.
fn lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
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
                        announced: None,
                        impact: None,
                        standing: base::Standing::default(),
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
                        "event": "phase_end", "phase": name, "phase_seconds": rounded(seconds),
                        "rows": p.counters.rows.get(), "bytes": p.counters.bytes.get(),
                    })),
                    (Mode::Live | Mode::Plain, Some(p)) => self.say(&p.done(seconds)),
                    _ => {}
                }
            }
            Event::Note(text) => match self.mode {
                Mode::Json => self.json(serde_json::json!({"event": "note", "message": text})),
                Mode::Quiet | Mode::QuietJson => {}
                _ => self.say(&lines(&text)),
            },
            Event::Warning(text) => match self.mode {
                mode if mode.is_json() => {
                    self.json(serde_json::json!({"event": "warning", "message": text}));
                }
                _ => {
                    self.say(&format!("WARNING: {}", lines(&text)));
                    let mut warned = self.warned.lock().unwrap_or_else(|e| e.into_inner());
                    warned.push(text);
                }
            },
            Event::Decision(text) if self.mode == Mode::Json => {
                self.json(serde_json::json!({"event": "decision", "message": text}));
            }
            Event::Waiting(what) => {
                // A log gets a line when a wait begins; the regular lines show its figures after that.
                let news = self.with_phase(|p| p.as_mut().is_some_and(|p| p.wait(&what)));
                if let (true, Some(what), Mode::Plain) = (news, what, self.mode) {
                    self.say(&format!("waiting for {}", lines(&what)));
                }
            }
            Event::Steering(text) => self.with_phase(|p| {
                if let Some(p) = p {
                    p.impact = text;
                }
            }),
            Event::Standing(standing) => self.with_phase(|p| {
                if let Some(p) = p {
                    p.standing = standing;
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
    /// Bytes per second, recently.
    fn rate(&self) -> f64 {
        let bytes = self.counters.bytes.get();
        self.pace
            .rate(Instant::now(), bytes)
            .unwrap_or(bytes as f64 / self.start.elapsed().as_secs_f64().max(0.001))
    }

    /// Seconds to go, as soon as they can be estimated.
    fn eta(&self) -> Option<f64> {
        let (done, all) = (&self.counters.bytes, &self.counters.bytes_expected);
        self.pace.eta(Instant::now(), done.get(), all.get())
    }

    /// Takes note of a wait; returns whether a log needs a line about it.
    fn wait(&mut self, what: &Option<String>) -> bool {
        let begins = self.waiting.is_none();
        self.waiting.clone_from(what);
        let Some(text) = what.as_ref().filter(|_| begins) else {
            return false;
        };
        let last = self.announced.as_ref();
        let news = last.is_none_or(|(t, at)| t != text || at.elapsed() >= ANNOUNCE_AGAIN);
        if news {
            self.announced = Some((text.clone(), Instant::now()));
        }
        news
    }

    /// One line with the state, in at most `width` characters where there is a limit.
    fn line(&self, width: Option<usize>, paused: bool) -> String {
        let c = &self.counters;
        let elapsed = || base::units::seconds(self.start.elapsed().as_secs_f64());
        if c.bytes.get() == 0 && c.rows.get() == 0 && self.standing.text.is_empty() {
            let text = match &self.waiting {
                Some(what) => format!(
                    "{}: waiting for {} ({})",
                    self.name,
                    printable(what),
                    elapsed()
                ),
                None => format!("{} … {}", self.name, elapsed()),
            };
            return fit(vec![Piece::new(0, text)], width);
        }
        let mut pieces = vec![Piece::new(0, format!("{}:", self.name))];
        let mut add = |rank: u8, text: String| {
            let separator = if pieces.len() == 1 { " " } else { ", " };
            pieces.push(Piece::new(rank, format!("{separator}{text}")));
        };
        if paused {
            add(0, "paused".to_owned());
        }
        let all = c.bytes_expected.get();
        let mut amount = bytes(c.bytes.get());
        if all > 0 {
            let share = (c.bytes.get() as f64 / all as f64 * 100.0).min(99.0);
            amount += &format!(" ({share:.0} %)");
        }
        if c.rows.get() > 0 {
            add(5, format!("{} rows", count(c.rows.get())));
        }
        add(1, amount);
        if !paused {
            add(3, format!("{}/s", bytes(self.rate() as u64)));
            if let Some(eta) = self.eta() {
                add(2, format!("{} to go", base::units::seconds(eta)));
            }
        }
        add(6, format!("{}/{} workers busy", c.busy.get(), self.workers));
        if let Some(what) = &self.waiting {
            // While paused, that is the one wait, and it has been named.
            let rank = if paused { 7 } else { 0 };
            pieces.push(Piece::new(
                rank,
                format!("; waiting for {}", printable(what)),
            ));
        }
        if !self.standing.text.is_empty() {
            pieces.push(Piece::new(
                1,
                format!("; {}", printable(&self.standing.text)),
            ));
        }
        if let Some(text) = &self.impact {
            pieces.push(Piece::new(4, format!("; {}", printable(text))));
        }
        fit(pieces, width)
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

/// A part of the progress line; the higher its rank, the earlier it is left out.
struct Piece {
    rank: u8,
    text: String,
}

impl Piece {
    fn new(rank: u8, text: String) -> Piece {
        Piece { rank, text }
    }
}

/// The pieces as one line: those of the highest rank are left out until it fits, and the rest is cut.
fn fit(mut pieces: Vec<Piece>, width: Option<usize>) -> String {
    let Some(width) = width else {
        return pieces.into_iter().map(|p| p.text).collect();
    };
    let length = |pieces: &[Piece]| pieces.iter().map(|p| p.text.chars().count()).sum::<usize>();
    while length(&pieces) > width {
        let Some(rank) = pieces.iter().map(|p| p.rank).max().filter(|r| *r > 0) else {
            break;
        };
        pieces.retain(|p| p.rank != rank);
    }
    let line: String = pieces.into_iter().map(|p| p.text).collect();
    // The first of them may have been left out with its separator.
    let line = line.replacen(":,", ":", 1).replacen(":;", ":", 1);
    if line.chars().count() <= width {
        return line;
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase() -> Phase {
        let counters = Arc::new(Counters::default());
        counters.rows.add(1_234_567);
        counters.bytes.add(320_000_000);
        counters.bytes_expected.add(1_000_000_000);
        Phase {
            name: "reading rows",
            counters,
            workers: 4,
            start: Instant::now(),
            pace: Pace::new(Instant::now()),
            waiting: Some("replica db2:3306, 12 s behind (2 s allowed)".to_owned()),
            announced: None,
            impact: Some("impact 3.1 % of 5 %".to_owned()),
            standing: base::Standing::default(),
        }
    }

    #[test]
    fn the_wait_is_visible_in_a_narrow_terminal() {
        let wide = phase().line(None, false);
        for part in [
            "1,234,567 rows",
            "320.00 MB (32 %)",
            "workers busy",
            "; impact",
        ] {
            assert!(wide.contains(part), "{wide}");
        }
        // 80 columns without the spinner and the bar.
        let line = phase().line(Some(66), false);
        assert!(line.chars().count() <= 66, "{line}");
        assert!(line.starts_with("reading rows: "), "{line}");
        assert!(
            line.contains("waiting for replica db2:3306, 12 s behind"),
            "{line}"
        );
        let line = phase().line(Some(30), false);
        assert_eq!(line.chars().count(), 30, "{line}");
        assert!(line.ends_with('…'), "{line}");
    }

    #[test]
    fn a_paused_run_has_no_time_to_go() {
        let line = phase().line(Some(66), true);
        assert!(line.starts_with("reading rows: paused, "), "{line}");
        assert!(!line.contains("to go") && !line.contains("/s"), "{line}");
    }
}
