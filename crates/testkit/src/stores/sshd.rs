//! An ssh server with the SFTP subsystem, for this user alone.

use super::{Process, free_port};
use crate::process::spawn_bound;
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A running ssh server.
#[derive(Debug)]
pub struct Sshd {
    process: Process,
    directory: TempDir,
    port: u16,
}

/// Where the program is; it must be started by its full path.
fn program() -> Option<PathBuf> {
    ["/usr/sbin/sshd", "/usr/bin/sshd", "/sbin/sshd"]
        .iter()
        .map(PathBuf::from)
        .find(|p| p.is_file())
}

fn key(path: &Path) -> Result<()> {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path)
        .status()
        .map_err(Error::doing("ssh-keygen"))?;
    if made.success() {
        return Ok(());
    }
    Err(Error(format!("ssh-keygen: {made}")))
}

impl Sshd {
    /// Starts one; `None` if this machine has none.
    pub fn start() -> Result<Option<Sshd>> {
        let Some(program) = program() else {
            return Ok(None);
        };
        // As root the server drops its privileges in this directory, which a package would make at boot.
        if rustix::process::getuid().is_root() {
            std::fs::create_dir_all("/run/sshd").map_err(Error::doing("/run/sshd"))?;
        }
        let directory = tempfile::tempdir().map_err(Error::doing("a directory"))?;
        let dir = directory.path();
        key(&dir.join("host"))?;
        key(&dir.join("user"))?;
        let port = free_port()?;
        let shown = dir.display();
        let write = |name: &str, text: String| {
            std::fs::write(dir.join(name), text).map_err(Error::doing(name.to_owned()))
        };
        write(
            "server.conf",
            format!(
                "Port {port}\nListenAddress 127.0.0.1\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/user.pub\n\
                 StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
                 PidFile none\nMaxStartups 100\nSubsystem sftp internal-sftp\n"
            ),
        )?;
        let host =
            std::fs::read_to_string(dir.join("host.pub")).map_err(Error::doing("host.pub"))?;
        write("known", format!("[127.0.0.1]:{port} {host}"))?;
        write("client.conf", client(dir, "user", "known"))?;
        let log = std::fs::File::create(dir.join("log")).map_err(Error::doing("a log"))?;
        let mut command = Command::new(program);
        command
            .args(["-D", "-e", "-f"])
            .arg(dir.join("server.conf"));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = spawn_bound(command).map_err(Error::doing("sshd"))?;
        Ok(Some(Sshd {
            process: Process::started(child, "sshd", port)?,
            directory,
            port,
        }))
    }

    /// The URL of an absolute path.
    pub fn url(&self, path: &Path) -> String {
        let user = std::env::var("USER").ok().filter(|u| !u.is_empty());
        // The login of a process without one is the account's.
        let user = user.map(|u| format!("{u}@")).unwrap_or_default();
        format!("ssh://{user}127.0.0.1:{}{}", self.port, path.display())
    }

    /// The value of `PENSTOCK_SSH` with which this server is reached and believed.
    pub fn ssh(&self) -> String {
        format!(
            "ssh -F {}",
            self.directory.path().join("client.conf").display()
        )
    }

    /// The same, with another host key expected, as if the host had been exchanged.
    pub fn ssh_expecting_another_host(&self) -> Result<String> {
        let dir = self.directory.path();
        if !dir.join("other").exists() {
            key(&dir.join("other"))?;
        }
        let other =
            std::fs::read_to_string(dir.join("other.pub")).map_err(Error::doing("a key"))?;
        let known = format!("[127.0.0.1]:{} {other}", self.port);
        std::fs::write(dir.join("known.other"), known).map_err(Error::doing("known hosts"))?;
        self.with_client("other-host.conf", "user", "known.other")
    }

    /// The same, with a key that the server does not accept.
    pub fn ssh_with_another_key(&self) -> Result<String> {
        let dir = self.directory.path();
        if !dir.join("stranger").exists() {
            key(&dir.join("stranger"))?;
        }
        self.with_client("other-key.conf", "stranger", "known")
    }

    fn with_client(&self, name: &str, key: &str, known: &str) -> Result<String> {
        let path = self.directory.path().join(name);
        std::fs::write(&path, client(self.directory.path(), key, known))
            .map_err(Error::doing("a configuration"))?;
        Ok(format!("ssh -F {}", path.display()))
    }

    /// Its port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

fn client(dir: &Path, key: &str, known: &str) -> String {
    let shown = dir.display();
    format!(
        "Host *\nIdentityFile {shown}/{key}\nIdentitiesOnly yes\nUserKnownHostsFile {shown}/{known}\n\
         GlobalKnownHostsFile none\nStrictHostKeyChecking yes\nBatchMode yes\nLogLevel ERROR\n"
    )
}
