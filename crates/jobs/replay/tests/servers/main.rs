//! Replays against real servers: what a real source wrote, applied by a real target's own applier.
//!
//! The judge is the servers' own program: `mysqlbinlog` (`mariadb-binlog`) writes the same part of the log into a third
//! server, and both must have the same tables with the same checksums.

mod kit;

mod detached;
mod failures;
mod gtids;
mod stops;
