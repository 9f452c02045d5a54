//! An archive as the data of a new replica: what makes it fit, its accounts, and its place in the log of the source.
//!
//! Whose archive it is decides how far its place is believed. On MySQL the sets of GTIDs say it: all that is in the archive must be
//! in the log of the source, whichever server was dumped. A file and a position mean something in the log of one server only.
//!
//! Invariant: what does not fit is refused before anything is changed.

use crate::attach::still_there;
use crate::check::Side;
use crate::made::{From, Loaded};
use crate::options::Options;
use crate::{of_new, of_source, refused, value};
use archive::manifest::{Manifest, SourcePosition};
use archive::{Archive, FileRecord};
use base::units::printable;
use base::{Error, Kind, Result};
use binlog::gtid::mariadb;
use binlog::gtid::mariadb::Gtid;
use rows::accounts::{Found, OF_THE_SERVER, adapt, file, make};
use rows::archives;
use run::failure;
use server::{Flavour, Identity, replication};
use std::collections::BTreeSet;

const ANOTHER: &str = "make a new archive of the source with penstock dump, or leave --from-archive out: then the source is copied";

/// The archive that was named.
pub(crate) struct Given {
    archive: Archive,
    /// Which one it is.
    pub(crate) which: Loaded,
}

/// Whose rows an archive has.
enum Of<'a> {
    /// The source's own.
    Source,
    /// Those of a replica of the source, with its place in the source's log.
    Replica(&'a SourcePosition),
    /// Those of another server.
    Other,
}

impl Given {
    /// Whether a copy made it, only to be loaded.
    pub(crate) fn is_in_between(&self) -> bool {
        let manifest = self.archive.manifest();
        manifest.is_some_and(dump::complete::is_in_between)
    }

    /// Opens it.
    pub(crate) fn open(options: &Options) -> Result<Given> {
        let load = options.copy.loads.first();
        let load = load.ok_or_else(|| Error::new(Kind::Internal, "no new server is named"))?;
        let archive = archives::open(&load.from)?;
        let name = printable(&load.from.absolute());
        if !archive.has_manifest() {
            let what = format!(
                "{name} was not written by penstock: it does not say from which server it is"
            );
            return Err(refused(what, ANOTHER));
        }
        let bytes = archive
            .store()
            .read_all(archive::manifest::MANIFEST, 1 << 30)
            .map_err(|e| failure::store("cannot read the archive", &e))?;
        let digest = FileRecord::of(&bytes).blake3;
        let which = Loaded { name, digest };
        Ok(Given { archive, which })
    }

    fn manifest(&self) -> Result<&Manifest> {
        let manifest = self.archive.manifest();
        manifest.ok_or_else(|| Error::new(Kind::Internal, "an archive without a manifest"))
    }

    /// What it lacks, as the archive itself says.
    pub(crate) fn dumped_with(&self) -> Vec<String> {
        archives::dumped_with(&self.archive)
    }

    /// Its accounts, and how they are to be read.
    pub(crate) fn accounts(&self) -> Result<(Found, adapt::Source)> {
        let name = self.archive.users_file();
        let name = name.ok_or_else(|| Error::new(Kind::Internal, "an archive without accounts"))?;
        let text = self
            .archive
            .sql(name)
            .map_err(|e| failure::archive("cannot read the accounts", &e))?;
        let found = Found {
            accounts: file::read(&text)?,
            exceptions: Vec::new(),
        };
        let flavour = match is_mariadb(self.manifest()?) {
            true => Flavour::MariaDb,
            false => Flavour::MySql,
        };
        let literal = self.archive.root().partial_revokes;
        Ok((found, adapt::Source { flavour, literal }))
    }

    /// Refuses an archive that cannot become a replica of this source; where in its log it continues.
    pub(crate) fn check(&self, source: &mut Side, new: &mut Side, by_gtid: bool) -> Result<From> {
        self.is_complete()?;
        let from = self.place(&source.id, by_gtid)?;
        continues(source, &from, by_gtid, ANOTHER)?;
        self.no_later_account(source, new)?;
        Ok(from)
    }

