//! Takes a snapshot, and stores its files or keeps it.

use crate::files::{Listing, Rules, all_inside};
use crate::kept;
use crate::locks::Locks;
use crate::made::{Made, Plan};
use crate::manifest::{self, MANIFEST, Manifest};
use crate::options::{Method, Server, TakeOptions};
use crate::restore::server_options;
use crate::send::Sending;
use crate::stopped::Stopped;
use crate::volume::{self, Volume};
use crate::{clone, local, place, reflink, server_copy, space};
use archive::chunk::Compression;
use base::{Error, Kind, Result, failpoint};
use run::host::Process;
use run::state::storage;
use run::{Run, connect, failure};
use server::Identity;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use store::Store;
use wire::Conn;

/// A snapshot that was kept where it was made.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Where its files are.
    pub files: PathBuf,
    /// The directory that it has, from which it is restored.
    pub directory: PathBuf,
}

/// What was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// What the manifest says.
    pub manifest: Manifest,
    /// The server.
    pub from: String,
    /// Where the files are stored; `None` if the snapshot was kept.
    pub to: Option<String>,
    /// A snapshot that was kept.
    pub kept: Option<Kept>,
    /// Why it is still there although its files are stored.
    pub not_removed: Option<String>,
    /// Seconds it took, and those of storing the files.
    pub seconds: (f64, f64),
    /// Pieces at the same time.
    pub threads: usize,
}

/// A snapshot of a server that runs, while it is used.
#[derive(Debug)]
pub struct Used<'a> {
    /// Where its files are; they are only read.
    pub root: &'a Path,
    /// The server.
    pub id: &'a Identity,
    /// The server, for people.
    pub from: &'a str,
    /// The place in its binary log.
    pub position: &'a server::Position,
    /// What was locked, and for how long.
    pub locked: &'a manifest::Locked,
    /// Options that a server needs to read the files.
    pub options: Vec<String>,
}

/// What becomes of a snapshot.
enum Purpose<'a> {
    /// Its files are stored.
    Store(&'a place::Target),
    /// It stays where it was made.
    Keep,
    /// It is used and removed.
    Use(&'a mut dyn FnMut(&Used<'_>) -> Result<()>),
}

/// Takes a snapshot of a server that runs, all of whose files are of one moment; uses it, and removes it on every way out. If only
/// that fails, what the work has made is returned all the same, with the reason.
pub fn with_snapshot<T>(
    run: &Run,
    options: &TakeOptions,
    work: impl FnOnce(&Used<'_>) -> Result<T>,
) -> Result<(T, Option<Error>)> {
    let Server::Running(server) = &options.server else {
        return Err(Error::new(
            Kind::Internal,
            "a snapshot of a server that does not run",
        ));
    };
    kept::warn_of_leftovers(run, &options.state);
    let manifest = Manifest::new(&new_id(), options.method.name());
    let (mut work, mut outcome) = (Some(work), None);
    let mut once = |used: &Used<'_>| {
        if let Some(work) = work.take() {
            outcome = Some(work(used)?);
        }
        Ok(())
    };
    let taken = running(run, options, server, manifest, Purpose::Use(&mut once));
    if let Some(done) = outcome {
        return Ok((done, taken.err()));
    }
    if run.cancel.is_raised() {
        return Err(run.interrupted());
    }
    taken?;
    Err(Error::new(Kind::Internal, "a snapshot that was not used"))
}

/// Takes a snapshot.
pub fn take(run: &Run, options: &TakeOptions) -> Result<Taken> {
    let start = Instant::now();
    let id = options.id.clone().unwrap_or_else(new_id);
    kept::warn_of_leftovers(run, &options.state);
    let manifest = Manifest::new(&id, options.method.name());
    // The place is reached before the server is disturbed.
    let target = options
        .to
        .as_ref()
        .map(|to| place::Target::begin(run, to))
        .transpose()?;
    let outcome = match &options.server {
        Server::Running(server) => {
            let purpose = target.as_ref().map_or(Purpose::Keep, Purpose::Store);
            running(run, options, server, manifest, purpose)
        }
        Server::Stopped(datadir) => stopped(run, options, datadir, manifest, target.as_ref()),
    };
    let outcome = outcome.and_then(|mut taken| {
        if let Some(target) = &target {
            run.check()?;
            taken.manifest.created.end = jiff::Timestamp::now().to_string();
            target.finish(&taken.manifest)?;
        }
        // It says nothing about what is stored, so the manifest there does not have it.
        taken.manifest.exceptions.extend(taken.not_removed.clone());
        Ok(taken)
    });
    match outcome {
        Ok(mut taken) => {
            taken.seconds.0 = start.elapsed().as_secs_f64();
            Ok(taken)
        }
        Err(e) => {
            if let Some(target) = target {
                target.give_up();
            }
            Err(match &options.to {
                _ if run.cancel.is_raised() => run.interrupted(),
                Some(to) if e.kind == Kind::Storage => {
                    e.context(format_args!("the snapshot into {to} failed"))
                }
                _ => e,
            })
        }
    }
}

