//! The program under test: built once, run without the user's own settings, and never waited for
//! without a limit.

use super::waiting::until;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No run of these tests takes nearly as long; longer means that it hangs.
const PATIENCE: Duration = Duration::from_secs(150);

/// The binary: the one that `PENSTOCK_BIN` names (such as a release build), or the workspace's own,
/// brought up to date.
pub fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(named) = std::env::var_os("PENSTOCK_BIN").filter(|v| !v.is_empty()) {
            return named.into();
        }
        // target/PROFILE/deps/whole-HASH
        let own = std::env::current_exe().expect("a path of the test itself");
        let profile = own
            .ancestors()
            .nth(2)
            .expect("a profile directory")
            .to_owned();
        let target = profile.parent().expect("a target directory");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([
            "build",
            "--quiet",
            "--package",
            "penstock",
            "--bin",
            "penstock",
        ]);
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        cargo
            .arg("--target-dir")
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        // Those of this package, which cargo has set for the tests: a build script that asks for one (ring's does) would
        // be run again, and everything above it compiled again, in each build after this one.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if ["CARGO_PKG_", "CARGO_MANIFEST_"]
                .iter()
                .any(|p| name.starts_with(p))
            {
                cargo.env_remove(&*name);
            }
        }
        let out = cargo.output().expect("cargo runs");
        assert!(
            out.status.success(),
            "penstock does not build:\n{}",
            String::from_utf8_lossy(&out.stderr)
        );
        profile.join("penstock")
    })
}

/// Bytes as text.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// How a run ended, and what it printed.
#[derive(Debug)]
pub struct Done {
    /// Exit code, or 128 and the signal that ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// The same as it is, where it is no text.
    pub bytes: Vec<u8>,
    /// Standard error.
    pub err: String,
    /// How it was called, for messages.
    pub line: String,
}

impl Done {
    /// Asserts an exit code.
    #[track_caller]
    pub fn code(self, wanted: i32) -> Done {
        assert_eq!(
            self.code, wanted,
            "{}\n{}\n{}",
            self.line, self.out, self.err
        );
        self
    }

    /// Asserts success.
    #[track_caller]
    pub fn ok(self) -> Done {
        self.code(0)
    }

    /// Asserts that each of these was printed, on either stream.
    #[track_caller]
    pub fn says(self, texts: &[&str]) -> Done {
        for text in texts {
            let there = self.out.contains(text) || self.err.contains(text);
            assert!(
                there,
                "{text:?} was not said by {}\n{}\n{}",
                self.line, self.out, self.err
            );
        }
        self
    }

    /// Both streams.
    pub fn said(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// Whether the summary says how the target becomes a replica.
    pub fn offers_a_replica(&self) -> bool {
        self.said().contains("a replica, by ")
    }

    /// The lines of `--json`, each parsed.
    #[track_caller]
    pub fn json(&self) -> Vec<serde_json::Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.out.lines().map(parse).collect()
    }

    /// The summary among the lines of `--json`.
    #[track_caller]
    pub fn summary(&self) -> serde_json::Value {
        let found = self.json().into_iter().find(|v| v["event"] == "summary");
        found.unwrap_or_else(|| panic!("no summary\n{}\n{}", self.out, self.err))
    }
}

/// A run that is being prepared.
pub struct Tool {
    command: Command,
    input: Vec<u8>,
}

impl Tool {
    /// The program with these arguments, in an environment of its own.
    pub fn new<S: Into<OsString>>(args: impl IntoIterator<Item = S>) -> Tool {
        let mut command = Command::new(path());
        command.args(args.into_iter().map(Into::into));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env(
                "HOME",
                testkit::server::home_directory().expect("a home directory"),
            )
            // Nor what /etc/penstock of this machine says.
            .env("PENSTOCK_CONFIG", "/dev/null")
            .env("USER", "nobody");
        Tool {
            command,
            input: Vec::new(),
        }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Tool {
        self.command.arg(arg.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Tool {
        self.command.args(args.into_iter().map(Into::into));
        self
    }

    /// An environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Tool {
        self.command.env(name, value.into());
        self
    }

    /// What it reads on standard input.
    #[must_use]
    pub fn input(mut self, text: impl AsRef<[u8]>) -> Tool {
        self.input = text.as_ref().to_vec();
        self
    }

    /// Runs it and waits for its end.
    pub fn run(self) -> Done {
        self.start().wait()
    }

    /// Runs it up to a failpoint, and has it get a Ctrl-C there.
    #[track_caller]
    pub fn interrupted_at(self, place: &str) -> Done {
        let run = self.env("PENSTOCK_STOP_AT", place).start();
        run.until_stopped();
        run.signal(rustix::process::Signal::INT);
        run.signal(rustix::process::Signal::CONT);
        run.wait()
    }

    /// Starts it.
    pub fn start(self) -> Running {
        self.begin(Stream::read)
    }

    /// Starts it and closes its outputs at once: whatever it prints breaks the pipe.
    pub fn start_unheard(self) -> Running {
        self.begin(|pipe| {
            drop(pipe);
            Stream::default()
        })
    }

    fn begin(mut self, hear: impl Fn(Box<dyn Read + Send>) -> Stream) -> Running {
        let line = format!("{:?}", self.command)
            .replace(" \"", " ")
            .replace('"', "");
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the program starts");
        if let Some(mut input) = child.stdin.take() {
            // A program may end without reading its input.
            let _ = input.write_all(&self.input);
        }
        let out = hear(Box::new(child.stdout.take().expect("a pipe")));
        let err = hear(Box::new(child.stderr.take().expect("a pipe")));
        Running {
            child,
            out,
            err,
            line,
        }
    }
}

/// What a run has written to one of its outputs so far.
#[derive(Default)]
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Stream {
    fn read(mut pipe: Box<dyn Read + Send>) -> Stream {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let all = bytes.clone();
        let thread = std::thread::spawn(move || {
            let mut some = [0; 8192];
            while let Ok(n @ 1..) = pipe.read(&mut some) {
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.extend_from_slice(&some[..n]);
            }
        });
        Stream {
            bytes,
            thread: Some(thread),
        }
    }

    fn text(&self) -> String {
        lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the output is closed.
    fn end(&mut self) -> Vec<u8> {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a reader");
        }
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A run that is under way.
pub struct Running {
    child: Child,
    out: Stream,
    err: Stream,
    line: String,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the program is there");
    }

    /// Waits until it has written this to one of its outputs.
    #[track_caller]
    pub fn until_it_says(&self, text: &str) {
        until(text, || {
            self.out.text().contains(text) || self.err.text().contains(text)
        });
    }

    /// Waits until it is stopped, as by `PENSTOCK_STOP_AT`.
    #[track_caller]
    pub fn until_stopped(&self) {
        until("a run that is stopped", || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()));
            let stat = stat.expect("a process");
            let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
            state.starts_with('T')
        });
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Waits for its end; a run that hangs is killed and fails the test.
    #[track_caller]
    pub fn wait(mut self) -> Done {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().expect("a child") {
                Some(status) => break Some(status),
                None if Instant::now() > end => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let bytes = self.out.end();
        let (out, err) = (lossy(&bytes), lossy(&self.err.end()));
        let Some(status) = status else {
            panic!("{} hangs\n{out}\n{err}", self.line)
        };
        let code = status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Done {
            code,
            out,
            bytes,
            err,
            line: std::mem::take(&mut self.line),
        }
    }
}

impl Drop for Running {
    /// A test that fails in between leaves no program behind.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
