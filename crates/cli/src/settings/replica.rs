//! `replica`: new replicas.

use super::copy::{Between, dump_via, load_via, of_targets, servers_options};
use super::{filter, rules, state, threads};
use crate::args::copy::Transfer;
use crate::args::replica::{Abort, Create, Following, Status, Verify};
use crate::args::throttle::Throttle;
use base::{Error, Kind, Result, Secret, units::printable};
use encryption::Place;
use replica::{Account, Address, Hot};
use server::Filter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::Location;

/// What shall be made.
pub fn create(a: &Create) -> Result<replica::Options> {
    rules::replica(a)?;
    if let Some(Some(file)) = &a.warm {
        super::place::local("--warm", file)?;
    }
    let mut copy = servers_options(&Between {
        from: a.from_replica.as_ref().unwrap_or(&a.source).clone(),
        to: vec![a.new.clone()],
        threads: threads(a.threads),
        transfer: &a.transfer,
        consistency: dump::Consistency::Lock,
        backup_lock: true,
        routines: true,
        events: true,
        triggers: true,
        require_all: true,
        verify: match a.no_verify {
            true => load::Verification::None,
            false => load::Verification::Sql,
        },
        // Transactions of its own would be none of its source's.
        skip_binlog: true,
        for_replica: true,
        filter: Arc::new(Filter::default()),
        throttle: &a.throttle,
        connection: &a.connection,
    })?;
    if let Some(place) = &a.from_archive {
        for load in &mut copy.loads {
            *load = from_archive(a, place, load.clone())?;
        }
    }
    let via = match &a.transfer.via {
        None => None,
        Some(place) => {
            let place = super::place::location("--via", place)?;
            for load in &mut copy.loads {
                *load = by_way_of(a, &place, load.clone());
            }
            let dump = dump_via(place, &a.transfer, a.resume, copy.dump.clone());
            Some(dump::Options {
                accounts: dump::Accounts::Usual,
                ..dump
            })
        }
    };
    let how = &a.following;
    Ok(replica::Options {
        source: a.connection.one_of_several(&a.source)?,
        copy,
        from_archive: a.from_archive.is_some() || via.is_some(),
        via,
        address: how.source_address.as_deref().map(address).transpose()?,
        account: account(how)?,
        account_host: how
            .replication_host
            .clone()
            .unwrap_or_else(|| "%".to_owned()),
        channel: how.channel.clone(),
        catch_up: how.catch_up_timeout,
        behind: how.max_behind,
        verify: !a.no_verify,
        warm: a.warm.as_ref().map(|file| match file {
            Some(file) => Hot::File(file.clone()),
            None => Hot::OfSource,
        }),
        allow_writable: how.allow_writable,
        resume: a.resume,
        state: directory()?,
    })
}

/// The load of the archive that this command makes.
fn by_way_of(a: &Create, place: &Location, load: load::Options) -> load::Options {
    load::Options {
        verify: archive_verification(a),
        ..load_via(place.clone(), false, load)
    }
}

fn archive_verification(a: &Create) -> load::Verification {
    match a.no_verify {
        true => load::Verification::None,
        false => load::Verification::Auto,
    }
}

/// The load of an archive: with what a load of it alone would do.
fn from_archive(a: &Create, place: &Path, load: load::Options) -> Result<load::Options> {
    let location = super::place::location("--from-archive", place)?;
    super::an_archive(&location, "replica create")?;
    Ok(load::Options {
        from: Place::new(location, super::keys::opening(&a.encryption)?),
        verify: archive_verification(a),
        import_mode: load::tablespace::ImportMode::Auto,
        // The server that was dumped may be the one that is made a replica: it has no data any more.
        allow_same_server: true,
        state: state::directory(),
        ..load
    })
}

fn directory() -> Result<PathBuf> {
    state::directory().ok_or_else(|| {
        Error::new(Kind::Usage, "no directory is known for what was made")
            .hint("set PENSTOCK_STATE, or HOME")
    })
}

fn address(text: &str) -> Result<Address> {
    let wrong = || {
        let what = format!("--source-address {text} is no address");
        Error::new(Kind::Usage, printable(&what)).hint("write HOST:PORT, such as 10.0.0.1:3306")
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = port.parse().ok().filter(|p| *p != 0).ok_or_else(wrong)?;
    if host.is_empty() {
        return Err(wrong());
    }
    Ok(Address {
        host: host.to_owned(),
        port,
    })
}

fn account(how: &Following) -> Result<Option<Account>> {
    let (Some(user), Some(file)) = (&how.replication_user, &how.replication_password_file) else {
        return Ok(None);
    };
    Ok(Some(Account {
        user: user.clone(),
        password: first_line(file)?,
    }))
}

fn first_line(file: &Path) -> Result<Secret> {
    let text = std::fs::read_to_string(file).map_err(|e| {
        let what = format!(
            "cannot read --replication-password-file {}: {e}",
            file.display()
        );
        Error::new(Kind::Usage, printable(&what))
    })?;
    Ok(Secret::new(text.lines().next().unwrap_or_default()))
}

/// Which server is looked at.
pub fn status(a: &Status) -> Result<wire::Options> {
    a.connection.resolve(a.server.as_deref())
}

/// What is compared.
pub struct Compared {
    pub dump: dump::Options,
    pub replica: wire::Options,
    pub channel: String,
    pub limit: Duration,
    pub state: Option<PathBuf>,
    /// Where the SQL that repairs goes; `-` is standard output.
    pub repair: Option<PathBuf>,
}

/// What shall be compared.
pub fn verify(a: &Verify) -> Result<Compared> {
    rules::replica_verify(a)?;
    let transfer = Transfer {
        lock_wait: a.lock_wait,
        target_defaults_file: a.target_defaults_file.clone(),
        ..Transfer::default()
    };
    let options = servers_options(&Between {
        from: a.source.clone(),
        to: vec![a.replica.clone()],
        threads: threads(a.threads),
        transfer: &transfer,
        consistency: dump::Consistency::Lock,
        backup_lock: true,
        routines: false,
        events: false,
        triggers: false,
        require_all: false,
        verify: load::Verification::None,
        skip_binlog: true,
        for_replica: true,
        filter: Arc::new(filter(&a.selection)?),
        throttle: &Throttle::default(),
        connection: &a.connection,
    })?;
    let replica = options.loads.into_iter().next();
    let replica = replica.ok_or_else(|| Error::new(Kind::Internal, "no replica is named"))?;
    Ok(Compared {
        dump: options.dump,
        replica: replica.target,
        channel: a.channel.clone(),
        limit: a.catch_up_timeout,
        state: state::if_at_home(),
        repair: a.repair_sql.clone(),
    })
}

/// What shall be undone.
pub struct Undone {
    pub server: wire::Options,
    pub source: Option<wire::Options>,
    pub state: PathBuf,
}

/// What shall be undone.
pub fn abort(a: &Abort) -> Result<Undone> {
    rules::replica_abort(a)?;
    let targets = of_targets(&a.connection, a.target_defaults_file.as_ref());
    let source = a
        .source
        .as_deref()
        .map(|uri| a.connection.one_of_several(uri));
    Ok(Undone {
        server: targets.one_of_several(&a.new)?,
        source: source.transpose()?,
        state: directory()?,
    })
}