    /// Refuses a new server with an account that the log is going to make.
    fn no_later_account(&self, source: &mut Side, new: &mut Side) -> Result<()> {
        let of_archive: BTreeSet<_> = self
            .accounts()?
            .0
            .accounts
            .iter()
            .map(|a| a.name.key())
            .collect();
        let theirs = make::existing(&mut source.conn).map_err(of_source)?;
        let own = make::existing(&mut new.conn).map_err(of_new)?;
        let later = |(user, host): &&(String, String)| {
            let of_server = OF_THE_SERVER.contains(&user.as_str());
            let public = user.eq_ignore_ascii_case("PUBLIC") && host.is_empty();
            theirs.contains(&(user.clone(), host.clone()))
                && !of_archive.contains(&(user.clone(), host.clone()))
                && !of_server
                && !public
        };
        let Some((user, host)) = own.iter().find(later) else {
            return Ok(());
        };
        let named = server::quote::account(user, host);
        let what = format!(
            "the new server has the account {named}, and so has the source, but not the archive: the log makes it, and could not"
        );
        Err(refused(
            what,
            format!("DROP USER {named} on the new server, or take a newer archive"),
        ))
    }

    /// Refuses an archive of a part of a server.
    fn is_complete(&self) -> Result<()> {
        let (name, manifest) = (&self.which.name, self.manifest()?);
        let said = |option: &str| manifest.options.get(option);
        let wrong = |what: String, hint: &str| Err(refused(format!("{name} {what}"), hint));
        if said("consistent") == Some(&false.into()) {
            let what = "was dumped with --consistency none: its tables are of different points in time, and it has no place in the log";
            return wrong(what.to_owned(), ANOTHER);
        }
        let given = manifest.selections();
        if !given.is_empty() {
            let what = format!(
                "has only a part of its server ({}): the log changes the rest, too",
                given.join(", ")
            );
            return wrong(what, ANOTHER);
        }
        for (key, what) in [
            ("views", "views"),
            ("routines", "stored procedures and functions"),
            ("events", "events"),
            ("triggers", "triggers"),
        ] {
            if said(key) == Some(&false.into()) {
                let what = format!("has no {what} (--no-{key}), and the source may have some");
                return wrong(what, ANOTHER);
            }
        }
        let some = said("includeUsers").is_some() || said("excludeUsers").is_some();
        if some || self.archive.users_file().is_none() {
            let what = match some {
                true => "has a part of the accounts only",
                false => "has no accounts",
            };
            let what =
                format!("{what}: the log of the source changes them, and could not be applied");
            let hint = "make a new archive with all accounts (penstock dump without --no-users; it needs SELECT on mysql.*), or leave --from-archive out";
            return wrong(what, hint);
        }
        Ok(())
    }

    fn whose(&self, source: &Identity) -> Result<Of<'_>> {
        let manifest = self.manifest()?;
        let of = &manifest.source;
        if archives::is_of(of, source) {
            return Ok(Of::Source);
        }
        let number = source.variable("server_id").and_then(|n| n.parse().ok());
        let follows = |s: &&SourcePosition| match (&s.server_uuid, &source.uuid) {
            (Some(theirs), Some(uuid)) => theirs == uuid,
            // MariaDB knows a source by its number alone.
            (None, _) => source.is_mariadb() && s.server_id != 0 && Some(s.server_id) == number,
            _ => false,
        };
        let place = manifest.position.sources.iter().find(follows);
        Ok(place.map_or(Of::Other, Of::Replica))
    }

    /// Where in the log of the source it continues, as the archive says it.
    fn place(&self, source: &Identity, by_gtid: bool) -> Result<From> {
        let (name, manifest) = (&self.which.name, self.manifest()?);
        let (p, of) = (&manifest.position, &manifest.source);
        let mariadb = is_mariadb(manifest);
        if mariadb != source.is_mariadb() {
            let what = format!(
                "{name} is of {} {}, and the source is {source}",
                of.flavour, of.version
            );
            return Err(refused(printable(&what), ANOTHER));
        }
        let whose = self.whose(source)?;
        let file = match &whose {
            Of::Source => p.binlog_file.clone().zip(p.binlog_position),
            Of::Replica(at) if !at.file.is_empty() => Some((at.file.clone(), at.position)),
            Of::Replica(_) | Of::Other => None,
        };
        let gtids = match (&whose, mariadb) {
            (_, false) => p.gtid_executed.as_ref(),
            (Of::Source, true) => p.gtid_binlog_pos.as_ref(),
            // What it applied as a replica.
            (_, true) => p.gtid_slave_pos.as_ref(),
        };
        let gtids = gtids.filter(|_| by_gtid).cloned();
        let described = described(manifest);
        match &whose {
            // A log of MariaDB that a replica wrote does not show where in a domain it begins.
            Of::Other if gtids.is_none() || mariadb => {
                let why = match mariadb {
                    true => "",
                    false => ", and has no GTIDs that say how far it is",
                };
                let what =
                    format!("{name} is of another server than the source ({described}){why}");
                return Err(refused(what, ANOTHER));
            }
            Of::Replica(at) if gtids.is_none() && !at.exact => {
                let what = format!(
                    "{name} is of a replica, and how far that had come in the log of its source is not exactly known: its applier had several workers"
                );
                return Err(refused(what, ANOTHER));
            }
            _ => {}
        }
        if file.is_none() && (gtids.is_none() || mariadb) {
            let what =
                format!("{name} has no place in the log of the source: its server wrote none");
            return Err(refused(what, ANOTHER));
        }
        let (file, position) = file.unwrap_or_default();
        Ok(From {
            file,
            position,
            gtid_executed: gtids.clone().filter(|_| !mariadb),
            gtid_binlog_pos: gtids.filter(|_| mariadb),
        })
    }
}

