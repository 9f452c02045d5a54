//! Standard input as an archive.

use base::units::printable;
use base::{Counters, Error, Kind, Result};
use run::{Run, Stop, failure};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io::{self, BufRead as _, Read};
use std::path::Path;
use std::sync::Mutex;
use store::stream::{self, Broken};
use store::{Directory, Store};

/// How often a read that waits looks whether the run has ended.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// Refuses a standard input that holds no archive.
pub(crate) fn expected() -> Result<()> {
    if io::stdin().lock().fill_buf().is_ok_and(<[u8]>::is_empty) {
        return Err(broken(Broken::Cut));
    }
    match stream::is_on_stdin() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Error::new(
            Kind::Usage,
            "standard input is not an archive: it does not begin as a stream of penstock",
        )
        .hint("penstock dump --to - and penstock copy DIR - write one; if they failed, see what they say")),
        Err(e) => Err(Error::new(
            Kind::Storage,
            format!("cannot read standard input: {e}"),
        )),
    }
}

/// Takes the archive on standard input into an empty directory of this host.
pub fn unpack(run: &Run, into: &Path) -> Result<()> {
    expected()?;
    let directory = Directory::create(into)
        .map_err(|e| failure::store(format_args!("cannot write into {}", into.display()), &e))?;
    let directory = directory.through(&run.disk_limiter);
    let phase = run.phase("reading standard input", 1);
    receive(run, &directory, &phase.counters)?;
    run.check()
}

/// Takes the archive on standard input; returns the number of files, and their bytes.
pub(crate) fn receive(run: &Run, into: &dyn Store, counters: &Counters) -> Result<(u64, u64)> {
    let received = Mutex::new(None);
    run.workers(vec![()], |_, (), stop| {
        let mut input = Input {
            buffered: io::stdin().lock().fill_buf().map_or(0, <[u8]>::len),
            run,
            stop,
            counters,
        };
        let done = stream::receive(&mut input, into);
        if stop.is_requested() {
            return Err(run.interrupted());
        }
        *base::lock(&received) = Some(done.map_err(broken)?);
        Ok(())
    })?;
    let received = base::lock::into_inner(received);
    Ok(received.map_or((0, 0), |r| (r.files, r.bytes)))
}

fn broken(e: Broken) -> Error {
    let said = printable(&format!("the archive on standard input: {e}"));
    match e {
        Broken::NotOne => Error::new(Kind::Usage, said),
        Broken::Version(_) => Error::new(Kind::Archive, said).hint("use a newer version of penstock"),
        Broken::Cut => Error::new(Kind::Archive, said).hint(
            "nothing of it was used; see what the command in front of the pipe says (set -o pipefail keeps its exit code)",
        ),
        Broken::Damaged(_) => Error::new(Kind::Archive, said).hint("nothing of it was used; send it again"),
        Broken::Read(_) => Error::new(Kind::Storage, said),
        Broken::Store(e) => failure::store("cannot store the archive from standard input", &e),
    }
}

/// Standard input, read by one who can be stopped.
struct Input<'a> {
    /// Bytes that were read already, to see what it is.
    buffered: usize,
    run: &'a Run,
    stop: &'a Stop<'a>,
    counters: &'a Counters,
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        let n = if self.buffered > 0 {
            let most = buffer.len().min(self.buffered);
            let n = stdin.lock().read(&mut buffer[..most])?;
            self.buffered -= n;
            n
        } else {
            loop {
                if self.stop.is_requested() {
                    return Err(io::Error::other("the run was stopped"));
                }
                let mut wanted = [PollFd::new(&stdin, PollFlags::IN)];
                match rustix::event::poll(&mut wanted, Some(&LOOK)) {
                    Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                    Ok(_) => {}
                    Err(e) => return Err(e.into()),
                }
                match rustix::io::read(&stdin, &mut *buffer) {
                    Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                    Ok(n) => break n,
                    Err(e) => return Err(e.into()),
                }
            }
        };
        if !self.run.limiter.acquire_all(n) {
            return Err(io::Error::other("the run was stopped"));
        }
        self.counters.bytes.add(n as u64);
        self.counters.stored.add(n as u64);
        Ok(n)
    }
}
