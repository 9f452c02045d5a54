//! One ssh connection with the SFTP subsystem at its far end.
//!
//! The user's own ssh program makes it, so keys, agents, jump hosts, configuration and known hosts are the
//! user's, and a changed host key is refused as everywhere. What ssh says goes into the error of a connection
//! that fails. The variable `PENSTOCK_SSH` names another program, or options for it, e.g. `ssh -F FILE`.

use super::{Inner, SshDirectory, SshPlace, Unsettled, io_error};
use crate::error::Far;
use crate::remote::{Finishing, runtime, wait};
use crate::{Error, Result};
use base::RateLimiter;
use openssh_sftp_client::{Sftp, SftpOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, Command};

/// Bytes of what ssh says that are kept: its last words explain most.
const KEPT: usize = 2048;

/// A connection: ended when the last directory that uses it is dropped.
pub(super) struct Session {
    pub(super) sftp: Sftp,
    process: Process,
}

impl Session {
    /// What ssh said, on one line.
    pub(super) fn said(&self) -> Option<String> {
        self.process.said()
    }
}

/// The ssh process, and what it said.
struct Process {
    child: Mutex<Child>,
    said: Arc<Mutex<String>>,
}

impl Process {
    fn said(&self) -> Option<String> {
        let said = base::lock(&self.said);
        let lines = said
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.chars().all(|c| c == '@'));
        let text = lines.collect::<Vec<_>>().join("; ");
        (!text.is_empty()).then_some(text)
    }

    fn runs(&self) -> bool {
        matches!(base::lock(&self.child).try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Closing its input ends it; this is for one that hangs.
        let _ = child.start_kill();
    }
}

/// The connection to the account of a place: the one that is open, or a new one. Logging in is slow, may ask for
/// a password, and servers refuse more than a few at once.
fn session(place: &SshPlace) -> io::Result<Arc<Session>> {
    static OPEN: Mutex<Vec<(SshPlace, Weak<Session>)>> = Mutex::new(Vec::new());
    // Held while connecting, so that several that come together make one connection.
    let mut open = base::lock(&OPEN);
    open.retain(|(_, session)| session.strong_count() > 0);
    let found = open.iter().filter(|(of, _)| of.same_account(place));
    let mut found = found.filter_map(|(_, session)| session.upgrade());
    if let Some(session) = found.find(|session| session.process.runs()) {
        return Ok(session);
    }
    let session = Arc::new(wait(start(place))?);
    open.push((place.clone(), Arc::downgrade(&session)));
    Ok(session)
}

fn command(place: &SshPlace) -> Command {
    let program = std::env::var("PENSTOCK_SSH").unwrap_or_default();
    let mut words = program.split_whitespace();
    let program = words.next().unwrap_or("ssh").to_owned();
    // A terminal sends its interrupt to ssh as well; penstock must be able to clean up through the
    // connection. ssh keeps a signal ignored that was ignored when it began.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' INT HUP; exec \"$@\"", "sh", &program]);
    command.args(words);
    command.args([
        "-x",
        "-a",
        "-oClearAllForwardings=yes",
        "-oPermitLocalCommand=no",
    ]);
    // A far side that is gone is noticed within a minute.
    command.args(["-oServerAliveInterval=15", "-oServerAliveCountMax=4"]);
    if let Some(user) = &place.user {
        command.args(["-l", user]);
    }
    if let Some(port) = place.port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["-s", "--", &place.host, "sftp"]);
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

/// Keeps the end of what ssh says.
async fn listen(mut stderr: ChildStderr, said: Arc<Mutex<String>>) {
    let mut buffer = [0; 512];
    while let Ok(n @ 1..) = stderr.read(&mut buffer).await {
        let mut said = base::lock(&said);
        said.push_str(&String::from_utf8_lossy(&buffer[..n]));
        if said.len() > KEPT {
            let from = said.len() - KEPT;
            let from = (from..said.len())
                .find(|&i| said.is_char_boundary(i))
                .unwrap_or(0);
            said.drain(..from);
        }
    }
}

