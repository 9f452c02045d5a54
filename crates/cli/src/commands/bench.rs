//! `penstock bench`.

use crate::args::bench::{Bench, Compare, Disk, Impact, Tpcc, TpccCheck, TpccLoad, TpccRun};
use crate::screen::Screen;
use crate::settings::bench as settings;
use crate::settings::place;
use ::report::record::{self, Record, settings as recorded};
use ::report::summary::{self, Item};
use ::report::{compare, html};
use ::run::Run;
use base::{Error, Kind, Result};
use bench::tpcc::{check, load, run};
use bench::{disk, impact};

/// Runs the benchmark.
pub fn bench(b: &Bench, run: &Run, screen: &Screen) -> Result<u8> {
    match b {
        Bench::Tpcc(Tpcc::Load(a)) => tpcc_load(a, run, screen),
        Bench::Tpcc(Tpcc::Run(a)) => tpcc_run(a, run, screen),
        Bench::Tpcc(Tpcc::Check(a)) => tpcc_check(a, run, screen),
        Bench::Impact(a) => impact(a, run, screen),
        Bench::Disk(a) => disk(a, run, screen),
        Bench::Compare(a) => compare(a, screen),
    }
}

fn disk(a: &Disk, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::disk(a)?;
    run.disk_limiter.set_rate(a.max_rate);
    let kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || recorded::disk(&options),
        |run| disk::run(run, &options),
        summary::disk,
    )?;
    // A limit measures itself.
    if a.max_rate.is_none() && disk::group_limits().is_none() {
        super::forecast::keep_disks(&kept.done);
    }
    screen.summary(&kept.summary);
    let code = super::exceptions(&kept.summary.exceptions);
    Ok(super::report::code(&kept, code, run))
}

fn compare(a: &Compare, screen: &Screen) -> Result<u8> {
    if let Some(path) = &a.to {
        place::local("--to", path)?;
    }
    let done = compare::run(&compare::Options {
        sides: [a.a.clone(), a.b.clone()],
    })?;
    let mut shown = summary::compare(&done);
    if let Some(path) = &a.to {
        let mut record = Record::new(record::Kind::Compare, "");
        shown.record(&mut record);
        record.outcome.state = record::State::Complete;
        html::replace(path, &html::page(&[record]))?;
        let path = path.display().to_string();
        shown.add(Item::new("page").line(&path).key("page", &path));
    }
    screen.summary(&shown);
    // A difference is a result, not a failure.
    Ok(0)
}

fn impact(a: &Impact, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::impact(a)?;
    if let Some(directory) = &a.to {
        std::fs::create_dir_all(directory).map_err(|e| {
            let what = format!("cannot make the directory {}: {e}", directory.display());
            Error::new(Kind::Storage, what)
        })?;
    }
    let mut kept = record::keep(
        run,
        a.to.as_deref(),
        || recorded::impact(&options),
        |run| impact::run(run, &options),
        summary::impact,
    )?;
    let mut page = None;
    if let (Some(directory), None) = (&a.to, &kept.lost) {
        page = html::run(&html::Options {
            runs: vec![directory.clone()],
            to: html::To::Beside,
            force: false,
        })?
        .path;
    }
    let page = page.map(|p| p.display().to_string());
    let report = Item::new("report").key("report", &page);
    kept.summary.add(match page {
        Some(page) => report.line(page),
        None => report,
    });
    screen.summary(&kept.summary);
    Ok(super::report::code(&kept, 0, run))
}

fn tpcc_load(a: &TpccLoad, run: &Run, screen: &Screen) -> Result<u8> {
    let done = load::run(run, &settings::tpcc_load(a)?)?;
    screen.summary(&summary::tpcc_load(&done));
    Ok(super::exceptions(&done.tuning.not_reverted))
}

fn tpcc_run(a: &TpccRun, run: &Run, screen: &Screen) -> Result<u8> {
    let options = settings::tpcc_run(a)?;
    let kept = record::keep(
        run,
        a.recording.record.as_deref(),
        || recorded::tpcc_run(&options),
        |run| run::run(run, &options),
        summary::tpcc_run,
    )?;
    screen.summary(&kept.summary);
    // A constraint that was missed is a result, not a failure.
    Ok(super::report::code(&kept, 0, run))
}

fn tpcc_check(a: &TpccCheck, run: &Run, screen: &Screen) -> Result<u8> {
    let done = check::run(run, &settings::tpcc_check(a)?)?;
    screen.summary(&summary::tpcc_check(&done));
    Ok(if done.holds() {
        0
    } else {
        Kind::Differs.exit_code()
    })
}
