//! Takes one backup after the other in a thread of its own, for as long as it
//! is measured, and keeps when each began and ended.
//!
//! Invariant: nothing of it outlives [`Backups::stop`]: programs that are still
//! at it are asked to end, then ended, as one process group each; their files
//! are removed.

use super::method::{Login, Method, Programs, Steps};
use base::{Error, Kind, Result};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a program may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(10);

/// A backup that came to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished {
    /// Seconds from the first one's begin to this one's.
    pub from: f64,
    /// Seconds from the first one's begin to this one's end.
    pub to: f64,
    /// What it left on disk, in bytes.
    pub bytes: u64,
}

/// What was taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// Those that came to their end.
    pub finished: Vec<Finished>,
    /// Seconds that the one had been going on that was broken off.
    pub broken_off: Option<f64>,
}

impl Taken {
    /// Backups, with the part of the last one that its time stands for; `None` if none was finished.
    pub fn count(&self) -> Option<f64> {
        let mean = self.duration()?;
        let part = self.broken_off.map_or(0.0, |s| (s / mean).min(1.0));
        Some(self.finished.len() as f64 + part)
    }

    /// Mean seconds of one.
    pub fn duration(&self) -> Option<f64> {
        let sum: f64 = self.finished.iter().map(|f| f.to - f.from).sum();
        (!self.finished.is_empty()).then(|| sum / self.finished.len() as f64)
    }

    /// Mean size of one, in bytes.
    pub fn size(&self) -> Option<u64> {
        let sum: u64 = self.finished.iter().map(|f| f.bytes).sum();
        (!self.finished.is_empty()).then(|| sum / self.finished.len() as u64)
    }
}

/// Backups under way.
pub struct Backups {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    taken: Mutex<(Taken, Option<Error>)>,
}

impl Shared {
    fn taken(&self) -> std::sync::MutexGuard<'_, (Taken, Option<Error>)> {
        base::lock(&self.taken)
    }
}

