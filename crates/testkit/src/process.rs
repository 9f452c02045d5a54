//! Starting and ending server processes.
//!
//! A child of a test must not outlive the test's process, even when that is
//! killed. Linux can send a signal to a child when its parent ends, but counts
//! the *thread* that started it as the parent; test threads come and go, so all
//! children are started by one thread that lives as long as the process.

use crate::{Error, Result};
use rustix::process::{Pid, Signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

type Request = (Command, Sender<io::Result<Child>>);

/// Starts a process that the system kills as soon as this process is gone.
pub(crate) fn spawn_bound(mut command: Command) -> io::Result<Child> {
    // SAFETY: between fork and exec only one prctl system call is made, which
    // allocates nothing and takes no lock.
    #[allow(
        unsafe_code,
        reason = "what runs between fork and exec cannot be said in safe code"
    )]
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
    }
    static STARTER: OnceLock<Mutex<Sender<Request>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (requests, inbox) = channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, answer) in inbox {
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(requests)
    });
    let gone = || io::Error::other("the thread that starts servers is gone");
    let (answer, result) = channel();
    let sender = starter.lock().map_err(|_| gone())?.clone();
    sender.send((command, answer)).map_err(|_| gone())?;
    result.recv().map_err(|_| gone())?
}

/// Starts a process that stays when this one ends, out of reach of the terminal's Ctrl-C.
pub(crate) fn spawn_detached(mut command: Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Sends a signal to a process that was started here.
pub(crate) fn signal(pid: u32, signal: Signal) -> Result<()> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let number = number.ok_or_else(|| Error(format!("{pid} is no process id")))?;
    rustix::process::kill_process(number, signal).map_err(Error::doing(format!("process {pid}")))
}

/// As Ctrl-C does.
pub fn interrupt(pid: u32) -> Result<()> {
    signal(pid, Signal::INT)
}

/// Whether the process exists and has `mark` in its command line, so that a process id that the
/// system has reused is not taken for ours.
pub(crate) fn is_alive(pid: u32, mark: &str) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains(mark)
}

/// Asks a process that is not our child to end, and kills it after `patience`.
pub(crate) fn end(pid: u32, mark: &str, patience: Duration) -> Result<()> {
    if is_alive(pid, mark) {
        signal(pid, Signal::TERM)?;
        if !gone_within(pid, mark, patience) {
            return kill(pid, mark, patience);
        }
    }
    Ok(())
}

/// Kills a process that is not our child, and waits until it is gone.
pub(crate) fn kill(pid: u32, mark: &str, patience: Duration) -> Result<()> {
    if is_alive(pid, mark) {
        signal(pid, Signal::KILL)?;
        if !gone_within(pid, mark, patience) {
            return Err(Error(format!("process {pid} does not end")));
        }
    }
    Ok(())
}

fn gone_within(pid: u32, mark: &str, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while is_alive(pid, mark) {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Waits for our child to end; false when it has not within `patience`.
pub(crate) fn wait(child: &mut Child, patience: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + patience;
    loop {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
