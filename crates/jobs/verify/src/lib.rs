//! Verifies that an archive is intact, that an archive equals a server, that two servers are equal, and
//! that a tablespace is intact.
//!
//! Rows are compared by digests of their values; definitions by what the servers show of them.

pub mod against_archive;
pub mod compare;
mod definitions;
mod generated;
pub mod narrow;
mod offline;
mod reading_order;
mod servers;
mod tablespace;
mod visible;

pub use against_archive::{against, loaded_generated_columns};
pub use definitions::Outcome as Definitions;
pub use generated::OtherValues;
pub use offline::{Offline, offline};
pub use servers::{Different, servers, servers_at};
pub use tablespace::{Tablespace, Tablespaces, tablespaces};

/// A comparison that found everything equal; anything else is an error that names it.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The first side, for the user.
    pub left: String,
    /// The second.
    pub right: String,
    /// Tables compared.
    pub tables: u64,
    /// Rows compared.
    pub rows: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Seconds it took.
    pub seconds: f64,
    /// Whether one side is an archive: its digests were compared, its chunks were not read.
    pub chunks_unread: bool,
    /// How many of the tables were compared in the files that were built for them.
    pub from_files: u64,
    /// Rows of those that were also read from the server.
    pub sampled_rows: u64,
    /// Indexes whose values were not compared: those on expressions, quoted, with their tables.
    pub indexes_not_compared: Vec<String>,
    /// What the archive lacks, where one side is an archive: the exceptions of its dump.
    pub dumped_with: Vec<String>,
    /// What was compared of the definitions; none if nothing was to be.
    pub definitions: Option<Box<Definitions>>,
}

impl Comparison {
    /// This one and an earlier one of other tables.
    pub fn and(self, earlier: Option<Comparison>) -> Comparison {
        match earlier {
            None => self,
            Some(e) => Comparison {
                tables: self.tables + e.tables,
                rows: self.rows + e.rows,
                bytes: self.bytes + e.bytes,
                seconds: self.seconds + e.seconds,
                from_files: self.from_files + e.from_files,
                sampled_rows: self.sampled_rows + e.sampled_rows,
                indexes_not_compared: [e.indexes_not_compared, self.indexes_not_compared].concat(),
                ..self
            },
        }
    }
}
