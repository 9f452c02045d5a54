//! Rows into tables by SQL: which chunk goes next (`schedule`), how many of them together (`batch_size`),
//! their bytes on the way to the server (`chunk_stream`), and the workers that send them (`loaders`).

pub(crate) mod batch_size;
pub(crate) mod chunk_stream;
pub(crate) mod loaders;
pub mod schedule;

use instance::tune;
use server::Identity;

/// Most bytes of a table that is stored in one piece: as much may have to be sent again after a kill.
const BULK_MOST: u64 = 2 << 30;

/// Most bytes of a table that is loaded as one piece, where there are `all` bytes of rows. MariaDB (10.6
/// and later) stores such a table as a bulk insert: a sixth less time for TPC-C's. A bigger one is loaded
/// chunk by chunk, or the other workers would wait for it.
pub fn bulk_insert(id: &Identity, tune: &tune::Options, all: u64, threads: usize) -> u64 {
    if id.mariadb_at_least(10, 6, 0) && tune.level != tune::Level::Off {
        BULK_MOST.min(all / threads.max(1) as u64)
    } else {
        0
    }
}
