//! Pages by threads: one for each operation of the queue, each with pread and pwrite.

use super::buffer::Buffer;
use super::pages::{Op, PAGE, Pages, broken};
use super::window::{Tally, Window, pass};
use base::{Counters, Error, Kind, Result};
use run::Run;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Instant;

/// Threads of [`scatter`]: as many as a server has for writing pages, times four.
const SCATTER: usize = 16;

/// Does the work in that many threads. An error in one of them stops the others at their next look, and is the result.
pub fn each<T: Send>(
    run: &Run,
    threads: usize,
    work: impl Fn(&Run, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let part = run.below();
    let ended: Vec<Result<T>> = std::thread::scope(|scope| {
        let begin = |i| {
            let (part, work) = (&part, &work);
            let work = move || work(part, i).inspect_err(|_| part.cancel.raise());
            std::thread::Builder::new()
                .name(format!("disk-{}", i + 1))
                .spawn_scoped(scope, work)
        };
        let begun: Vec<_> = (0..threads).map(begin).collect();
        let ended = begun.into_iter().map(|thread| match thread {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|_| Err(Error::new(Kind::Internal, "a thread panicked"))),
            Err(e) => {
                part.cancel.raise();
                Err(Error::new(
                    Kind::Failed,
                    format!("cannot start a thread: {e}"),
                ))
            }
        });
        ended.collect()
    });
    let (done, failed): (Vec<_>, Vec<_>) = ended.into_iter().partition(Result::is_ok);
    let mut errors: Vec<Error> = failed.into_iter().filter_map(Result::err).collect();
    // Those that stopped because of another one say nothing.
    errors.sort_by_key(|e| e.kind == Kind::Interrupted);
    match errors.into_iter().next() {
        Some(_) if run.cancel.is_raised() => Err(run.interrupted()),
        Some(e) => Err(e),
        None => Ok(done.into_iter().flatten().collect()),
    }
}

/// Reads or writes pages until the window is over.
pub fn pages(job: &Pages<'_>, run: &Run, counters: &Counters, window: Window) -> Result<Tally> {
    let all = each(run, job.depth, |run, i| {
        let mut buffer = Buffer::new(PAGE, job.seed ^ i as u64);
        let mut tally = Tally::new(window)?;
        let mut places = job.places(i as u64);
        while !window.is_over(run) {
            pass(run, counters, PAGE)?;
            let at = places.next().unwrap_or(0);
            let began = Instant::now();
            match job.op {
                Op::Read => job.file.read_exact_at(buffer.bytes_mut(), at),
                Op::Write => job.file.write_all_at(buffer.bytes(), at),
            }
            .map_err(|e| broken(job.op, &e))?;
            tally.done(began, 1, PAGE as u64);
        }
        run.check()?;
        Ok(tally)
    })?;
    Tally::sum(window, &all)
}

/// Writes a page to each of these places.
pub fn scatter(file: &File, places: &[u64], page: &Buffer) -> io::Result<()> {
    let part = places.len().div_ceil(SCATTER).max(1);
    std::thread::scope(|scope| {
        let write = |places: &'_ [u64]| {
            places
                .iter()
                .try_for_each(|at| file.write_all_at(page.bytes(), *at))
        };
        let begun: Vec<_> = places
            .chunks(part)
            .map(|places| scope.spawn(move || write(places)))
            .collect();
        let ended = begun.into_iter().map(|thread| {
            let panicked = |_| Err(io::Error::other("a thread panicked"));
            thread.join().unwrap_or_else(panicked)
        });
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}
