//! `penstock binlog`.

use super::around::{Job, Outcome, around};
use super::repository::with_metrics;
use super::{control, exceptions, metrics, show};
use crate::args::binlog::{Archive, Binlog, Find};
use crate::screen::Screen;
use crate::settings::config::Config;
use crate::settings::{self, place};
use ::report::summary;
use base::{Error, Kind, Result};
use repository::{Repository, ServerName};
use run::Run;

/// Runs one of its commands.
pub fn binlog(command: &Binlog, config: Option<&Config>, run: &Run, screen: &Screen) -> Result<u8> {
    match command {
        Binlog::Archive(a) => archive(a, config, run, screen),
        Binlog::Find(a) => find(a, run, screen),
    }
}

fn archive(a: &Archive, config: Option<&Config>, run: &Run, screen: &Screen) -> Result<u8> {
    let name = ServerName::parse(&a.name)?;
    let place = place::location("--repository", &a.place.repository)?;
    let (mut options, start) = settings::binlog::archive(a, &place)?;
    settings::limit_disk(run, &a.store_limits);
    let job = Job {
        command: "binlog archive",
        server: Some(name.as_str()),
        repository: &place.to_string(),
    };
    let running = metrics::Running::start(name.as_str(), &a.place, &run.observer);
    let run = &run.with_observer(running.clone());
    let outcome = around(config, job, || {
        let repository = Repository::open(&place)?;
        if start.is_none() {
            options.start = repository.binlog_start(&name)?;
        }
        let about = format!("of {name} into {place}");
        let _listens = control::listen(run, "binlog archive", about);
        let done = repository::archive_binlog(run, &repository, &name, &options)?;
        let mut shown = summary::binlog_archive(&name, &done);
        show(run, screen, &mut shown);
        let code = exceptions(&done.exceptions);
        let summary = shown.json();
        Ok(Outcome { code, summary })
    });
    metrics::with(&a.place, outcome, &running.end())
}

fn find(a: &Find, run: &Run, screen: &Screen) -> Result<u8> {
    let name = ServerName::parse(&a.name)?;
    let wanted = settings::binlog::find(a)?;
    let repository = Repository::open(&place::location("--repository", &a.place.repository)?)?;
    let keys = settings::keys::opening(&a.encryption)?;
    let kept = repository.readable_binlogs(&name, &keys)?.ok_or_else(|| {
        let what = format!("no binary log of {name} is kept in {}", repository.place());
        Error::new(Kind::Usage, what).hint(format!("penstock binlog archive {name} keeps it"))
    })?;
    let done = binlog_archive::search(run, &kept, &wanted)?;
    screen.summary(&summary::binlog_find(&name, &done));
    with_metrics(&a.place, Ok(0))
}
