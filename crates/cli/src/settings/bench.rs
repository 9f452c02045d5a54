//! What the benchmarks shall do.

use super::{level, rules, state, threads};
use crate::args::bench::{Disk, Impact, TpccCheck, TpccLoad, TpccRun};
use crate::args::values::Engine;
use base::{Error, Kind, Result};
use bench::disk::{self, Choice, Pattern};
use bench::impact::{self, Method, OfReplica, Programs};
use bench::tpcc::{self, check, load, run};
use instance::tune;
use std::time::Duration;

/// Methods that are measured if none is named; those whose programs are missing are skipped.
const METHODS: [&str; 5] = [
    "alone",
    "mysqldump",
    "mydumper",
    "penstock",
    "penstock --max-impact 5%",
];

/// Longest time for one backup if none was named.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Connections of a backup program if none were named.
const THREADS: usize = 2;

/// `bench impact`.
pub fn impact(a: &Impact) -> Result<impact::Options> {
    rules::measured("--alone or --measure", &[a.alone, a.measure])?;
    for (option, path) in [("--to", &a.to), ("--scratch", &a.scratch)] {
        if let Some(path) = path {
            super::place::local(option, path)?;
        }
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let parse = |m: &str| Method::parse(m);
    let named = !a.method.is_empty();
    let methods = if named {
        a.method.iter().map(|m| parse(m)).collect::<Result<_>>()?
    } else {
        let mut methods: Vec<Method> = METHODS.into_iter().map(parse).collect::<Result<_>>()?;
        if a.replica.is_some() {
            methods.push(Method::Replica(OfReplica::Stopped));
            methods.push(Method::Replica(OfReplica::Applying));
        }
        methods
    };
    rules::impact(a, &methods)?;
    let penstock = std::env::current_exe().map_err(|e| {
        let what = format!("cannot find the path of this program: {e}");
        Error::new(Kind::Failed, what)
    })?;
    let replica = a.replica.as_ref().map(|r| a.connection.another(r));
    Ok(impact::Options {
        server: a.connection.resolve(a.server.as_deref())?,
        replica: replica.transpose()?,
        schema: a.schema.clone(),
        warehouses: a.warehouses,
        connections: a.connections.into(),
        ramp: a.ramp,
        reference: a.alone,
        measure: a.measure,
        longest: a.longest.unwrap_or(LONGEST),
        runs: a.runs,
        methods,
        all: named,
        programs: Programs {
            mysqldump: match &a.mysqldump {
                Some(command) => words(command),
                None => vec![dump_program().to_owned()],
            },
            mydumper: words(a.mydumper.as_deref().unwrap_or("mydumper")),
            penstock,
            threads: a.threads.map_or(THREADS, usize::from),
        },
        scratch: a.scratch.clone().unwrap_or_else(std::env::temp_dir),
    })
}

/// `bench disk`.
pub fn disk(a: &Disk) -> Result<disk::Options> {
    rules::measured("--measure", &[a.measure])?;
    rules::measured("--max-time", a.max_time.as_slice())?;
    for directory in &a.directories {
        super::place::local("DIR", directory)?;
    }
    rules::disk(a)?;
    let wanted = |p: &Pattern| a.pattern.is_empty() || a.pattern.iter().any(|n| n == p.group());
    let of = a.of.as_deref().map(|uri| a.connection.resolve(Some(uri)));
    Ok(disk::Options {
        directories: a.directories.clone(),
        of: of.transpose()?,
        size: a.size,
        patterns: Pattern::all().into_iter().filter(wanted).collect(),
        runs: a.runs,
        ramp: a.ramp,
        measure: a.measure,
        longest: a.max_time,
        engine: match a.engine {
            Engine::Auto => Choice::Auto,
            Engine::IoUring => Choice::Ring,
            Engine::Threads => Choice::Threads,
        },
    })
}

/// The name of the server's own dump program on this host.
fn dump_program() -> &'static str {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let exists = |name: &str| std::env::split_paths(&paths).any(|p| p.join(name).is_file());
    if exists("mysqldump") || !exists("mariadb-dump") {
        "mysqldump"
    } else {
        "mariadb-dump"
    }
}

/// `bench tpcc load`.
pub fn tpcc_load(a: &TpccLoad) -> Result<load::Options> {
    Ok(load::Options {
        server: a.connection.resolve(a.server.as_deref())?,
        schema: a.schema.clone(),
        warehouses: a.warehouses,
        threads: threads(a.threads),
        seed: a.seed,
        foreign_keys: a.foreign_keys,
        skip_binlog: a.skip_binlog,
        cleared: false,
        tune: tune::Options {
            level: level(a.tune),
            state: state::directory(),
            restart: None,
        },
    })
}

/// `bench tpcc run`.
pub fn tpcc_run(a: &TpccRun) -> Result<run::Options> {
    rules::measured("--measure", &[a.measure])?;
    Ok(run::Options {
        workload: tpcc::Options {
            server: a.connection.resolve(a.server.as_deref())?,
            schema: a.schema.clone(),
            connections: a.connections.into(),
            seed: a.seed,
            rate: a.rate,
        },
        ramp: a.ramp,
        measure: a.measure,
    })
}

/// `bench tpcc check`.
pub fn tpcc_check(a: &TpccCheck) -> Result<check::Options> {
    Ok(check::Options {
        server: a.connection.resolve(a.server.as_deref())?,
        schema: a.schema.clone(),
        threads: threads(a.threads),
    })
}
