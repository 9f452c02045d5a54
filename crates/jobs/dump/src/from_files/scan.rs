//! Rows from the leaves of a table's files into chunks.

use super::table_files::Piece;
use crate::plan::Task;
use crate::read::{Readers, write_error};
use archive::chunk::Scratch;
use base::units::printable;
use base::{Error, Kind, Result};
use run::Stop;

/// Leaves after which it is looked whether a chunk is full.
const LEAVES: usize = 16;

/// Why a scan ends early.
enum End {
    /// The rows cannot be read.
    File(innodb::read::Error),
    /// They cannot be written, or the run is stopped.
    Other(Error),
}

impl From<innodb::read::Error> for End {
    fn from(e: innodb::read::Error) -> End {
        End::File(e)
    }
}

impl Readers<'_> {
    /// Reads the rows of a piece. Rows that cannot be read are given up with all others of their table.
    pub fn read_piece(
        &self,
        task: &Task,
        piece: &Piece,
        scratch: &mut Scratch,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let table = task.series();
        let name = &table.plan.name;
        let mut number = table.next_number();
        let mut chunk = self.create(task, number, scratch)?;
        let (mut shown_rows, mut shown) = (0, 0);
        let mut rows = 0;
        for (file, leaves) in &piece.parts {
            for first in leaves.clone().step_by(LEAVES) {
                stop.check()?;
                let end = (first + LEAVES).min(leaves.end);
                let outcome = file.scan(first..end, |payload| {
                    let pushed = chunk.push(&table.plan.rows, payload);
                    pushed.map_err(|e| End::Other(write_error(name, &e)))
                });
                match outcome {
                    Ok(n) => rows += n,
                    Err(End::Other(e)) => return Err(e),
                    Err(End::File(innodb::read::Error::Io(e)))
                        if e.kind() == std::io::ErrorKind::Interrupted =>
                    {
                        stop.check()?;
                        return Err(Error::new(Kind::Interrupted, "stopped on request"));
                    }
                    Err(End::File(e)) => {
                        let path = printable(&file.path().display().to_string());
                        let why = format!("{path}: {e}");
                        crate::unreadable::give_up(&task.table, &why, self.observer);
                        return Ok(());
                    }
                }
                let raw = chunk.raw_bytes();
                self.counters.rows.add(rows - shown_rows);
                self.counters.bytes.add(raw - shown);
                (shown_rows, shown) = (rows, raw);
                let more =
                    end < leaves.end || !std::ptr::eq(file, &piece.parts[piece.parts.len() - 1].0);
                if raw >= self.max_chunk_bytes && !task.single && more {
                    self.finish(task, chunk, number)?;
                    number = table.next_number();
                    chunk = self.create(task, number, scratch)?;
                    shown = 0;
                }
            }
        }
        self.finish(task, chunk, number)?;
        Ok(())
    }
}