pub(super) fn connect(
    place: &SshPlace,
    limiter: Option<&Arc<RateLimiter>>,
    create: bool,
) -> Result<SshDirectory> {
    let shown = place.to_string();
    let fail = |e: io::Error| Error::new("reach", &shown, e);
    let session = session(place).map_err(fail)?;
    let mut inner = Inner {
        path: PathBuf::from(place.remote_path()),
        made: false,
        shown: shown.clone(),
        host: place.host_words(),
        limiter: limiter.cloned(),
        link: Arc::default(),
        finishing: Finishing::default(),
        unsettled: Unsettled::default(),
        session,
    };
    let made = wait(async {
        let made = create && make(&inner.session.sftp, &inner.path).await?;
        let mut fs = inner.session.sftp.fs();
        let meta = fs.metadata(&inner.path).await.map_err(|e| io_error(&e))?;
        match meta.file_type() {
            Some(t) if !t.is_dir() => Err(io::Error::from(io::ErrorKind::NotADirectory)),
            _ => Ok(made),
        }
    });
    inner.made = made.map_err(|e| {
        Error::new(
            if create { "create" } else { "open" },
            &shown,
            inner.explained(e),
        )
    })?;
    Ok(SshDirectory(Arc::new(inner)))
}

async fn start(place: &SshPlace) -> io::Result<Session> {
    let mut child = command(place)
        .spawn()
        .map_err(|e| Far::error(e.kind(), format!("cannot start ssh: {e}")))?;
    let missing = || io::Error::other("ssh started without its pipes");
    let stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    let said = Arc::new(Mutex::new(String::new()));
    let listener = runtime().spawn(listen(stderr, Arc::clone(&said)));
    let options = SftpOptions::new();
    match Sftp::new(stdin, stdout, options).await {
        Ok(sftp) => {
            let child = Mutex::new(child);
            let process = Process { child, said };
            Ok(Session { sftp, process })
        }
        Err(e) => {
            // ssh has said why, or is about to.
            let _ = tokio::time::timeout(Duration::from_secs(5), listener).await;
            let _ = tokio::time::timeout(Duration::from_secs(1), child.wait()).await;
            let process = Process {
                child: Mutex::new(child),
                said,
            };
            let why = process.said().unwrap_or_else(|| e.to_string());
            let kind = match why.as_str() {
                w if w.contains("Permission denied") || w.contains("verification failed") => {
                    io::ErrorKind::PermissionDenied
                }
                _ => io::ErrorKind::Other,
            };
            Err(Far::error(
                kind,
                format!("ssh to {}: {why}", place.host_words()),
            ))
        }
    }
}

/// Makes a directory that only its owner can enter, and what is missing above it; whether it was not there before.
async fn make(sftp: &Sftp, path: &Path) -> io::Result<bool> {
    let mut fs = sftp.fs();
    let mut missing = Vec::new();
    for above in path.ancestors().filter(|p| !p.as_os_str().is_empty()) {
        match fs.metadata(above).await {
            Ok(_) => break,
            Err(e) => match io_error(&e) {
                e if e.kind() == io::ErrorKind::NotFound => missing.push(above),
                e => return Err(e),
            },
        }
    }
    let is_new = !missing.is_empty();
    for path in missing.into_iter().rev() {
        let made = {
            let mut mode = openssh_sftp_client::metadata::Permissions::new();
            mode.set_read_by_owner(true);
            mode.set_write_by_owner(true);
            mode.set_execute_by_owner(true);
            fs.dir_builder().permissions(mode).create(path).await
        };
        if let Err(e) = made {
            // Somebody else may have made it.
            if fs.metadata(path).await.is_err() {
                let e = io_error(&e);
                return Err(io::Error::new(e.kind(), format!("{}: {e}", path.display())));
            }
        }
    }
    Ok(is_new)
}
