//! The socket that a job listens on: `PID.sock` in a directory that only its user can enter.
//!
//! The socket gets its final name only when it answers. So a socket of that name that does not answer
//! is certainly left over, and any process that finds it may remove it.

use super::directory::{check_private, live_sockets, socket_address};
use super::{Answer, IO_TIMEOUT, MAX_MESSAGE, Request, tunables};
use crate::Run;
use rustix::net::sockopt;
use std::fs::{DirBuilder, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two updates of the job's pace.
const POLL_EVERY: Duration = Duration::from_millis(250);

/// The listener of a job; it ends when this is dropped.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Makes `run` listen in `directory`, which is created if necessary.
pub fn open(directory: &Path, run: &Run) -> io::Result<Control> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    check_private(directory)?;
    // Removes the sockets of dead jobs.
    live_sockets(directory)?;
    let pid = std::process::id();
    let new = directory.join(format!(".{pid}.new"));
    let _ = std::fs::remove_file(&new);
    let listener = {
        let (address, _directory) = socket_address(&new)?;
        UnixListener::bind(address)?
    };
    std::fs::set_permissions(&new, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    // A process of the same id may run on another host, or in another container, with the same
    // directory.
    let names = (0..).map(|n| match n {
        0 => format!("{pid}.sock"),
        n => format!("{pid}-{n}.sock"),
    });
    let path = names
        .take(100)
        .map(|name| directory.join(name))
        .find(|p| std::fs::hard_link(&new, p).is_ok());
    let _ = std::fs::remove_file(&new);
    let path = path.ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))?;
    let end = Arc::new(AtomicBool::new(false));
    let (run, over) = (run.clone(), end.clone());
    let listen = move || {
        while !over.load(Ordering::SeqCst) {
            run.status.tick();
            match listener.accept() {
                // An error with one client does not concern the job.
                Ok((client, _)) => drop(serve(&run, client)),
                Err(_) => wait(&listener),
            }
        }
    };
    let spawned = std::thread::Builder::new()
        .name("control".into())
        .spawn(listen);
    let thread = spawned.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
    Ok(Control {
        path,
        end,
        thread: Some(thread),
    })
}

fn wait(listener: &UnixListener) {
    use rustix::event::{PollFd, PollFlags, Timespec};
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    let time = Timespec::try_from(POLL_EVERY).ok();
    if rustix::event::poll(&mut polled, time.as_ref()).is_err() {
        std::thread::sleep(POLL_EVERY);
    }
}

fn serve(run: &Run, mut client: UnixStream) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let who = sockopt::socket_peercred(&client)?.uid;
    if who != rustix::process::geteuid() && !who.is_root() {
        return Ok(());
    }
    let answer = match read_request(&client) {
        Ok(Some(line)) => match serde_json::from_str::<Request>(&line) {
            Ok(request) => execute(run, &request),
            Err(e) => refusal(format!("this is not a request: {e}")),
        },
        Ok(None) => refusal("this is not a request".to_owned()),
        Err(e) => return Err(e),
    };
    client.set_write_timeout(Some(IO_TIMEOUT))?;
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    client.write_all(&line)
}

/// Reads one line of limited length within limited time; `None` if there is no complete line.
fn read_request(client: &UnixStream) -> io::Result<Option<String>> {
    /// A reader with one deadline for all reads, however slowly bytes arrive.
    struct WithDeadline<'a>(&'a UnixStream, Instant);
    impl Read for WithDeadline<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let left = self.1.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.0.set_read_timeout(Some(left))?;
            let mut socket = self.0;
            socket.read(buf)
        }
    }
    let until = WithDeadline(client, Instant::now() + IO_TIMEOUT);
    let mut line = Vec::new();
    BufReader::new(until.take(MAX_MESSAGE)).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Ok(None);
    }
    Ok(String::from_utf8(line).ok())
}

fn refusal(why: String) -> Answer {
    Answer {
        error: Some(why),
        status: None,
    }
}

fn execute(run: &Run, request: &Request) -> Answer {
    match request {
        Request::Status => {}
        Request::Set { set } => match tunables::changes(run, set) {
            Ok(changes) => {
                for change in changes {
                    change(run);
                }
                let said: Vec<String> = set.iter().map(|(n, v)| format!("{n}={v}")).collect();
                run.observer.note(format!("set: {}", said.join(" ")));
            }
            Err(why) => return refusal(why),
        },
        Request::Pause if !run.limiter.paused() => {
            run.limiter.set_paused(true);
            run.observer.note("paused by the operator".to_owned());
        }
        Request::Resume if run.limiter.paused() => {
            run.limiter.set_paused(false);
            run.observer.note("resumed by the operator".to_owned());
        }
        Request::Pause | Request::Resume => {}
        Request::Stop => {
            run.cancel.raise();
            run.observer
                .note("stopping, as penstock stop asked".to_owned());
        }
    }
    Answer {
        error: None,
        status: Some(super::status(run)),
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.end.store(true, Ordering::SeqCst);
        // A client wakes the thread from its poll.
        if let Ok((address, _directory)) = socket_address(&self.path) {
            let _ = UnixStream::connect(address);
        }
        let _ = std::fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
