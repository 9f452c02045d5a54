//! The client end of the control socket: which jobs run, and requests to one of them.

use super::directory::{check_private, connect, live_sockets};
use super::{Answer, IO_TIMEOUT, MAX_MESSAGE, Request, Status};
use base::{Error, Kind, Result};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// A job that answers.
#[derive(Clone, Debug)]
pub struct Running {
    path: PathBuf,
    /// Its status when it was found.
    pub status: Status,
}

/// The jobs whose sockets are in one directory.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Those that answer, in order of process ids.
    pub answering: Vec<Running>,
    /// Process ids of those that listen but do not answer, for example because a signal stopped them.
    pub silent: Vec<u32>,
}

/// The jobs that listen in this directory; sockets of dead processes are removed.
pub fn running(directory: &Path) -> Result<Runs> {
    let mut runs = Runs::default();
    match check_private(directory) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(runs),
        Err(e) => return Err(unusable_directory(directory, &e)),
    }
    for path in live_sockets(directory).map_err(|e| unusable_directory(directory, &e))? {
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

fn unusable_directory(directory: &Path, e: &io::Error) -> Error {
    let shown = base::units::printable(&directory.display().to_string());
    Error::new(
        Kind::Failed,
        format!("cannot list running jobs in {shown}: {e}"),
    )
}

impl Running {
    /// Sends a request; returns the status after it.
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

fn exchange(path: &Path, request: &Request) -> Result<Status, String> {
    let talk = || -> io::Result<Vec<u8>> {
        let mut socket = connect(path)?;
        // It serves one client after another.
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
        _ => Err("the answer is not a status".to_owned()),
    }
}
