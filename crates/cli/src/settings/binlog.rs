//! What `penstock binlog` shall do.

use crate::args::binlog::{self as args, Archive, Find, Kind as Done, Selecting, Show};
use crate::args::values::Point;
use base::{Error, Kind, Result};
use binlog_archive::{Bound, FoundKind, Options, Search, Start};
use encryption::Keys;
use repository::ServerName;
use std::path::PathBuf;
use std::time::Duration;
use store::Location;

/// Segments are at least this long, in bytes.
const LEAST_SEGMENT: u64 = 64 << 10;
/// They are kept in memory until they are stored.
const LONGEST_SEGMENT: u64 = 1 << 30;

/// What to archive. Where it begins may depend on the backups: `None`.
pub fn archive(a: &Archive, repository: &Location) -> Result<(Options, Option<Start>)> {
    let refuse = |what: &str, hint: &str| Err(Error::new(Kind::Usage, what).hint(hint));
    if a.max_age.is_zero() || a.max_age > Duration::from_secs(86_400) {
        return refuse(
            "--max-age is how often to store what came, and is between 1 ms and a day",
            "10s, for instance",
        );
    }
    if !(LEAST_SEGMENT..=LONGEST_SEGMENT).contains(&a.segment_size) {
        return refuse("--segment-size is between 64k and 1G", "16M, for instance");
    }
    if a.semisync && a.once {
        return refuse(
            "--semisync has commits wait for the archive as long as it runs, and --once ends it",
            "leave one of the two out",
        );
    }
    let mut sources = vec![a.connection.resolve(a.source.as_deref())?];
    for server in &a.failover {
        sources.push(a.connection.another(server)?);
    }
    let start = a.start.as_deref().map(|start| match start {
        "oldest" => Start::Oldest,
        "newest" => Start::Newest,
        file => Start::File(file.to_owned()),
    });
    let options = Options {
        sources,
        start: start.clone().unwrap_or(Start::Newest),
        max_age: a.max_age,
        max_segment: a.segment_size,
        once: a.once,
        semi_sync: a.semisync,
        repair: a.repair,
        keys: super::keys::encrypting(&a.encryption)?,
        encrypted_only: false,
        server_id: a.server_id.unwrap_or_else(|| {
            binlog_archive::replica_number(&format!("{} {}", a.name, repository.absolute()))
        }),
    };
    Ok((options, start))
}

/// Whose log is read.
pub enum OfLog {
    /// What a repository keeps.
    Kept {
        /// Of this server.
        name: ServerName,
        /// There.
        repository: PathBuf,
        /// What opens it.
        keys: Keys,
    },
    /// A server's own.
    Live(Box<wire::Options>),
}

/// What to look for.
pub fn find(a: &Find) -> Result<(OfLog, Search)> {
    let of = of_log(&a.of)?;
    if a.metrics_file.is_some() && matches!(of, OfLog::Live(_)) {
        return refuse(
            "--metrics-file is about the backups of a repository, and the log of a server is searched",
            "leave it out",
        );
    }
    Ok((of, search(&a.which)?))
}

/// What to show.
pub struct Showing {
    pub of: OfLog,
    pub search: Search,
    /// Rows of a transaction, at most.
    pub rows: u64,
    /// Where the statements go that take the changes back.
    pub undo: Option<PathBuf>,
}

/// What to show, or to take back.
pub fn show(a: &Show) -> Result<Showing> {
    let mut search = search(&a.which)?;
    if let Some(file) = &a.undo {
        super::place::local("--undo", file)?;
        let w = &a.which;
        let selects = w.table.is_some()
            || w.schema.is_some()
            || w.after.is_some()
            || w.before.is_some()
            || w.from.is_some()
            || w.to.is_some()
            || w.gtid.is_some()
            || w.thread.is_some()
            || w.text.is_some();
        if !selects {
            return refuse(
                "--undo would take back the whole log",
                "say what shall be taken back: --gtid, --from and --to, --after and --before, --table",
            );
        }
        // All of it, or nothing.
        search.limit = usize::MAX;
        search.complete = true;
    }
    Ok(Showing {
        of: of_log(&a.of)?,
        search,
        rows: a.rows.unwrap_or(1000),
        undo: a.undo.clone(),
    })
}

fn refuse<T>(what: &str, hint: &str) -> Result<T> {
    Err(Error::new(Kind::Usage, what).hint(hint))
}