impl Backups {
    /// Begins; `folder` is made, and holds one backup at a time.
    pub fn start(
        method: &Method,
        programs: &Programs,
        login: Arc<Login>,
        schema: &str,
        folder: &Path,
    ) -> Result<Backups> {
        let shared = Arc::new(Shared::default());
        let (method, programs, schema) = (method.clone(), programs.clone(), schema.to_owned());
        let (folder, inner) = (folder.to_owned(), shared.clone());
        let work = move || {
            let begin = Instant::now();
            while !inner.stop.load(Ordering::SeqCst) {
                let from = begin.elapsed().as_secs_f64();
                let outcome = one(&method, &programs, &login, &schema, &folder, &inner.stop);
                let to = begin.elapsed().as_secs_f64();
                let bytes = size(&folder);
                let _ = std::fs::remove_dir_all(&folder);
                let mut taken = inner.taken();
                match outcome {
                    Ok(true) => taken.0.finished.push(Finished { from, to, bytes }),
                    Ok(false) => taken.0.broken_off = Some(to - from),
                    Err(e) => {
                        taken.1 = Some(e);
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("backups".into())
            .spawn(work)
            .map_err(|e| Error::new(Kind::Failed, format!("cannot start a thread: {e}")))?;
        Ok(Backups {
            shared,
            thread: Some(thread),
        })
    }

    /// Backups that came to their end so far; fails if one failed.
    pub fn finished(&self) -> Result<usize> {
        let taken = self.shared.taken();
        match &taken.1 {
            Some(e) => Err(e.clone()),
            None => Ok(taken.0.finished.len()),
        }
    }

    /// Breaks the one off that is under way; what was taken.
    pub fn stop(mut self) -> Result<Taken> {
        self.end();
        let taken = self.shared.taken();
        match &taken.1 {
            Some(e) => Err(e.clone()),
            None => Ok(taken.0.clone()),
        }
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes one; whether it came to its end.
fn one(
    method: &Method,
    programs: &Programs,
    login: &Login,
    schema: &str,
    folder: &Path,
    stop: &AtomicBool,
) -> Result<bool> {
    let storage = |doing: &str, e: std::io::Error| {
        Error::new(
            Kind::Storage,
            format!("cannot {doing} {}: {e}", folder.display()),
        )
    };
    std::fs::create_dir_all(folder).map_err(|e| storage("create the directory", e))?;
    let Some(steps) = programs.commands(method, login, schema, folder) else {
        while !stop.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
        }
        return Ok(false);
    };
    let log = folder.with_extension("log");
    let errors = std::fs::File::create(&log).map_err(|e| storage("write beside", e))?;
    let mut steps = steps;
    for mut command in steps.before.drain(..) {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let done = errors.try_clone().and_then(|e| command.stderr(e).status());
        let said = match done {
            Ok(status) if status.success() => continue,
            Ok(status) => status.to_string(),
            Err(e) => e.to_string(),
        };
        return Err(failed("penstock", &said, &log));
    }
    let mut children = spawn(steps, &errors)
        .map_err(|e| Error::new(Kind::Failed, format!("cannot start it: {e}")))?;
    loop {
        let mut open = false;
        for (name, child) in &mut children {
            match child.try_wait() {
                Ok(None) => open = true,
                Ok(Some(status)) if status.success() => {}
                ended => {
                    let status = ended.map_or_else(
                        |e| e.to_string(),
                        |s| s.map_or(String::new(), |s| s.to_string()),
                    );
                    let name = name.clone();
                    end(&mut children);
                    return Err(failed(&name, &status, &log));
                }
            }
        }
        if !open {
            let _ = std::fs::remove_file(&log);
            return Ok(true);
        }
        if stop.load(Ordering::SeqCst) {
            end(&mut children);
            let _ = std::fs::remove_file(&log);
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts the programs of one backup, each in a process group of its own, joined by pipes.
fn spawn(steps: Steps, errors: &std::fs::File) -> std::io::Result<Vec<(String, Child)>> {
    let mut children: Vec<(String, Child)> = Vec::new();
    let last = steps.commands.len().saturating_sub(1);
    let mut input: Option<Stdio> = None;
    for (at, mut command) in steps.commands.into_iter().enumerate() {
        command.stdin(input.take().unwrap_or_else(Stdio::null));
        command.stderr(errors.try_clone()?);
        command.stdout(match (&steps.output, at == last) {
            (_, false) => Stdio::piped(),
            (Some(path), true) => std::fs::File::create(path)?.into(),
            (None, true) => Stdio::null(),
        });
        command.process_group(0);
        let name = PathBuf::from(command.get_program());
        let name = name
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let spawned = command.spawn();
        match spawned {
            Ok(mut child) => {
                input = child.stdout.take().map(Stdio::from);
                children.push((name, child));
            }
            Err(e) => {
                end(&mut children);
                return Err(std::io::Error::new(e.kind(), format!("{name}: {e}")));
            }
        }
    }
    Ok(children)
}

/// Asks all to end, then ends them.
fn end(children: &mut [(String, Child)]) {
    use rustix::process::{Pid, Signal, kill_process_group};
    for (signal, patience) in [(Signal::TERM, PATIENCE), (Signal::KILL, PATIENCE)] {
        for (_, child) in children.iter_mut() {
            if let (Ok(None), Some(pid)) = (child.try_wait(), Pid::from_raw(child.id() as i32)) {
                let _ = kill_process_group(pid, signal);
            }
        }
        let asked = Instant::now();
        while asked.elapsed() < patience {
            if children
                .iter_mut()
                .all(|(_, c)| matches!(c.try_wait(), Ok(Some(_)) | Err(_)))
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Lines of a program's that are worth repeating.
const SAID: usize = 12;

fn failed(name: &str, status: &str, log: &Path) -> Error {
    let said = std::fs::read_to_string(log).unwrap_or_default();
    let said: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    // What it says of the error and behind it, or its last words.
    let from = said
        .iter()
        .rposition(|l| l.to_ascii_lowercase().starts_with("error"))
        .unwrap_or(said.len().saturating_sub(3));
    let said: Vec<String> = said[from..]
        .iter()
        .take(SAID)
        .map(|l| base::units::printable(l).to_string())
        .collect();
    Error::new(
        Kind::Failed,
        format!("{name} ended with {status}: {}", said.join("\n  ")),
    )
    .hint("leave the method out (--method), or see to it that the program works with this server")
}

/// What a folder holds, in bytes.
fn size(folder: &Path) -> u64 {
    let Ok(list) = std::fs::read_dir(folder) else {
        return 0;
    };
    list.flatten()
        .map(|e| match e.metadata() {
            Ok(m) if m.is_dir() => size(&e.path()),
            Ok(m) => m.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(words: &[&str]) -> Programs {
        Programs {
            mysqldump: words.iter().map(|w| (*w).to_owned()).collect(),
            mydumper: Vec::new(),
            penstock: "/bin/false".into(),
            threads: 1,
        }
    }

    fn login() -> Arc<Login> {
        let server = wire::Options::new(wire::Endpoint::Unix("/x".into()), "me");
        Arc::new(Login::new(&server).unwrap())
    }

    #[test]
    fn backups_follow_each_other_and_the_last_is_broken_off() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("backup");
        // The arguments of mysqldump become those of a shell that ignores them.
        let tool = programs(&["sh", "-c", "echo rows; test -e \"$0.no\" || sleep 0.05"]);
        let b = Backups::start(&Method::Mysqldump, &tool, login(), "s", &folder).unwrap();
        while b.finished().unwrap() < 3 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let taken = b.stop().unwrap();
        assert!(taken.finished.len() >= 3);
        assert!(taken.size().unwrap() > 10, "gzip of a few bytes");
        assert!(taken.count().unwrap() >= 3.0);
        assert!(taken.finished.windows(2).all(|w| w[0].to <= w[1].from));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_program_that_fails_or_is_not_there_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("backup");
        let tool = programs(&["sh", "-c", "echo no such schema >&2; exit 3"]);
        let b = Backups::start(&Method::Mysqldump, &tool, login(), "s", &folder).unwrap();
        let e = loop {
            if let Err(e) = b.finished() {
                break e;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(e.what.contains("no such schema"), "{e}");
        assert!(b.stop().is_err());
        let none = programs(&["/no/such/program"]);
        assert!(none.missing(&Method::Mysqldump).is_some());
        let b = Backups::start(&Method::Mysqldump, &none, login(), "s", &folder).unwrap();
        while b.finished().is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(b.stop().unwrap_err().what.contains("program"));
    }

    #[test]
    fn what_was_broken_off_counts_by_its_time() {
        let taken = Taken {
            finished: vec![Finished {
                from: 0.0,
                to: 10.0,
                bytes: 100,
            }],
            broken_off: Some(5.0),
        };
        assert_eq!(
            (taken.count(), taken.duration(), taken.size()),
            (Some(1.5), Some(10.0), Some(100))
        );
        assert_eq!(Taken::default().count(), None);
    }
}
