//! Items that several workers take in their order, each worker on its own connection.

use base::Result;
use run::{Run, Stop};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use wire::Conn;

/// Has one worker for each connection work through the items. `work` gets the index of its item as well.
/// Returns the results in the order of the items.
pub fn process_all<I: Sync, O: Send>(
    run: &Run,
    conns: Vec<Conn>,
    items: &[I],
    work: impl Fn(&mut Conn, usize, &I, &Stop<'_>) -> Result<O> + Sync,
) -> Result<Vec<O>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, O)>> = Mutex::new(Vec::new());
    run.workers(conns, |_, mut conn, stop| {
        loop {
            stop.check()?;
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return Ok(());
            };
            let result = work(&mut conn, at, item, stop)?;
            base::lock(&done).push((at, result));
        }
    })?;
    let mut done = base::lock::into_inner(done);
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
