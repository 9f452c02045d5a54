//! Runs the operator's own command, which sends a share of the traffic to a server.
//!
//! It is a line of the shell, as the operator typed it; what is added is a number of ours. No password is in its environment.

use base::units::printable;
use run::Run;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Bytes of its output that a message shows at most.
const SHOWN: u64 = 2000;

/// Runs it with a percentage; the error says how it ended.
pub fn call(run: &Run, command: &str, percent: u8, longest: Duration) -> Result<(), String> {
    let takes = ["$1", "${1", "$@", "$*"];
    let line = match takes.iter().any(|p| command.contains(p)) {
        true => command.to_owned(),
        false => format!("{command} \"$1\""),
    };
    let mut output = tempfile::tempfile().map_err(|e| format!("no file for its output: {e}"))?;
    let to = || {
        output
            .try_clone()
            .map_or_else(|_| Stdio::null(), Stdio::from)
    };
    let mut child = Command::new("/bin/sh")
        .args(["-c", &line, "penstock", &percent.to_string()])
        .env_remove("PENSTOCK_PASSWORD")
        .env_remove("MYSQL_PWD")
        .stdin(Stdio::null())
        .stdout(to())
        .stderr(to())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("/bin/sh: {e}"))?;
    let ended = wait(run, &mut child, longest)?;
    if ended.success() {
        return Ok(());
    }
    let from = output
        .metadata()
        .map_or(0, |m| m.len().saturating_sub(SHOWN));
    let mut bytes = Vec::new();
    let _ = output.seek(SeekFrom::Start(from));
    let _ = output.take(SHOWN).read_to_end(&mut bytes);
    let said = String::from_utf8_lossy(&bytes).trim().replace('\n', "; ");
    let separator = if said.is_empty() { "" } else { ": " };
    Err(printable(&format!("{ended}{separator}{said}")))
}

/// Waits for its end; one that takes too long, or is there at a stop, is killed with all that it started.
fn wait(run: &Run, child: &mut Child, longest: Duration) -> Result<ExitStatus, String> {
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(e) => return Err(e.to_string()),
        }
        let why = match (run.check().is_err(), begin.elapsed() > longest) {
            (true, _) => "it was ended by the stop of this run".to_owned(),
            (_, true) => format!(
                "it took longer than {:.1} s and was ended",
                longest.as_secs_f64()
            ),
            _ => {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
        };
        let group = rustix::process::Pid::from_child(child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = child.wait();
        return Err(why);
    }
}
