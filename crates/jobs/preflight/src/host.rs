//! The server's host, as `/proc` and `/sys` show it.
//!
//! All of it is below one directory, so that a test can make a host up. Programs that show more are run by fixed names with
//! arguments that only read: see [`Host::ask`].

use crate::device::Device;
use crate::facts::Known;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A host.
#[derive(Debug)]
pub(crate) struct Host {
    root: PathBuf,
    /// The process of the server.
    pub(crate) process: u32,
    /// What programs say, where they are not run: command lines and outputs.
    answers: Option<BTreeMap<String, String>>,
}

impl Host {
    /// This host.
    pub(crate) fn this(process: u32) -> Host {
        Host {
            root: PathBuf::from("/"),
            process,
            answers: None,
        }
    }

    /// One that is made up below a directory.
    #[cfg(test)]
    pub(crate) fn made_up(root: PathBuf, process: u32, answers: BTreeMap<String, String>) -> Host {
        Host {
            root,
            process,
            answers: Some(answers),
        }
    }

    /// A path of it, which begins without `/`.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// A file of it, without blanks at its ends.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Known<String> {
        let path = self.path(path);
        let read = std::fs::read(&path);
        let text = read.map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        Ok(String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// A file of the server's process.
    pub(crate) fn of_process(&self, file: &str) -> Known<String> {
        self.read(format!("proc/{}/{file}", self.process))
    }

    /// A number of `/proc/sys`.
    pub(crate) fn sysctl(&self, name: &str) -> Known<u64> {
        let text = self.read(format!("proc/sys/{name}"))?;
        text.parse()
            .map_err(|_| format!("/proc/sys/{name} is not a number: {text}"))
    }

    /// A figure of `/proc/meminfo`, in bytes.
    pub(crate) fn memory(&self, name: &str) -> Known<u64> {
        let text = self.read("proc/meminfo")?;
        let none = || format!("/proc/meminfo has no {name}");
        let of = |l: &str| l.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
        let value = text.lines().find_map(of).ok_or_else(none)?;
        let kib: u64 = value
            .trim()
            .trim_end_matches("kB")
            .trim()
            .parse()
            .map_err(|_| none())?;
        Ok(kib.saturating_mul(1024))
    }

    /// The smaller of the host's memory and of what the server's control groups allow.
    pub(crate) fn memory_of_server(&self) -> Known<(u64, bool)> {
        let all = self.memory("MemTotal")?;
        let groups = self.of_process("cgroup")?;
        let allowed = run::memory::allowed(&groups, &self.path("sys/fs/cgroup"));
        let allowed = allowed.ok_or("the limits of its control group cannot be read")?;
        Ok((all.min(allowed), allowed < all))
    }

    /// What a program prints. It must only read.
    pub(crate) fn ask(&self, program: &str, args: &[&str]) -> Known<String> {
        let line = format!("{program} {}", args.join(" "));
        if let Some(answers) = &self.answers {
            let known = answers.get(&line).cloned();
            return known.ok_or_else(|| format!("{program} is not installed"));
        }
        // Where root has no /sbin in its path, as under cron.
        let usual = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(|d| Path::new(d).join(program));
        let Some(path) = usual.iter().find(|p| p.is_file()) else {
            return Err(format!("{program} is not installed"));
        };
        let mut command = Command::new(path);
        command.args(args).env("LC_ALL", "C").stdin(Stdio::null());
        let out = output(command, &line).map_err(|e| format!("{program} cannot be run: {e}"))??;
        if !out.status.success() {
            let said = String::from_utf8_lossy(&out.stderr);
            let said = said.lines().next().unwrap_or_default().trim();
            return Err(format!("{line} failed: {said}"));
        }
        Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }

    /// The block device of a device number.
    pub(crate) fn device(&self, number: u64) -> Known<Device> {
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let path = self.path(format!("sys/dev/block/{major}:{minor}"));
        Device::at(&path).ok_or_else(|| format!("/sys/dev/block has no device {major}:{minor}"))
    }
}

/// Longest time for a program: a device that does not answer must not hold up all other checks.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a program prints, if it ends in time; otherwise it is killed.
fn output(mut command: Command, line: &str) -> std::io::Result<Known<Output>> {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let pid = Pid::from_child(&child);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(PATIENCE) {
        Ok(output) => output.map(Ok),
        Err(_) => {
            let _ = kill_process(pid, Signal::KILL);
            Ok(Err(format!(
                "{line} did not end within {} s",
                PATIENCE.as_secs()
            )))
        }
    }
}