/// An identifier as those of a repository: the time, and four random digits.
fn new_id() -> String {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    format!("{now}-{:04x}", hasher.finish() & 0xffff)
}

fn running(
    run: &Run,
    options: &TakeOptions,
    server: &wire::Options,
    mut manifest: Manifest,
    purpose: Purpose<'_>,
) -> Result<Taken> {
    let (mut conn, id) = connect::open(run, server)?;
    let from = format!("{id} at {}", server.endpoint);
    run.observer.note(format!("source: {from}"));
    let datadir = local::datadir(&conn, &id)?;
    manifest.source = manifest::source(&id);
    manifest.settings = manifest::settings(&id);
    let mut rules = Rules::of(&id, &datadir);
    let begin = manifest.created.begin.clone();
    let plan = Plan {
        id: &manifest.id.clone(),
        method: options.method,
        begin: &begin,
        server: from.clone(),
        datadir: &datadir,
        state: &options.state,
        at: options.at.as_deref(),
    };
    let directory = plan.directory()?;
    let (volume, root) = match options.method {
        Method::Btrfs => with(Volume::btrfs(&datadir, &directory)?),
        Method::Lvm => with(Volume::lvm(&datadir, &directory, plan.id, false)?),
        Method::LvmThin => with(Volume::lvm(&datadir, &directory, plan.id, true)?),
        Method::Zfs => with(Volume::zfs(&datadir, &directory, plan.id)?),
        Method::Reflink | Method::Clone | Method::Copy => (None, directory.join("data")),
    };
    let phase = run.phase("taking the snapshot", 1);
    let mut exact = None;
    let made = match options.method {
        Method::Clone => {
            server_copy::can_clone(&mut conn, &id)?;
            manifest.exceptions = server_copy::not_cloned(&mut conn)?;
            let made = Made::begin(run, &plan, None, root)?;
            server_copy::clone(&mut conn, &id, &made.directory())?;
            "the server's CLONE plugin".clone_into(&mut manifest.locks.mode);
            manifest.position_remark = Some(
                "it is in the cloned files: a restore shows it when the server has recovered them"
                    .to_owned(),
            );
            rules = Rules::of_files();
            made
        }
        Method::Copy if id.is_mariadb() => {
            manifest.exceptions = server_copy::copied_without_log(&mut conn)?;
            let made = Made::begin(run, &plan, None, root)?;
            manifest.position =
                server_copy::mariadb_backup(run, server, &made.directory(), options.threads)?;
            "those of mariadb-backup".clone_into(&mut manifest.locks.mode);
            rules = Rules::of_files();
            made
        }
        Method::Copy => {
            let what = "--method copy of a running server is for MariaDB, by mariadb-backup";
            return Err(Error::new(Kind::Usage, what)
                .hint("use --method clone, or shut the server down and name its data directory with --datadir"));
        }
        method => {
            match &volume {
                None => reflink::supported(&id, &datadir)?,
                Some(volume) => volume.permitted(&datadir)?,
            }
            let owner = local::owner(&datadir)?.and_then(|pid| u32::try_from(pid).ok());
            volume::nothing_is_mounted_in(&rules, &datadir, owner.map(Process::numbered))?;
            // A subvolume or a dataset of its own is an empty directory in the snapshot.
            rules.list(&datadir)?;
            all_inside(&id, &outside(&mut conn, &id, &datadir)?)?;
            space::check(&datadir, options.keep_free)?;
            let made = Made::begin(run, &plan, volume, root)?;
            let mut locks = Locks::new(run, conn, &id, server, options.lock_wait)?;
            let position = if method == Method::Reflink {
                probe(&rules, &datadir, &made.directory())?;
                reflink::take(run, &mut locks, &rules, &datadir, &made.directory())?
            } else {
                at_once(&mut locks, &made, &datadir, options)?
            };
            let mode = locks.mode(method == Method::Reflink);
            manifest.locks = manifest::Locked {
                mode,
                ..locks.locked.clone()
            };
            manifest.position = manifest::position(&position);
            exact = Some(position.clone());
            if let Some(grant) = &position.sources_hidden {
                manifest.exceptions.push(format!(
                    "the place in the logs of this replica's sources is not visible to the account: {grant}"
                ));
            }
            made
        }
    };
    drop(phase);
    failpoint::reached("a snapshot is made");
    manifest.left_out.clone_from(&rules.words);
    let root = made.root();
    let volume = made.volume().cloned();
    let shares = options.method.shares_blocks();
    let watched = |work: &mut dyn FnMut() -> Result<()>| match shares {
        true => space::watched(run, &datadir, volume.as_ref(), options.keep_free, work),
        false => work(),
    };
    let mount = || {
        if let Some(volume) = &volume {
            volume.mount()?;
        }
        failpoint::reached("a snapshot is mounted");
        Ok(())
    };
    // What lies elsewhere, behind a link, is not of the same moment, and refused.
    let listing = || rules.moved(&datadir, &root).list(&root);
    let begin = Instant::now();
    let keeps = matches!(purpose, Purpose::Keep);
    let stores = matches!(purpose, Purpose::Store(_));
    match purpose {
        Purpose::Keep => {}
        Purpose::Store(target) => watched(&mut || {
            mount()?;
            let (files, store) = (listing()?, target.store());
            send(run, options, &root, &files, store, None, &mut manifest)
        })?,
        Purpose::Use(work) => watched(&mut || {
            mount()?;
            let Some(position) = &exact else {
                let what = "a snapshot without a position cannot be used at once";
                return Err(Error::new(Kind::Internal, what));
            };
            listing()?;
            work(&Used {
                root: &root,
                id: &id,
                from: &from,
                position,
                locked: &manifest.locks,
                options: server_options(&manifest),
            })
        })?,
    }
    let sent = match keeps {
        true => 0.0,
        false => begin.elapsed().as_secs_f64(),
    };
    let mut taken = Taken {
        from,
        to: options.to.as_ref().map(|to| to.absolute()),
        kept: None,
        not_removed: None,
        seconds: (0.0, sent),
        threads: options.threads,
        manifest,
    };
    if stores {
        // What is stored is whole.
        taken.not_removed = made.remove().err().map(|e| e.in_one_line());
    } else if !keeps {
        made.remove()?;
    } else {
        if let Some(volume) = made.volume() {
            volume.mount()?;
        }
        listing()?;
        taken.manifest.created.end = jiff::Timestamp::now().to_string();
        let below = root.strip_prefix(made.directory()).unwrap_or(&root);
        taken.manifest.root = Some(below.display().to_string());
        let file = made.directory().join(MANIFEST);
        fs::write(&file, taken.manifest.to_text()).map_err(|e| storage("write", &file, &e))?;
        taken.kept = Some(Kept {
            files: root,
            directory: made.directory(),
        });
        made.keep()?;
    }
    Ok(taken)
}