fn of_log(a: &args::OfLog) -> Result<OfLog> {
    let connects =
        a.connection.names_a_server() || a.connection.says_how() || a.connection.no_defaults;
    match &a.log {
        Some(log) if !log.contains("://") => {
            if connects {
                return refuse(
                    "options on a connection are for the log of a server, and a NAME stands for what a repository keeps",
                    "leave the NAME out to read the server's own log, or the connection options",
                );
            }
            let typed = a.repository.clone();
            let repository = typed.or_else(super::place::named_by_environment);
            let Some(repository) = repository else {
                return refuse(
                    "no repository is named (--repository)",
                    "name it with --repository REPO, or in PENSTOCK_REPOSITORY; a server's own log is read with its URI: mysql://user@host:3306/",
                );
            };
            Ok(OfLog::Kept {
                name: ServerName::parse(log)?,
                repository,
                keys: super::keys::opening(&a.encryption)?,
            })
        }
        server => {
            if server.is_none() && !connects {
                return refuse(
                    "no binary log is named",
                    "name the NAME under which a repository keeps it, or a server: mysql://user@host:3306/, or --socket PATH",
                );
            }
            if a.repository.is_some() {
                return refuse(
                    "--repository is where logs are kept, and the log of a server is read",
                    "leave it out, or name the log that is kept: its NAME in place of the server",
                );
            }
            if !a.encryption.is_empty() {
                return refuse(
                    "--identity and --passphrase-file open what a repository keeps, and the log of a server is read",
                    "leave them out",
                );
            }
            let options = a.connection.resolve(server.as_deref())?;
            Ok(OfLog::Live(Box::new(options)))
        }
    }
}

fn search(a: &Selecting) -> Result<Search> {
    // An empty variable of a shell; it would fit everything.
    for (option, value) in [
        ("--schema", &a.schema),
        ("--table", &a.table),
        ("--text", &a.text),
    ] {
        if value.as_deref() == Some("") {
            return refuse(
                &format!("{option} is empty"),
                "name something, or leave it out",
            );
        }
    }
    let (schema, table) = of_table(a)?;
    let (after, from) = bound(a.after, a.from.as_ref(), ("--after", "--from"))?;
    let (before, to) = bound(a.before, a.to.as_ref(), ("--before", "--to"))?;
    Ok(Search {
        schema,
        table,
        complete: false,
        kind: a.kind.map(|kind| match kind {
            Done::Insert => FoundKind::Insert,
            Done::Update => FoundKind::Update,
            Done::Delete => FoundKind::Delete,
            Done::Statement => FoundKind::Statement,
        }),
        after,
        before,
        from,
        to,
        gtid: a.gtid.clone(),
        thread: a.thread,
        text: a.text.clone(),
        limit: a.limit.unwrap_or(100) as usize,
    })
}

/// The schema and the table that are looked for.
fn of_table(a: &Selecting) -> Result<(Option<String>, Option<String>)> {
    let parts = |option: &str, text: &Option<String>| -> Result<Vec<String>> {
        let Some(text) = text else {
            return Ok(Vec::new());
        };
        server::filter::names(text).map_err(|why| {
            let what = format!("{option} {text}: {why}");
            Error::new(Kind::Usage, base::units::printable(&what))
                .hint("a name with a dot or a backtick in it stands in backticks")
        })
    };
    let schema = match &parts("--schema", &a.schema)?[..] {
        [] => None,
        [schema] => Some(schema.clone()),
        _ => {
            return refuse(
                "--schema names more than a schema",
                "name a table with --table SCHEMA.TABLE",
            );
        }
    };
    match &parts("--table", &a.table)?[..] {
        [] => Ok((schema, None)),
        [table] => Ok((schema, Some(table.clone()))),
        [of, table] => match schema {
            Some(schema) if schema != *of => {
                let what = format!("--table names the schema {of}, and --schema another one");
                Err(Error::new(Kind::Usage, base::units::printable(&what))
                    .hint("leave --schema out"))
            }
            _ => Ok((Some(of.clone()), Some(table.clone()))),
        },
        _ => refuse(
            "--table is TABLE or SCHEMA.TABLE",
            "a name with a dot in it stands in backticks",
        ),
    }
}

/// A time, and a place or transaction.
fn bound(
    time: Option<u64>,
    point: Option<&Point>,
    (of_time, of_point): (&str, &str),
) -> Result<(Option<u64>, Option<Bound>)> {
    Ok(match point {
        None => (time, None),
        Some(Point::Place(place)) => (time, Some(Bound::Place(place.clone()))),
        Some(Point::Gtid(gtid)) => (time, Some(Bound::Gtid(gtid.clone()))),
        Some(Point::Time(t)) if time.is_none() => (Some(*t), None),
        Some(Point::Time(_)) => {
            return refuse(
                &format!("{of_time} is given, and {of_point} is a time, too"),
                "use one of the two",
            );
        }
    })
}
