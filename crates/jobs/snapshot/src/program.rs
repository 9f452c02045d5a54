//! Other programs that are run: those of file systems and volumes, and servers' own.
//!
//! Invariant: no shell is between; what a program says is shown as it is said, made printable.

use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use run::Run;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How often it is looked whether a program has ended.
const POLL: Duration = Duration::from_millis(5);

/// Where such programs are besides the directories of PATH.
const DIRECTORIES: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// Where a program is; the error names the package that has it.
pub(crate) fn find(name: &str, package: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).chain(DIRECTORIES.iter().map(PathBuf::from));
    let found = all.map(|d| d.join(name)).find(|p| p.is_file());
    found.ok_or_else(|| {
        Error::new(
            Kind::Usage,
            format!("the program {name} was not found on this host"),
        )
        .hint(format!("install it: Debian has it in {package}"))
    })
}

/// Runs a program and returns what it writes to standard output.
pub(crate) fn run<S: AsRef<OsStr>>(
    (name, package): (&str, &str),
    arguments: impl IntoIterator<Item = S>,
) -> Result<String> {
    let mut command = Command::new(find(name, package)?);
    command.args(arguments);
    output(command, None)
}

/// The same for a command that is put together already; with a run, a stop of it ends the program.
///
/// The terminal's Ctrl-C does not reach it: what is being removed is removed. If this process is killed, the program goes
/// on to its end: `made` knows which can be at work.
pub(crate) fn output(mut command: Command, stops: Option<&Run>) -> Result<String> {
    let shown = shown(&command);
    let cannot =
        |e: io::Error| Error::new(Kind::Failed, printable(&format!("cannot run {shown}: {e}")));
    let mut child = command
        .env("LC_ALL", "C")
        .env_remove("PENSTOCK_PASSWORD")
        .env_remove("MYSQL_PWD")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    failpoint::reached("a program runs");
    let (out, said) = (child.stdout.take(), child.stderr.take());
    let (status, out, said) = std::thread::scope(|scope| {
        let out = scope.spawn(|| text(out));
        let said = scope.spawn(|| text(said));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) => {}
                Err(e) => break Err(cannot(e)),
            }
            if let Some(run) = stops.filter(|run| run.cancel.is_raised()) {
                let _ = child.kill();
                let _ = child.wait();
                break Err(run.interrupted());
            }
            std::thread::sleep(POLL);
        };
        let joined = |t: std::thread::ScopedJoinHandle<'_, String>| t.join().unwrap_or_default();
        (status, joined(out), joined(said))
    });
    let status = status?;
    if status.success() {
        return Ok(out);
    }
    let said = said + &out;
    let lines: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    let said = lines[lines.len().saturating_sub(3)..].join("; ");
    let kind = match run::failure::says_full(&said) {
        true => Kind::Storage,
        false => Kind::Failed,
    };
    let what = format!("{shown}: {} ({status})", said.trim());
    Err(Error::new(kind, printable(&what)))
}

/// All that a program writes.
fn text(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        let _ = from.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|w| w.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}
