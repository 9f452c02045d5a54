//! Files whose last bytes are still on their way while their writer has gone on to the next.
//!
//! The end of a file costs several answers from the far side, and a writer that waited for them would leave the
//! link idle. So a finish that need not be durable returns at once. Invariant: whoever asks the store anything
//! about files, or syncs it, waits for all of them first; a failure is an error of every later sync and of every
//! file begun later. What it does not do: hold more than a few, because each holds memory.

use super::Link;
use crate::error::Far;
use crate::{Error, Result};
use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::thread::JoinHandle;

/// Files that are being finished at a time: so many small ones, or a quarter of that of large ones.
const MOST: usize = 16;

/// A file of no more bytes is small: of many such files, each costs its answers and no bandwidth.
const SMALL: u64 = 64 << 10;

/// The files of a store that are being finished.
#[derive(Default)]
pub(crate) struct Finishing {
    /// Each with its share of [`MOST`], the oldest first.
    threads: Mutex<VecDeque<(usize, JoinHandle<Result<()>>)>>,
    failed: Mutex<Option<Failed>>,
}

/// A failure that can be reported again.
struct Failed {
    name: String,
    kind: io::ErrorKind,
    text: String,
    far: bool,
}

impl Finishing {
    /// Finishes a file of this size elsewhere; waits if too many are on their way.
    pub(crate) fn begin(
        &self,
        link: &Link,
        bytes: u64,
        finish: impl FnOnce() -> Result<()> + Send + 'static,
    ) {
        let share = if bytes <= SMALL { 1 } else { 4 };
        let mut before = Vec::new();
        {
            let mut threads = base::lock(&self.threads);
            let mut all: usize = threads.iter().map(|(share, _)| share).sum();
            while all + share > MOST
                && let Some((oldest, thread)) = threads.pop_front()
            {
                all -= oldest;
                before.push(thread);
            }
            threads.push_back((share, std::thread::spawn(finish)));
        }
        for thread in before {
            link.waiting(|| self.ended(thread));
        }
    }

    fn ended(&self, thread: JoinHandle<Result<()>>) {
        let done = thread.join().unwrap_or_else(|_| {
            let why = io::Error::other("a transfer broke off");
            Err(Error::new("write", "a file", why))
        });
        if let Err(e) = done {
            self.fail(&e);
        }
    }

    /// From now on every sync says this.
    pub(crate) fn fail(&self, e: &Error) {
        base::lock(&self.failed).get_or_insert_with(|| Failed {
            far: e.is_far(),
            kind: e.source.kind(),
            text: e.source.to_string(),
            name: e.name.clone(),
        });
    }

    /// Waits for all of them.
    pub(crate) fn wait(&self) {
        loop {
            let Some((_, next)) = base::lock(&self.threads).pop_front() else {
                return;
            };
            self.ended(next);
        }
    }

    /// The first failure, if there was one.
    pub(crate) fn failed(&self) -> Result<()> {
        match &*base::lock(&self.failed) {
            None => Ok(()),
            Some(f) => {
                let source = if f.far {
                    Far::error(f.kind, f.text.clone())
                } else {
                    io::Error::new(f.kind, f.text.clone())
                };
                Err(Error::new("write", &f.name, source))
            }
        }
    }
}
