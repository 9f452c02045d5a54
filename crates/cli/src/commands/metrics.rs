//! `--metrics-file`: after a command, and while one runs that ends only when it is stopped.

use crate::args::repository::Where;
use crate::settings::place;
use ::report::metrics;
use base::{Error, Event, Kind, Observer, Result, Standing};
use binlog_archive::standing::{CONNECTED, LAG, WAITS};
use repository::Repository;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often they are written while a command runs.
const EVERY: Duration = Duration::from_secs(10);
/// How often the whole repository is looked at for that.
const LIST_EVERY: Duration = Duration::from_secs(300);

/// Writes them, whatever came of the command; `more` is added.
pub fn with(place: &Where, outcome: Result<u8>, more: &str) -> Result<u8> {
    let Some(file) = &place.metrics_file else {
        return outcome;
    };
    let written = of_repository(place).and_then(|text| write(file, &(text + more)));
    match (outcome, written) {
        (Ok(_), Err(e)) => Err(e),
        (outcome, _) => outcome,
    }
}

fn of_repository(place: &Where) -> Result<String> {
    let repository = Repository::open(&place::location("--repository", &place.repository)?)?;
    let listing = repository.list(None)?;
    Ok(metrics::repository(&listing, jiff::Timestamp::now()))
}

/// Replaces the file as a whole: the collector reads at any moment, and only files that end in .prom.
fn write(file: &Path, text: &str) -> Result<()> {
    place::local("--metrics-file", file)?;
    let there = std::fs::read_to_string(file).unwrap_or_else(|e| match e.kind() {
        std::io::ErrorKind::NotFound => String::new(),
        _ => "?".to_owned(),
    });
    if !there.is_empty() && !there.starts_with("# HELP penstock_") {
        let what = format!(
            "{} holds something else than metrics of penstock",
            file.display()
        );
        return Err(Error::new(Kind::Target, base::units::printable(&what))
            .hint("name another file with --metrics-file, or remove it"));
    }
    let mut new = file.to_owned().into_os_string();
    new.push(".new");
    std::fs::write(&new, text)
        .and_then(|()| std::fs::rename(&new, file))
        .map_err(|e| {
            let what = format!("cannot write the metrics into {}: {e}", file.display());
            Error::new(Kind::Storage, base::units::printable(&what))
        })
}

/// Writes metrics while a job runs, with what it reports about itself. Reading the repository may take a while, so a thread does it.
pub struct Running {
    server: String,
    place: Where,
    standing: Mutex<Option<Standing>>,
    inner: Arc<dyn Observer>,
    ended: AtomicBool,
}

impl Running {
    /// Begins; nothing is written without `--metrics-file`.
    pub fn start(server: &str, place: &Where, inner: &Arc<dyn Observer>) -> Arc<Running> {
        let running = Arc::new(Running {
            server: server.to_owned(),
            place: place.clone(),
            standing: Mutex::default(),
            inner: Arc::clone(inner),
            ended: AtomicBool::new(false),
        });
        if place.metrics_file.is_some() {
            let weak = Arc::downgrade(&running);
            std::thread::spawn(move || {
                let (mut written, mut listed) = (None::<Instant>, None::<Instant>);
                let (mut repository, mut connected) = (String::new(), None);
                loop {
                    std::thread::sleep(Duration::from_millis(100));
                    let Some(running) = weak.upgrade() else {
                        return;
                    };
                    if running.ended.load(Ordering::Acquire) {
                        return;
                    }
                    let now = running.connected();
                    // A connection that is lost or made again is news.
                    let waits = written.is_some_and(|at| at.elapsed() < EVERY) && now == connected;
                    if now.is_none() || waits {
                        continue;
                    }
                    connected = now;
                    if listed.is_none_or(|at| at.elapsed() >= LIST_EVERY) {
                        listed = Some(Instant::now());
                        repository = of_repository(&running.place).unwrap_or(repository);
                    }
                    let first = written.is_none();
                    written = Some(Instant::now());
                    running.write(&repository, first);
                }
            });
        }
        running
    }

    fn write(&self, repository: &str, first: bool) {
        let Some(file) = &self.place.metrics_file else {
            return;
        };
        let text = repository.to_owned() + &self.text();
        if let (Err(e), true) = (write(file, &text), first) {
            self.inner.event(Event::Warning(e.what));
        }
    }

    fn connected(&self) -> Option<bool> {
        let standing = base::lock(&self.standing);
        let mut values = standing.as_ref()?.values.iter();
        values.find_map(|(name, value)| (*name == CONNECTED).then_some(*value > 0.0))
    }

    fn text(&self) -> String {
        let standing = base::lock(&self.standing).clone();
        standing.map_or_else(String::new, |s| metrics::binlog(&self.server, &s))
    }

    /// Ends it; returns the last state, in which no server is followed.
    pub fn end(&self) -> String {
        self.ended.store(true, Ordering::Release);
        if let Some(standing) = &mut *base::lock(&self.standing) {
            standing.values.retain(|(name, _)| *name != LAG);
            for (name, value) in &mut standing.values {
                if [CONNECTED, WAITS].contains(name) {
                    *value = 0.0;
                }
            }
        }
        self.text()
    }
}

impl Observer for Running {
    fn event(&self, event: Event) {
        if let Event::Standing(standing) = &event {
            *base::lock(&self.standing) = Some(standing.clone());
        }
        self.inner.event(event);
    }
}
