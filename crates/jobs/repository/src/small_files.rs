//! Small files of a repository, read several at a time: from afar each of them costs a request.

use std::sync::Mutex;
use store::Store;

/// Files that are read at a time.
const READERS: usize = 16;

/// Reads these files, in no particular order; one that was removed since it was listed is left out.
///
/// A file of more than `limit` bytes is an error.
pub(crate) fn read_each(
    store: &dyn Store,
    files: Vec<store::Entry>,
    limit: u64,
    take: impl Fn(&store::Entry, Vec<u8>) + Sync,
) -> store::Result<()> {
    let readers = READERS.min(files.len());
    let (left, failed) = (Mutex::new(files), Mutex::new(None));
    std::thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                loop {
                    let Some(file) = base::lock(&left).pop() else {
                        return;
                    };
                    match store.read_all(&file.name, limit) {
                        Ok(bytes) => take(&file, bytes),
                        Err(e) if e.not_found() => {}
                        Err(e) => {
                            *base::lock(&failed) = Some(e);
                            return;
                        }
                    }
                }
            });
        }
    });
    base::lock::into_inner(failed).map_or(Ok(()), Err)
}
