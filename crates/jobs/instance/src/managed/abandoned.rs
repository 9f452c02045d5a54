//! Servers that outlived the run that started them, in a directory that nobody wants any more.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a killed process may take to be gone: its memory is given back first.
const GONE: Duration = Duration::from_secs(60);

/// Kills every process that has something within this directory as the value of an option, as a server has its data
/// directory and its socket; `false` if one is still there. Its data is lost: this is for a directory that is about to be removed, which no other program has.
pub fn end_within(directory: &Path) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    let pids = processes
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let mut all_gone = true;
    for pid in pids.filter_map(rustix::process::Pid::from_raw) {
        // A handle first: the number may be another process's by the time the command line was read.
        let flags = rustix::process::PidfdFlags::empty();
        let Ok(handle) = rustix::process::pidfd_open(pid, flags) else {
            continue;
        };
        let names = || names(pid.as_raw_nonzero().get(), directory);
        if pid == rustix::process::getpid() || !names() {
            continue;
        }
        let killed =
            rustix::process::pidfd_send_signal(&handle, rustix::process::Signal::KILL).is_ok();
        let end = Instant::now() + GONE;
        while killed && names() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        all_gone &= killed && !names();
    }
    all_gone
}

/// A pager or an editor names a file there without an option: it is left alone.
fn names(pid: i32, directory: &Path) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let inside = [b"=", directory.as_os_str().as_bytes(), b"/"].concat();
    let mut arguments = line.split(|b| *b == 0);
    arguments.any(|a| a.starts_with(b"--") && a.windows(inside.len()).any(|w| w == inside))
}