fn is_mariadb(manifest: &Manifest) -> bool {
    manifest.source.flavour.eq_ignore_ascii_case("mariadb")
}

/// Which server was dumped, in words.
fn described(manifest: &Manifest) -> String {
    let of = &manifest.source;
    let id = match of.uuid.as_str() {
        "" => String::new(),
        uuid => format!(", {uuid}"),
    };
    printable(&format!("{}:{}{id}", of.hostname, of.port))
}

/// Refuses if the log of the source does not continue from there.
pub(crate) fn continues(source: &mut Side, from: &From, by_gtid: bool, again: &str) -> Result<()> {
    let Some(gtids) = from.gtids(by_gtid) else {
        return still_there(&mut source.conn, from, again).map_err(of_source);
    };
    let mariadb = source.id.is_mariadb();
    let has = run::gtids::parse(mariadb, gtids)?;
    let unknown = match mariadb {
        true => unknown_to(source, gtids)?,
        false => {
            let executed = of_server(source, "SELECT @@GLOBAL.gtid_executed")?;
            let unknown = has.without(&run::gtids::parse(false, &executed)?);
            (!unknown.is_empty()).then(|| unknown.to_string())
        }
    };
    if let Some(unknown) = unknown {
        let what = format!(
            "the source does not have all transactions that are in the archive ({unknown}): the archive is of another server, or the source's log was reset"
        );
        return Err(refused(what, again));
    }
    let removed = match mariadb {
        true => begins_after(source)?,
        false => of_server(source, "SELECT @@GLOBAL.gtid_purged")?,
    };
    let missing = run::gtids::parse(mariadb, &removed)?.without(&has);
    if missing.is_empty() {
        return match mariadb {
            true => still_there(&mut source.conn, from, again).map_err(of_source),
            false => Ok(()),
        };
    }
    // Of a domain of MariaDB the last one that was removed.
    let up_to = if mariadb { "up to " } else { "" };
    let what = format!(
        "the source has removed the binary log that continues the archive: {up_to}{missing} is missing"
    );
    Err(refused(what, again))
}

fn of_server(source: &mut Side, sql: &str) -> Result<String> {
    value(&mut source.conn, sql, "cannot read its GTIDs").map_err(of_source)
}

/// What a source of MariaDB has not written into its log, of the last transactions of each domain.
fn unknown_to(source: &mut Side, gtids: &str) -> Result<Option<String>> {
    let state = of_server(source, "SELECT @@GLOBAL.gtid_binlog_state")?;
    let written: Vec<Gtid> = state.split(',').filter_map(mariadb::Gtid::parse).collect();
    let known = |g: &Gtid| {
        let same = |w: &&Gtid| (w.domain, w.server) == (g.domain, g.server);
        written
            .iter()
            .find(same)
            .is_some_and(|w| w.sequence >= g.sequence)
    };
    let wanted = gtids.split(',').filter_map(mariadb::Gtid::parse);
    let unknown: Vec<String> = wanted
        .filter(|g| !known(g))
        .map(|g| g.to_string())
        .collect();
    Ok((!unknown.is_empty()).then(|| unknown.join(",")))
}

/// What was written before the oldest file of the log of MariaDB.
fn begins_after(source: &mut Side) -> Result<String> {
    let logs = replication::binary_logs(&mut source.conn)
        .map_err(|e| failure::server("cannot look at its binary logs", e))
        .map_err(of_source)?;
    let Some((oldest, _)) = logs.first() else {
        return Ok(String::new());
    };
    let oldest = server::quote::text(oldest);
    of_server(source, &format!("SELECT BINLOG_GTID_POS({oldest}, 4)"))
}
