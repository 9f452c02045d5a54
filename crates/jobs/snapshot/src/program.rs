//! Other programs that are run: those of file systems and volumes, and servers' own.
//!
//! Invariant: no shell is between; what a program says is shown as it is said, made printable.

use base::units::printable;
use base::{Error, Kind, Result};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

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
    output(command)
}

/// The same for a command that is put together already.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let shown = shown(&command);
    let out = command
        .env("LC_ALL", "C")
        .env_remove("PENSTOCK_PASSWORD")
        .env_remove("MYSQL_PWD")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Error::new(Kind::Failed, printable(&format!("cannot run {shown}: {e}"))))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = [out.stderr, out.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    let said = lines[lines.len().saturating_sub(3)..].join("; ");
    let kind = match run::failure::says_full(&said) {
        true => Kind::Storage,
        false => Kind::Failed,
    };
    let what = format!("{shown}: {} ({})", said.trim(), out.status);
    Err(Error::new(kind, printable(&what)))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|w| w.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}
