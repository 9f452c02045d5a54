//! Gathers what the checks look at. Every question is one that an account may be refused: then the facts say so.
//!
//! Invariant: nothing is set but for this session, nothing is locked.

use crate::checks;
use crate::facts::{Facts, Known, LastBackup, Place, Statement, Transaction};
use crate::host::Host;
use crate::options::{Backups, Options};
use base::events::Silent;
use base::units::printable;
use base::{Error, Kind, Result};
use instance::{doctor, tune};
use repository::Repository;
use run::file_system::FileSystem;
use run::host::Process;
use run::{Run, connect, places, server_counters};
use server::{Catalog, Filter, Identity, Privileges, replication, session};

use std::sync::Arc;
use std::time::Duration;
use store::Location;
use wire::Conn;

/// What was gathered, and of which server.
pub(crate) struct Gathered {
    /// The server, in words.
    pub(crate) server: String,
    /// Its host, in words, or why that is not looked at.
    pub(crate) host: Known<String>,
    /// For the checks.
    pub(crate) facts: Facts,
}

/// Bytes of a statement that are shown.
const SHOWN: usize = 80;

/// Asks the server and its host.
pub(crate) fn gather(run: &Run, options: &Options) -> Result<Gathered> {
    let phase = run.phase("looking at the server", 1);
    let (mut conn, id) = connect::open(run, &options.server)?;
    let server = printable(&format!("{id} at {}", options.server.endpoint));
    let needed = |names: &[&str]| {
        checks::all().any(|c| {
            let silent = options.silenced.iter().any(|s| s.name == c.name);
            names.contains(&c.name) && options.wants(c) && !silent
        })
    };
    let host = host(&conn, options, &id);
    // As the server says when a transaction began: the session's own zone comes later.
    let _ = conn.execute("SET SESSION time_zone = 'SYSTEM'");
    let statements = statements(&mut conn);
    let transactions = transactions(&mut conn);
    connect::prepared(session::for_catalog(&mut conn, &id))?;
    let status = status(&mut conn, &id);
    let privileges = Privileges::read(&mut conn, &id).map_err(|e| e.to_string());
    let channels = replication::channels(&mut conn, &id).map_err(|e| e.to_string());
    let catalog = match needed(&["tmpdir", "working-set", "engines", "keys"]) {
        true => Catalog::read(&mut conn, &id, &Filter::all()).map_err(|e| e.to_string()),
        false => not_needed(),
    };
    let writable = match needed(&["load"]) {
        true => Ok(load::check_writable(
            &mut conn,
            &id,
            Some(tune::Level::Safe),
        )),
        false => not_needed(),
    };
    run.check()?;
    drop(phase);
    let left = match (&options.state, needed(&["settings-journal"])) {
        (_, false) => not_needed(),
        (None, _) => Err(
            "no directory is known for settings journals: set PENSTOCK_STATE, or HOME".to_owned(),
        ),
        (Some(state), true) => {
            let of_server = doctor::Options {
                server: Some(options.server.clone()),
                state: state.clone(),
                revert: false,
            };
            doctor::run(&quiet(run), &of_server).map_err(|e| e.what)
        }
    };
    let dump = match needed(&["dump", "dump-space"]) {
        true => {
            let phase = run.phase("asking what a dump would do", 1);
            let preview = dump::preview(&quiet(run), &dump_options(options));
            drop(phase);
            // A stop is no finding.
            run.check()?;
            Ok(preview)
        }
        false => not_needed(),
    };
    let backup = match (&options.backups, needed(&["last-backup"])) {
        (Some(backups), true) => Some(last_backup(backups, &id).map_err(|e| e.what)),
        _ => None,
    };
    let (places, places_unseen) = match &host {
        Ok(host) => directories(host, &id),
        Err(_) => (Vec::new(), Vec::new()),
    };
    let described = host
        .as_ref()
        .map(|host| format!("this one; the server is process {}", host.process));
    Ok(Gathered {
        server,
        host: described.map_err(Clone::clone),
        facts: Facts {
            id,
            status,
            privileges,
            host,
            places,
            places_unseen,
            catalog,
            statements,
            transactions,
            channels,
            left,
            dump,
            dump_place: options.to.is_some(),
            writable,
            backup,
            asked: options.jobs.clone(),
        },
    })
}

