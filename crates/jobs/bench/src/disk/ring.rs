//! Pages by io_uring: one thread keeps a queue in the kernel full.
//!
//! The kernel reads and writes memory that is named by address. Invariant that makes this sound: the buffers belong to
//! the ring's owner ([`Queue`]), which is not dropped before the kernel has completed every operation; if that cannot be
//! waited for, the memory is never freed.
#![allow(
    unsafe_code,
    reason = "io_uring takes addresses; the proof is above and at each place"
)]

use super::buffer::Buffer;
use super::pages::{Op, PAGE, Pages, broken};
use super::window::{Tally, Window, pass};
use base::{Counters, Result};
use io_uring::{IoUring, Probe, opcode, squeue, types};
use run::Run;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::time::Instant;

/// Whether the kernel lets this process use it.
pub fn available() -> io::Result<()> {
    let ring = IoUring::new(4)?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    // Kernels before 5.6 have the ring, but not these two.
    if probe.is_supported(opcode::Read::CODE) && probe.is_supported(opcode::Write::CODE) {
        Ok(())
    } else {
        Err(io::Error::other("this kernel's is too old"))
    }
}

/// A ring with a buffer for each entry.
struct Queue {
    ring: IoUring,
    /// Not touched by this thread while the kernel uses them.
    buffers: ManuallyDrop<Vec<Buffer>>,
    in_flight: usize,
}

impl Queue {
    fn new(buffers: Vec<Buffer>, entries: usize) -> io::Result<Queue> {
        let entries = entries.next_power_of_two().max(2);
        Ok(Queue {
            ring: IoUring::new(u32::try_from(entries).unwrap_or(2))?,
            buffers: ManuallyDrop::new(buffers),
            in_flight: 0,
        })
    }

    /// Puts one operation on the buffer of this number into the queue; a buffer that is read into has no other.
    fn push(
        &mut self,
        file: &File,
        op: Op,
        buffer: usize,
        offset: u64,
        name: u64,
    ) -> io::Result<()> {
        let fd = types::Fd(file.as_raw_fd());
        let buffer = &mut self.buffers[buffer];
        let length = u32::try_from(buffer.bytes().len()).unwrap_or(0);
        let entry: squeue::Entry = match op {
            Op::Read => opcode::Read::new(fd, buffer.bytes_mut().as_mut_ptr(), length)
                .offset(offset)
                .build(),
            Op::Write => opcode::Write::new(fd, buffer.bytes().as_ptr(), length)
                .offset(offset)
                .build(),
        };
        // SAFETY: address and length are those of a buffer of this queue. It is not read, written or freed before the
        // completion is taken (`Drop`), and `file` outlives the call that pushes: every caller drains the queue, or drops
        // it, before the file is closed.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(name)) };
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        self.in_flight += 1;
        Ok(())
    }

    /// Submits what was pushed and waits for at least one completion: names, and bytes or errors.
    fn completed(&mut self, into: &mut Vec<(u64, i32)>) -> io::Result<()> {
        into.clear();
        while into.is_empty() {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            into.extend(self.ring.completion().map(|c| (c.user_data(), c.result())));
        }
        self.in_flight -= into.len().min(self.in_flight);
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut ended = Vec::new();
        while self.in_flight > 0 {
            if self.completed(&mut ended).is_err() {
                // The kernel may still use the memory: it stays allocated.
                return;
            }
        }
        // SAFETY: no operation is in flight, and this is the only place where the buffers are dropped.
        unsafe { ManuallyDrop::drop(&mut self.buffers) };
    }
}

fn outcome(result: i32) -> io::Result<()> {
    match usize::try_from(result) {
        Ok(PAGE) => Ok(()),
        Ok(n) => Err(io::Error::other(format!("{n} bytes of {PAGE}"))),
        Err(_) => Err(io::Error::from_raw_os_error(-result)),
    }
}

/// Reads or writes pages until the window is over.
pub fn pages(job: &Pages<'_>, run: &Run, counters: &Counters, window: Window) -> Result<Tally> {
    let fail = |e: io::Error| broken(job.op, &e);
    let buffers = (0..job.depth).map(|i| Buffer::new(PAGE, job.seed ^ i as u64));
    let mut queue = Queue::new(buffers.collect(), job.depth).map_err(fail)?;
    let mut tally = Tally::new(window)?;
    let mut places = job.places(0);
    let mut began = vec![Instant::now(); job.depth];
    let mut idle: Vec<usize> = (0..job.depth).collect();
    let mut ended = Vec::with_capacity(job.depth);
    loop {
        while !window.is_over(run)
            && let Some(slot) = idle.pop()
        {
            pass(run, counters, PAGE)?;
            began[slot] = Instant::now();
            let at = places.next().unwrap_or(0);
            queue
                .push(job.file, job.op, slot, at, slot as u64)
                .map_err(fail)?;
        }
        if queue.in_flight == 0 {
            break;
        }
        queue.completed(&mut ended).map_err(fail)?;
        for (name, result) in &ended {
            outcome(*result).map_err(fail)?;
            let slot = usize::try_from(*name).unwrap_or(0);
            tally.done(began[slot], 1, PAGE as u64);
            idle.push(slot);
        }
    }
    run.check()?;
    Ok(tally)
}

/// Writes a page to each of these places.
pub fn scatter(file: &File, places: &[u64], page: &Buffer) -> io::Result<()> {
    let mut copy = Buffer::new(PAGE, 0);
    copy.bytes_mut().copy_from_slice(page.bytes());
    let mut queue = Queue::new(vec![copy], places.len())?;
    for (i, at) in places.iter().enumerate() {
        queue.push(file, Op::Write, 0, *at, i as u64)?;
    }
    let mut ended = Vec::with_capacity(places.len());
    while queue.in_flight > 0 {
        queue.completed(&mut ended)?;
        ended.iter().try_for_each(|(_, result)| outcome(*result))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn pages_arrive_where_they_belong() {
        if available().is_err() {
            return;
        }
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 * PAGE as u64).unwrap();
        let page = Buffer::new(PAGE, 5);
        scatter(&file, &[0, 3 * PAGE as u64], &page).unwrap();
        let mut found = vec![0; PAGE];
        for (at, same) in [(0, true), (1, false), (3, true)] {
            file.read_exact_at(&mut found, at * PAGE as u64).unwrap();
            assert_eq!(found == page.bytes(), same, "{at}");
        }
        // An error of the kernel is one of ours, and the rest is waited for.
        let closed = std::fs::File::open("/dev/null").unwrap();
        assert!(scatter(&closed, &[0, PAGE as u64], &page).is_err());
    }
}