fn with((volume, root): (Volume, PathBuf)) -> (Option<Volume>, PathBuf) {
    (Some(volume), root)
}

/// A snapshot of all files at one moment.
fn at_once(
    locks: &mut Locks<'_>,
    made: &Made<'_>,
    datadir: &Path,
    options: &TakeOptions,
) -> Result<server::Position> {
    let Some(volume) = made.volume() else {
        return Err(Error::new(
            Kind::Internal,
            "there is no volume to take a snapshot of",
        ));
    };
    // What is dirty now is written before anybody waits for it.
    reflink::sync(datadir)?;
    volume::sync_pool(datadir);
    let outcome = locks.lock_commits().and_then(|()| {
        let position = locks.position()?;
        volume.make(datadir, options.size)?;
        failpoint::reached("all files are in the snapshot");
        Ok(position)
    });
    let released = locks.release();
    let position = outcome?;
    released?;
    Ok(position)
}

/// Whether files can be cloned at all, before anything is locked.
fn probe(rules: &Rules, datadir: &Path, directory: &Path) -> Result<()> {
    let size = |path: &str| fs::metadata(datadir.join(path)).map_or(u64::MAX, |m| m.len().max(1));
    let listing = rules.list(datadir)?;
    if listing.directories.iter().any(|d| d == "#rocksdb") {
        return Err(Error::new(
            Kind::Usage,
            "--method reflink is for InnoDB, Aria and MyISAM, and this server has RocksDB",
        )
        .hint("--method btrfs, lvm and zfs take all files at one moment, whatever the engine"));
    }
    let Some(smallest) = listing.files.iter().min_by_key(|f| size(&f.path)) else {
        return Ok(());
    };
    let tried = directory.join("probe");
    clone::clone_file(&datadir.join(&smallest.path), &tried)?;
    clone::remove(&tried)
}