fn not_needed<T>() -> Known<T> {
    Err("no check needs it".to_owned())
}

/// What other jobs say while they look is in what they return.
fn quiet(run: &Run) -> Run {
    run.with_observer(Arc::new(Silent))
}

/// The server's host, if it is this one.
fn host(conn: &Conn, options: &Options, id: &Identity) -> Known<Host> {
    match Process::found(conn, &options.server.endpoint, id) {
        Ok(process) => Ok(Host::this(process.id())),
        Err(why) => Err(printable(&format!(
            "the server at {} is not a mysqld or mariadbd of this host, as far as can be seen: {why}; run this on its host, as root or as its account",
            options.server.endpoint
        ))),
    }
}

/// A dump of everything.
fn dump_options(options: &Options) -> dump::Options {
    let nowhere = || encryption::Place::new(Location::Stream, encryption::Keys::default());
    dump::Options {
        source: options.server.clone(),
        files: None,
        resume: false,
        in_between: false,
        base: None,
        feed: None,
        to: options.to.clone().unwrap_or_else(nowhere),
        threads: 1,
        compression: dump::Compression::None,
        chunk_bytes: 64 << 20,
        consistency: dump::Consistency::Auto,
        backup_lock: true,
        lock_wait: Duration::from_secs(1),
        views: true,
        routines: true,
        events: true,
        triggers: true,
        rows: true,
        choices: dump::Choices::default(),
        accounts: dump::Accounts::Usual,
        require_all: false,
        filter: Arc::new(Filter::all()),
        throttle: run::throttle::Options::default(),
    }
}

fn status(conn: &mut Conn, id: &Identity) -> Known<std::collections::BTreeMap<String, String>> {
    let read = server_counters::pairs(conn, "SHOW GLOBAL STATUS");
    let mut all: std::collections::BTreeMap<_, _> = read
        .ok_or("the server does not show its status")?
        .into_iter()
        .collect();
    if id.is_mysql()
        && let Some(length) = server_counters::history_list_length(conn)
    {
        all.insert("innodb_history_list_length".to_owned(), length.to_string());
    }
    Ok(all)
}

/// A cell as text.
fn text(row: &[Option<Vec<u8>>], at: usize) -> String {
    let bytes = row.get(at).and_then(Option::as_deref).unwrap_or_default();
    printable(&String::from_utf8_lossy(bytes))
}

fn number(row: &[Option<Vec<u8>>], at: usize) -> u64 {
    text(row, at).parse().unwrap_or(0)
}

/// Statements of all sessions that the account sees; the server's own threads are none.
fn statements(conn: &mut Conn) -> Known<Vec<Statement>> {
    let sql = format!(
        "SELECT id, user, command, time, LEFT(info, {SHOWN}) FROM information_schema.processlist \
         WHERE id <> CONNECTION_ID() AND user NOT IN ('system user', 'event_scheduler')"
    );
    let rows = conn.fetch(sql).map_err(|e| e.to_string())?;
    let one = |row: &Vec<Option<Vec<u8>>>| Statement {
        connection: number(row, 0),
        user: text(row, 1),
        command: text(row, 2),
        seconds: number(row, 3),
        text: without_secrets(text(row, 4)),
    };
    Ok(rows.iter().map(one).collect())
}

/// A statement about accounts may hold a password.
fn without_secrets(statement: String) -> String {
    let upper = statement.to_uppercase();
    let secret = ["IDENTIFIED", "PASSWORD", "MASTER_", "SOURCE_"];
    if secret.iter().any(|word| upper.contains(word)) {
        let verb = statement.split_whitespace().next().unwrap_or_default();
        return format!("{verb} … (about a password)");
    }
    statement
}

