//! Built-in rates: what each amount costs on the machine of the recorded benchmarks (`bench/rows`, `bench/restore`:
//! 2 cores, data in memory, TPC-C; the shares of rows, values and bytes by tables of 10 to 300 columns), in seconds. They
//! are what a forecast has before there is a run on a host, and the shape of every later one: which amount a stage depends
//! on, and how it shares the cores.
//!
//! Times of rows are seconds of one core, of penstock and of a server on the same host together.

/// What moving rows costs: each row, each of its values, and each of its bytes.
pub type Rows = [f64; 3];

/// Out of a server: found, formatted, sent, digested, compressed with zstd:1, written.
pub const DUMP: Rows = [0.5e-6, 60e-9, 4e-9];
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
/// A tablespace: template, import, its syncs.
pub const TABLESPACE: f64 = 0.05;
/// Read and compared.
pub const COMPARE: Rows = [0.15e-6, 25e-9, 4e-9];
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

/// By `LOAD DATA`, with their indexes.
pub fn load(flavour: &str) -> Rows {
    [
        of(flavour, 3.5e-6, 2.2e-6),
        of(flavour, 80e-9, 90e-9),
        of(flavour, 17e-9, 12e-9),
    ]
}

/// In a tablespace that is built, with its indexes, and compared.
pub fn build(flavour: &str) -> Rows {
    [
        of(flavour, 0.4e-6, 0.25e-6),
        of(flavour, 60e-9, 75e-9),
        of(flavour, 7e-9, 4.5e-9),
    ]
}

/// A table that is created.
pub fn create_table(flavour: &str) -> f64 {
    of(flavour, 0.012, 0.004)
}

/// A data directory that is made, and a server on it, started and shut down.
pub fn own_server(flavour: &str) -> f64 {
    of(flavour, 4.0, 0.8)
}

/// A server that is stopped and started.
pub fn restart(flavour: &str) -> f64 {
    of(flavour, 2.5, 0.6)
}
