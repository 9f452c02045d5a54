//! Servers that outlive the process that starts them, for work by hand and for `./dev`: started
//! with `up`, found again by their directory, ended with `down`.

use super::{Instance, START, STOP, Setup, start};
use crate::install::{Kind, cache_directory};
use crate::{Error, Result, process};
use std::path::{Path, PathBuf};

/// A server that was started with [`up`].
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its kind.
    pub kind: Kind,
    /// Its directory: data, socket and log.
    pub directory: PathBuf,
    /// Its process.
    pub pid: u32,
    /// Its port on 127.0.0.1, if it has one.
    pub port: Option<u16>,
}

impl Standing {
    /// The unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("sock")
    }

    /// Whether the process is there.
    pub fn is_alive(&self) -> bool {
        process::is_alive(self.pid, &self.directory.to_string_lossy())
    }

    fn read(directory: &Path) -> Result<Standing> {
        let state = directory.join("state");
        let text = std::fs::read_to_string(&state).map_err(Error::doing(state.display()))?;
        let value = |name: &str| {
            text.lines()
                .find_map(|l| l.strip_prefix(name)?.strip_prefix('='))
        };
        let pid = value("pid").and_then(|v| v.parse().ok());
        Ok(Standing {
            kind: Kind::named(value("kind").unwrap_or_default())?,
            directory: directory.canonicalize()?,
            pid: pid.ok_or_else(|| Error(format!("{} names no process", state.display())))?,
            port: value("port").and_then(|v| v.parse().ok()),
        })
    }
}

/// Where servers for work by hand are, unless a directory is given.
pub fn home() -> PathBuf {
    cache_directory().join("servers")
}

/// Starts a server in `directory`, which must not exist or be empty, and leaves it running.
pub fn up(setup: &Setup, directory: &Path) -> Result<Standing> {
    if let Ok(there) = Standing::read(directory) {
        if there.is_alive() {
            return Err(Error(format!(
                "a {} server already runs in {}",
                there.kind.name(),
                directory.display()
            )));
        }
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory).map_err(Error::doing(directory.display()))?;
    if std::fs::read_dir(directory)?.next().is_some() {
        return Err(Error(format!("{} is not empty", directory.display())));
    }
    let instance = Instance::create(setup, directory)?;
    // Known before it is ready, so that `down` finds it even if waiting is interrupted.
    start(&instance, |command| {
        let child = process::spawn_detached(command)?;
        let port = instance
            .port
            .map(|p| format!("port={p}\n"))
            .unwrap_or_default();
        let state = format!(
            "kind={}\npid={}\n{port}",
            setup.install.kind.name(),
            child.id()
        );
        std::fs::write(instance.directory.join("state"), state)?;
        Ok(child)
    })?;
    Standing::read(&instance.directory)
}

/// Ends the server in `directory` and removes the directory. With `keep` the server is shut down
/// cleanly and its directory stays; without, its data is worth nothing.
pub fn down(directory: &Path, keep: bool) -> Result<Standing> {
    let server = Standing::read(directory)?;
    let mark = server.directory.to_string_lossy();
    if keep {
        process::end(server.pid, &mark, STOP)?;
        return Ok(server);
    }
    process::kill(server.pid, &mark, START)?;
    std::fs::remove_dir_all(&server.directory).map_err(Error::doing(server.directory.display()))?;
    Ok(server)
}

/// The servers under [`home`], running or not.
pub fn list() -> Vec<Standing> {
    let entries = std::fs::read_dir(home()).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|e| Standing::read(&e.path()).ok())
        .collect();
    found.sort_by(|a, b| a.directory.cmp(&b.directory));
    found
}
