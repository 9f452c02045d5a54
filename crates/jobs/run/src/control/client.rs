//! The other end: which runs there are, and asking one of them.

use super::{Answer, IO_TIMEOUT, MAX_MESSAGE, Request, Status, listener, socket_address};
use base::{Error, Kind, Result};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// A run that answers.
#[derive(Clone, Debug)]
pub struct Running {
    path: PathBuf,
    /// How it stood when it was found.
    pub status: Status,
}

/// The runs of a folder.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Those that answer, by process number.
    pub answering: Vec<Running>,
    /// Process numbers of those that listen and do not: stopped by a signal, say.
    pub silent: Vec<u32>,
}

/// The runs that listen in this folder; what dead ones left behind is removed.
pub fn running(folder: &Path) -> Result<Runs> {
    let mut runs = Runs::default();
    match listener::check_private(folder) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(runs),
        Err(e) => return Err(unusable_directory(folder, &e)),
    }
    for path in live_sockets(folder).map_err(|e| unusable_directory(folder, &e))? {
        match exchange(&path, &Request::Status) {
            Ok(status) => runs.answering.push(Running { path, status }),
            // It may have ended meanwhile.
            Err(_) if connect(&path).is_err() => {}
            Err(_) => {
                let stem = path.file_stem().and_then(|s| s.to_str());
                runs.silent.extend(stem.and_then(|s| s.parse::<u32>().ok()));
            }
        }
    }
    runs.answering.sort_by_key(|r| r.status.pid);
    runs.silent.sort_unstable();
    Ok(runs)
}

fn unusable_directory(folder: &Path, e: &io::Error) -> Error {
    let shown = base::units::printable(&folder.display().to_string());
    Error::new(
        Kind::Failed,
        format!("cannot look for runs in {shown}: {e}"),
    )
}

impl Running {
    /// Asks it for something; how it stands then.
    pub fn ask(&self, request: &Request) -> Result<Status> {
        exchange(&self.path, request).map_err(|why| {
            let pid = self.status.pid;
            let why = base::units::printable(&why);
            Error::new(Kind::Failed, format!("process {pid}: {why}"))
        })
    }

    /// Whether it still listens.
    pub fn is_there(&self) -> bool {
        connect(&self.path).is_ok()
    }
}

/// The sockets at which somebody listens; others are removed.
pub(super) fn live_sockets(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let socket = std::fs::symlink_metadata(&path).is_ok_and(|m| m.file_type().is_socket());
        if !socket || path.extension().is_none_or(|e| e != "sock") {
            continue;
        }
        match connect(&path) {
            Ok(_) => found.push(path),
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                let _ = std::fs::remove_file(&path);
            }
            // Busy, or gone meanwhile.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => found.push(path),
            Err(_) => {}
        }
    }
    Ok(found)
}

fn connect(path: &Path) -> io::Result<UnixStream> {
    let (address, _folder) = socket_address(path)?;
    UnixStream::connect(address)
}

fn exchange(path: &Path, request: &Request) -> Result<Status, String> {
    let talk = || -> io::Result<Vec<u8>> {
        let mut socket = connect(path)?;
        // It serves one after the other.
        socket.set_read_timeout(Some(IO_TIMEOUT * 5))?;
        socket.set_write_timeout(Some(IO_TIMEOUT))?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        socket.write_all(&line)?;
        let mut answer = Vec::new();
        BufReader::new(socket.take(MAX_MESSAGE)).read_until(b'\n', &mut answer)?;
        Ok(answer)
    };
    let answer = talk().map_err(|e| format!("it does not answer: {e}"))?;
    match serde_json::from_slice::<Answer>(&answer) {
        Ok(Answer {
            error: Some(why), ..
        }) => Err(why),
        Ok(Answer {
            status: Some(status),
            ..
        }) => Ok(status),
        _ => Err("it answers something else than it should".to_owned()),
    }
}