/// MySQL's tablespaces outside of its data directory. MariaDB leaves a `.isl` file for each.
fn outside(conn: &mut Conn, id: &Identity, datadir: &Path) -> Result<Vec<String>> {
    if !id.mysql_at_least(8, 0, 0) {
        return Ok(Vec::new());
    }
    let sql = "SELECT path FROM information_schema.innodb_datafiles";
    let rows = match conn.fetch(sql) {
        Ok(rows) => rows,
        Err(e) if e.code() == Some(1227) => {
            let what = "the account may not see where tablespaces are";
            return Err(Error::new(Kind::Privilege, what).hint("GRANT PROCESS ON *.*"));
        }
        Err(e) => return Err(failure::wire("cannot see where tablespaces are", e)),
    };
    let paths = rows.into_iter().flatten().flatten();
    let paths = paths.map(|p| String::from_utf8_lossy(&p).into_owned());
    let is_outside = |p: &String| {
        let path = Path::new(p);
        p.starts_with("../")
            || path.is_absolute() && !path.starts_with(datadir) && !path.starts_with(&id.datadir)
    };
    Ok(paths.filter(is_outside).collect())
}

fn stopped(
    run: &Run,
    options: &TakeOptions,
    datadir: &Path,
    mut manifest: Manifest,
    target: Option<&place::Target>,
) -> Result<Taken> {
    let Some(target) = target else {
        return Err(Error::new(
            Kind::Usage,
            "the files of a stopped server are stored, and not kept in place",
        )
        .hint("name a place with --to"));
    };
    let held = Stopped::hold(datadir)?;
    held.describe(&mut manifest)?;
    let rules = Rules::of_files().with_logs(held.logs.iter().cloned());
    // Some versions of ZFS report holes where data is not written yet.
    if !volume::sync_pool(&held.datadir) {
        run.observer.warn(
            "the pool of the data directory could not be synced (zpool sync): OpenZFS before 2.1.14 and 2.2.2 may show what the server wrote in its last seconds as holes"
                .to_owned(),
        );
    }
    let listing = rules.list(&held.datadir)?;
    manifest.left_out.clone_from(&rules.words);
    let from = format!(
        "{} {} in {}, which does not run",
        manifest.source.flavour,
        manifest.source.version,
        held.datadir.display()
    );
    run.observer
        .note(base::units::printable(&format!("source: {from}")));
    let begin = Instant::now();
    let system = Some((local::SYSTEM, Arc::clone(&held.system)));
    send(
        run,
        options,
        &held.datadir,
        &listing,
        target.store(),
        system,
        &mut manifest,
    )?;
    Ok(Taken {
        from,
        to: options.to.as_ref().map(|to| to.absolute()),
        kept: None,
        not_removed: None,
        seconds: (0.0, begin.elapsed().as_secs_f64()),
        threads: options.threads,
        manifest,
    })
}

/// Stores the files, and enters them in the manifest.
fn send(
    run: &Run,
    options: &TakeOptions,
    root: &Path,
    listing: &Listing,
    store: &dyn Store,
    held: Option<(&str, Arc<fs::File>)>,
    manifest: &mut Manifest,
) -> Result<()> {
    let phase = run.phase("storing the files", options.threads);
    let sending = Sending {
        root,
        listing,
        store,
        compression: options.compression,
        threads: options.threads,
        held,
    };
    manifest.files = sending.run(run, &phase.counters)?;
    manifest.directories.clone_from(&listing.directories);
    manifest.compression = match options.compression {
        Compression::None => "none".to_owned(),
        c => c.to_string(),
    };
    failpoint::reached("all pieces are written");
    Ok(())
}
