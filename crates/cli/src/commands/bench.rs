//! `penstock bench`: from what was typed to what is meant.

use super::{level, state};
use crate::args;
use crate::args::bench::{Bench, Impact, Tpcc, TpccCheck, TpccLoad, TpccRun};
use crate::screen::{Screen, summary};
use ::report::html;
use ::report::record::{self, told};
use ::run::Run;
use base::{Error, Kind, Result};
use bench::impact::{self, Method, Programs};
use bench::tpcc::{self, check, load, run};
use instance::tune;

/// Runs the benchmark.
pub fn bench(b: &Bench, run: &Run, screen: &Screen) -> Result<u8> {
    match b {
        Bench::Tpcc(Tpcc::Load(a)) => tpcc_load(a, run, screen),
        Bench::Tpcc(Tpcc::Run(a)) => tpcc_run(a, run, screen),
        Bench::Tpcc(Tpcc::Check(a)) => tpcc_check(a, run, screen),
        Bench::Impact(a) => impact(a, run, screen),
    }
}

fn impact(a: &Impact, run: &Run, screen: &Screen) -> Result<u8> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let server = a.connection.resolve(a.server.as_deref())?;
    let mut methods = a
        .method
        .iter()
        .map(|m| Method::parse(m))
        .collect::<Result<Vec<_>>>()?;
    let all = !methods.is_empty();
    if !all {
        methods = [
            "alone",
            "mysqldump",
            "mydumper",
            "penstock",
            "penstock --max-impact 5%",
        ]
        .iter()
        .map(|m| Method::parse(m))
        .collect::<Result<_>>()?;
        if a.replica.is_some() {
            methods.push(Method::Replica { applying: false });
            methods.push(Method::Replica { applying: true });
        }
    }
    let penstock = std::env::current_exe().map_err(|e| {
        Error::new(
            Kind::Failed,
            format!("cannot tell where this program is: {e}"),
        )
    })?;
    let options = impact::Options {
        replica: a
            .replica
            .as_ref()
            .map(|r| a.connection.another(r))
            .transpose()?,
        server,
        schema: a.schema.clone(),
        warehouses: a.warehouses,
        connections: a.connections.into(),
        ramp: a.ramp,
        reference: a.alone,
        measure: a.measure,
        longest: a.longest,
        runs: a.runs,
        methods,
        all,
        programs: Programs {
            mysqldump: match &a.mysqldump {
                Some(command) => words(command),
                None => vec![dump_program().to_owned()],
            },
            mydumper: words(&a.mydumper),
            penstock,
            threads: a.threads.into(),
        },
        scratch: a.scratch.clone().unwrap_or_else(std::env::temp_dir),
    };
    if options.reference.is_zero() || options.measure.is_zero() {
        return Err(Error::new(
            Kind::Usage,
            "there is nothing to measure: --alone or --measure is 0",
        ));
    }
    if let Some(folder) = &a.to {
        std::fs::create_dir_all(folder).map_err(|e| {
            Error::new(
                Kind::Storage,
                format!("no folder for the result, {}: {e}", folder.display()),
            )
        })?;
    }
    let kept = record::keep(
        run,
        a.to.as_deref(),
        || told::impact_begins(&options),
        |run| impact::run(run, &options),
        told::impact,
    )?;
    let mut page = None;
    if let (Some(folder), None) = (&a.to, &kept.lost) {
        page = html::run(&html::Options {
            runs: vec![folder.clone()],
            to: html::To::Beside,
            force: false,
        })?
        .path;
    }
    screen.summary(
        &summary::impact(&kept.done, page.as_deref()),
        summary::impact_json(&kept.done, page.as_deref()),
    );
    Ok(super::report::code(&kept, 0, run))
}

/// What the server's own dump program is called here.
fn dump_program() -> &'static str {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let there = |name: &str| std::env::split_paths(&paths).any(|p| p.join(name).is_file());
    if there("mysqldump") || !there("mariadb-dump") {
        "mysqldump"
    } else {
        "mariadb-dump"
    }
}

fn tpcc_load(a: &TpccLoad, run: &Run, screen: &Screen) -> Result<u8> {
    let options = load::Options {
        server: a.connection.resolve(a.server.as_deref())?,
        schema: a.schema.clone(),
        warehouses: a.warehouses,
        threads: args::threads(a.threads),
        seed: a.seed,
        foreign_keys: a.foreign_keys,
        skip_binlog: a.skip_binlog,
        cleared: false,
        tune: tune::Options {
            level: level(&a.tune)?,
            state: state(),
            restart: None,
        },
    };
    let done = load::run(run, &options)?;
    screen.summary(&summary::tpcc_load(&done), summary::tpcc_load_json(&done));
    Ok(super::exceptions(&done.tuning.not_reverted))
}

fn tpcc_run(a: &TpccRun, run: &Run, screen: &Screen) -> Result<u8> {
    if a.measure.is_zero() {
        return Err(Error::new(
            Kind::Usage,
            "there is nothing to measure: --measure is 0",
        ));
    }
    let options = run::Options {
        workload: tpcc::Options {
            server: a.connection.resolve(a.server.as_deref())?,
            schema: a.schema.clone(),
            connections: a.connections.into(),
            seed: a.seed,
            rate: a.rate,
        },
        ramp: a.ramp,
        measure: a.measure,
    };
    let done = run::run(run, &options)?;
    screen.summary(&summary::tpcc_run(&done), summary::tpcc_run_json(&done));
    // A constraint that was missed is a result, not a failure.
    Ok(0)
}

fn tpcc_check(a: &TpccCheck, run: &Run, screen: &Screen) -> Result<u8> {
    let options = check::Options {
        server: a.connection.resolve(a.server.as_deref())?,
        schema: a.schema.clone(),
        threads: args::threads(a.threads),
    };
    let done = check::run(run, &options)?;
    screen.summary(&summary::tpcc_check(&done), summary::tpcc_check_json(&done));
    Ok(if done.holds() {
        0
    } else {
        Kind::Differs.exit_code()
    })
}