fn transactions(conn: &mut Conn) -> Known<Vec<Transaction>> {
    let sql = "SELECT trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_started, NOW()), trx_rows_modified \
               FROM information_schema.innodb_trx WHERE trx_mysql_thread_id <> CONNECTION_ID()";
    let rows = conn.fetch(sql).map_err(|e| match e.code() {
        Some(1227) => "the account may not see transactions: it lacks PROCESS".to_owned(),
        _ => e.to_string(),
    })?;
    let one = |row: &Vec<Option<Vec<u8>>>| Transaction {
        connection: number(row, 0),
        seconds: number(row, 1),
        changed: number(row, 2),
    };
    Ok(rows.iter().map(one).collect())
}

/// The server's directories, as its process sees them.
fn directories(host: &Host, id: &Identity) -> (Vec<Place>, Vec<String>) {
    let (mut seen, mut unseen) = (Vec::new(), Vec::new());
    for named in places::of(id) {
        match FileSystem::seen_by(Process::numbered(host.process), &named.path) {
            Ok(file_system) => seen.push(Place {
                use_: named.use_,
                path: named.path,
                file_system,
            }),
            Err(e) => unseen.push(printable(&format!(
                "{} ({}): {e}",
                named.use_,
                named.path.display()
            ))),
        }
    }
    (seen, unseen)
}

/// The last backup of this server.
fn last_backup(backups: &Backups, id: &Identity) -> Result<LastBackup> {
    let repository = Repository::open(&backups.repository)?;
    let listing = repository.list(backups.name.as_ref())?;
    let of_server = |e: &&repository::Entry| match (&backups.name, &id.uuid) {
        (Some(name), _) => e.server == name.as_str(),
        (None, uuid) => uuid.is_some() && e.server_uuid == *uuid,
    };
    let entries: Vec<&repository::Entry> = listing.entries.iter().filter(of_server).collect();
    let nameless = backups.name.is_none();
    let hidden = listing.entries.iter().any(|e| e.server_uuid.is_none());
    if entries.is_empty() && nameless && (id.uuid.is_none() || hidden) {
        let what = "no backup there says that it is of this server; encrypted ones, and those of servers without a UUID, do not say it: name the server with --server-name";
        return Err(Error::new(Kind::Usage, what));
    }
    let whole = entries.iter().filter(|e| e.selection.is_none());
    let newest = whole
        .max_by_key(|e| e.end())
        .or_else(|| entries.iter().max_by_key(|e| e.end()));
    let mut last = LastBackup {
        name: None,
        age: Duration::ZERO,
        oldest: backups.oldest,
        part: false,
        exceptions: 0,
        proven: false,
        repository: printable(&backups.repository.to_string()),
    };
    if let Some(entry) = newest {
        let name = printable(&format!("{}@{}", entry.server, entry.id));
        let unknown = || Error::new(Kind::Archive, format!("when {name} ended is not known"));
        let since = jiff::Timestamp::now().duration_since(entry.end().ok_or_else(unknown)?);
        last.age = Duration::try_from(since).map_err(|_| {
            let what =
                format!("{name} ended in the future: the clock of one of the hosts is wrong");
            Error::new(Kind::Archive, what)
        })?;
        last.name = Some(name);
        last.part = entry.selection.is_some();
        last.exceptions = entry.exceptions.len();
        last.proven = listing.proof_of(entry).is_some();
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for statement in [
            "ALTER USER a IDENTIFIED BY 'secret'",
            "SET PASSWORD = 'secret'",
            "CHANGE MASTER TO MASTER_LOG_FILE='secret'",
        ] {
            let shown = without_secrets(statement.to_owned());
            assert!(!shown.contains("secret"), "{shown}");
        }
        assert_eq!(without_secrets("SELECT 1".to_owned()), "SELECT 1");
    }
}
