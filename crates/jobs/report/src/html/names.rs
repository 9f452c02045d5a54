//! Names of runs on a page.

use crate::record::{Kind, Record};

/// The name of a run on a page with several.
pub fn short_name(i: usize, r: &Record) -> String {
    format!("{}: {}", i + 1, kind(r.kind))
}

/// What a run was, above its title: a command of penstock, but for an article, which runs many.
pub fn command(k: Kind) -> String {
    match k {
        Kind::Article => "An article, run again".to_owned(),
        k => format!("penstock {}", kind(k)),
    }
}

/// The command of a run, without `penstock`.
pub fn kind(k: Kind) -> &'static str {
    match k {
        Kind::Dump => "dump",
        Kind::Load => "load",
        Kind::Verify => "verify",
        Kind::Rescue => "rescue",
        Kind::Check => "warm check",
        Kind::Preflight => "preflight",
        Kind::Tpcc => "bench tpcc",
        Kind::Impact => "bench impact",
        Kind::Disk => "bench disk",
        Kind::Compare => "bench compare",
        Kind::Article => "article",
        Kind::Other => "run",
    }
}
