//! `penstock binlog`.

use super::around::{Job, Outcome, around};
use super::repository::with_metrics;
use super::{control, exceptions, metrics, show as show_summary};
use crate::args::binlog::{Archive, Binlog, Find, Show};
use crate::args::repository::Where;
use crate::screen::Screen;
use crate::settings::binlog::OfLog;
use crate::settings::config::Config;
use crate::settings::{self, place};
use ::report::{summary, transactions};
use base::{Error, Kind, Result};
use binlog_archive::{Kept, Live, Log, Search, show, undo};
use encryption::Keys;
use repository::{Repository, ServerName};
use run::Run;

/// Runs one of its commands.
pub fn binlog(command: &Binlog, config: Option<&Config>, run: &Run, screen: &Screen) -> Result<u8> {
    match command {
        Binlog::Archive(a) => archive(a, config, run, screen),
        Binlog::Find(a) => find(a, run, screen),
        Binlog::Show(a) => show_transactions(a, run, screen),
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
        show_summary(run, screen, &mut shown);
        let code = exceptions(&done.exceptions);
        let summary = shown.json();
        Ok(Outcome { code, summary })
    });
    metrics::with(&a.place, outcome, &running.end())
}

fn find(a: &Find, run: &Run, screen: &Screen) -> Result<u8> {
    let (of, search) = settings::binlog::find(a)?;
    let opened = Opened::open(&of, run, &search)?;
    let done = binlog_archive::search(run, &opened.log(), &search)?;
    screen.summary(&summary::binlog_find(&opened.name, &done));
    match &of {
        OfLog::Kept { repository, .. } => with_metrics(
            &Where {
                repository: repository.clone(),
                metrics_file: a.metrics_file.clone(),
            },
            Ok(0),
        ),
        OfLog::Live(_) => Ok(0),
    }
}

fn show_transactions(a: &Show, run: &Run, screen: &Screen) -> Result<u8> {
    let showing = settings::binlog::show(a)?;
    let opened = Opened::open(&showing.of, run, &showing.search)?;
    let log = opened.log();
    let found = binlog_archive::search(run, &log, &showing.search)?;
    let needs = found.needs(showing.undo.is_some());
    let definitions = match &opened.of {
        Source::Live(live) => binlog_archive::of_server(run, live, &needs)?,
        Source::Kept {
            repository,
            name,
            kept,
            keys,
        } => repository::definitions(run, repository, name, kept, keys, &needs)?,
    };
    if let Some(file) = &showing.undo {
        let options = undo::Options {
            search: showing.search.clone(),
            file: file.clone(),
            of: opened.name.clone(),
        };
        let done = undo::undo(run, &log, &found, &definitions, &options)?;
        screen.summary(&summary::binlog_undo(&opened.name, &done));
        return Ok(0);
    }
    let options = show::Options {
        search: showing.search.clone(),
        rows: showing.rows,
    };
    let sink = &mut |shown: show::Shown<'_>| {
        let text = transactions::text(&shown);
        screen.result(&text, transactions::json(&shown));
        match screen.lost_output() {
            // Who reads it has enough.
            true => Err(run.interrupted()),
            false => Ok(()),
        }
    };
    let done = show::show(run, &log, &found.found, &definitions, &options, sink)?;
    screen.summary(&summary::binlog_show(&opened.name, &found, &done));
    Ok(0)
}

/// A log that is open.
struct Opened {
    of: Source,
    /// Whose it is, in words.
    name: String,
}

enum Source {
    Kept {
        repository: Box<Repository>,
        name: ServerName,
        kept: Kept,
        keys: Keys,
    },
    Live(Live),
}

impl Opened {
    fn open(of: &OfLog, run: &Run, search: &Search) -> Result<Opened> {
        match of {
            OfLog::Kept {
                name,
                repository,
                keys,
            } => {
                let repository = Repository::open(&place::location("--repository", repository)?)?;
                let kept = repository.readable_binlogs(name, keys)?.ok_or_else(|| {
                    let what = format!("no binary log of {name} is kept in {}", repository.place());
                    Error::new(Kind::Usage, what)
                        .hint(format!("penstock binlog archive {name} keeps it"))
                })?;
                Ok(Opened {
                    name: name.to_string(),
                    of: Source::Kept {
                        repository: Box::new(repository),
                        name: name.clone(),
                        kept,
                        keys: keys.clone(),
                    },
                })
            }
            OfLog::Live(options) => {
                let name = options.endpoint.to_string();
                let number = format!("{name} {}", std::process::id());
                let number = binlog_archive::replica_number(&number);
                let live = Live::open(run, options, number, search.first())?;
                Ok(Opened {
                    of: Source::Live(live),
                    name,
                })
            }
        }
    }

    fn log(&self) -> Log<'_> {
        match &self.of {
            Source::Kept { kept, .. } => Log::Kept(kept),
            Source::Live(live) => Log::Live(live),
        }
    }
}
