//! How a server is stopped and started: by the user's shell line, or, if it is a managed instance, by
//! penstock itself.
//!
//! A shell line that runs is never killed: it has its own process group, so that Ctrl-C and a kill of
//! penstock do not reach it.

use crate::managed;
use base::failpoint;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Stops and starts a server. In a journal a shell line is a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ServerCommand {
    /// A shell line; `$1` in it is `restart`, `start` or `stop`, and is added if it is not there.
    Shell(String),
    /// A server on a data directory that a load has initialized.
    Managed(managed::Mysqld),
}

impl ServerCommand {
    /// Does what the word says, in `directory` if that is given; `Err` says how it failed.
    pub(crate) fn call(
        &self,
        word: &str,
        state: &Path,
        directory: Option<&Path>,
    ) -> Result<(), String> {
        match self {
            ServerCommand::Shell(line) => shell(line, word, state, directory),
            ServerCommand::Managed(server) => match word {
                "stop" => server.stop(),
                "start" => server.start(),
                _ => server.stop().and_then(|()| server.start()),
            },
        }
    }

    /// Whether it is a managed instance, which has no other users.
    pub fn is_managed(&self) -> bool {
        matches!(self, ServerCommand::Managed(_))
    }
}

impl fmt::Display for ServerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerCommand::Shell(line) => f.write_str(line),
            ServerCommand::Managed(server) => server.fmt(f),
        }
    }
}

/// Runs a shell line.
fn shell(command: &str, word: &str, state: &Path, directory: Option<&Path>) -> Result<(), String> {
    let takes = ["$1", "${1", "$@", "$*"]
        .iter()
        .any(|p| command.contains(p));
    let line = if takes {
        command.to_owned()
    } else {
        format!("{command} \"$1\"")
    };
    // Not a pipe: the server may inherit it, and must never write into a closed one.
    let (out, mut output) = match scratch(state) {
        Ok(file) => (file.try_clone().ok(), Some(file)),
        Err(_) => (None, None),
    };
    let to = |file: Option<File>| file.map_or_else(Stdio::null, Stdio::from);
    let again = out.as_ref().and_then(|f| f.try_clone().ok());
    let mut shell = Command::new("/bin/sh");
    // A directory that no longer exists does not prevent a server from being started.
    if let Some(directory) = directory.filter(|d| d.is_dir()) {
        shell.current_dir(directory);
    }
    let status = shell
        .args(["-c", &line, "penstock", word])
        .env_remove("PENSTOCK_PASSWORD")
        .env_remove("MYSQL_PWD")
        .stdin(Stdio::null())
        .stdout(to(out))
        .stderr(to(again))
        .process_group(0)
        .status();
    failpoint::reached("the command has ended");
    let status = status.map_err(|e| format!("/bin/sh: {e}"))?;
    if status.success() {
        return Ok(());
    }
    let mut text = String::new();
    if let Some(file) = &mut output {
        let from = file.metadata().map_or(0, |m| m.len().saturating_sub(2000));
        let mut bytes = Vec::new();
        let _ = file.seek(SeekFrom::Start(from));
        let _ = file.take(2000).read_to_end(&mut bytes);
        text = String::from_utf8_lossy(&bytes).trim().replace('\n', "; ");
    }
    Err(format!(
        "{status}{}{text}",
        if text.is_empty() { "" } else { ": " }
    ))
}

/// A file without a name, for the output of the command.
fn scratch(state: &Path) -> std::io::Result<File> {
    let path = state.join(format!("server-command-{}.out", std::process::id()));
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_from_a_journal() {
        let shell = ServerCommand::Shell("systemctl \"$1\" mysql".to_owned());
        let text = serde_json::to_string(&shell).expect("a text");
        assert_eq!(text, r#""systemctl \"$1\" mysql""#);
        let read = |text: &str| serde_json::from_str::<ServerCommand>(text).expect(text);
        assert_eq!(read(&text), shell);
        let managed = r#"{"datadir":"/d","program":"/usr/sbin/mysqld","mariadb":false,"options":[],"user":null,"sizes":[1,2]}"#;
        assert!(read(managed).is_managed());
    }

    #[test]
    fn the_word_is_added_where_the_command_does_not_use_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let out = dir.path().join("out");
        for command in [
            "echo x \"$1\" > OUT; exit 0",
            "echo >OUT x",
            "${1+echo} x $1 > OUT",
        ] {
            let command = command.replace("OUT", &out.display().to_string());
            shell(&command, "restart", dir.path(), None).expect(&command);
            assert_eq!(
                fs::read_to_string(&out).expect("text"),
                "x restart\n",
                "{command}"
            );
        }
        let e =
            shell("echo no such unit; exit 5; :", "start", dir.path(), None).expect_err("fails");
        assert!(e.contains('5') && e.contains("no such unit"), "{e}");
        assert_eq!(
            fs::read_dir(dir.path()).expect("a list").count(),
            1,
            "no file is left"
        );
    }
}
