//! Built-in rates: what each amount costs on the machine of the recorded benchmarks (`bench/rows`, `bench/restore`:
//! 2 cores, data in memory, TPC-C), in seconds. They are what a forecast has before there is a run on a host, and the
//! shape of every later one: which amount a stage depends on, and how it shares the cores.
//!
//! Times of rows are seconds of one core, of penstock and of a server on the same host together.

/// A row out of a server: it is found, formatted, sent.
pub const DUMP_ROW: f64 = 0.4e-6;
/// A byte of it: formatted, digested, compressed with zstd:1, written.
pub const DUMP_BYTE: f64 = 4.9e-9;
/// The same without compression, as a share; and what each level above 1 adds.
pub const UNCOMPRESSED: f64 = 0.75;
/// See [`UNCOMPRESSED`].
pub const EACH_LEVEL: f64 = 0.35;
/// A definition that is read and written.
pub const DEFINITION: f64 = 1e-3;
/// A byte of rows whose file is made durable at the end.
pub const FINISH_BYTE: f64 = 0.2e-9;
/// A byte of an archive that is compared with its digest.
pub const CHECK_BYTE: f64 = 1e-9;
/// A row by `LOAD DATA`, with its indexes.
pub const LOAD_ROW: f64 = 3e-6;
/// A byte of it.
pub const LOAD_BYTE: f64 = 13e-9;
/// A tablespace: template, import, its syncs.
pub const TABLESPACE: f64 = 0.05;
/// A row in a tablespace that is built, with its indexes, and compared.
pub const BUILD_ROW: f64 = 1e-6;
/// A byte of it.
pub const BUILD_BYTE: f64 = 12e-9;
/// A row that is read and compared.
pub const COMPARE_ROW: f64 = 0.3e-6;
/// A byte of it.
pub const COMPARE_BYTE: f64 = 2e-9;
/// A view, routine or event that is created.
pub const OBJECT: f64 = 3e-3;
/// A byte of a data directory that is copied.
pub const COPY_BYTE: f64 = 2e-9;
/// A byte of a binary log that a server applies.
pub const REPLAY_BYTE: f64 = 60e-9;

/// What a flavour costs, where they differ, by name in small letters: MySQL, MariaDB.
fn of(flavour: &str, mysql: f64, mariadb: f64) -> f64 {
    match flavour {
        "mariadb" => mariadb,
        _ => mysql,
    }
}

/// A table that is created.
pub fn create_table(flavour: &str) -> f64 {
    of(flavour, 0.012, 0.004)
}

/// A data directory that is made, and a server on it, started and shut down.
pub fn own_server(flavour: &str) -> f64 {
    of(flavour, 4.0, 1.5)
}

/// A server that is stopped and started.
pub fn restart(flavour: &str) -> f64 {
    of(flavour, 2.5, 1.5)
}
