//! Restores a snapshot into a new data directory: files, recovery, proof.
//!
//! Everything happens in a hidden directory inside the data directory, which a server would not start on; its contents
//! move to their place when they are proven. Invariants: only an empty directory is used, or one with what a killed
//! restore has left; the state file is locked for as long as a run works there; what is in its place was proven.

use crate::clone::{clone_file, remove};
use crate::files::Rules;
use crate::manifest::{MANIFEST, Manifest};
use crate::options::{RestoreOptions, WhenProven};
use crate::prove::{self, Proof};
use crate::receive::{Receiving, make_directories};
use crate::{place, stopped};
use base::units::printable;
use base::{Error, Kind, Result, failpoint};
use instance::managed::{self, Restored};
use run::Run;
use run::state::{self, Failure, LockedFile, Opened, storage};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, fchown, lchown};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The hidden directory.
const HIDDEN: &str = ".penstock-restore";

/// Bytes of the state file.
const SIZE: usize = 64;

/// How far a restore has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    /// Files are written, and proven.
    Filling,
    /// They are proven, and move to their place.
    Moving,
}

/// What was restored.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the snapshot says of itself.
    pub manifest: Manifest,
    /// Where it was.
    pub from: String,
    /// The data directory.
    pub datadir: PathBuf,
    /// The program that recovered it; none if a killed run had done that.
    pub program: Option<String>,
    /// What the server said.
    pub proof: Option<Proof>,
    /// Whether the digests of the files were compared; a snapshot that was kept has none.
    pub compared: bool,
    /// Seconds: all, files, recovery, proof.
    pub seconds: (f64, f64, f64, f64),
}

/// Restores a snapshot.
pub fn restore(run: &Run, options: &RestoreOptions) -> Result<Outcome> {
    let start = Instant::now();
    let (store, manifest) = place::open(&options.from)?;
    let datadir =
        std::path::absolute(&options.datadir).map_err(|e| storage("use", &options.datadir, &e))?;
    let hidden = datadir.join(HIDDEN);
    let new = hidden.join("new");
    let settings = server_options(&manifest);
    // What the files say of their position is shown by the plugin that wrote them; it is not loaded by itself where no
    // privileges are read.
    let plugin = (manifest.method == "clone").then(|| "plugin-load-add=mysql_clone.so".to_owned());
    let restored = Restored {
        datadir: new.clone(),
        program: options.program.clone(),
        mariadb: manifest.is_mariadb(),
        version: manifest.source.version.clone(),
        options: settings
            .into_iter()
            .chain(plugin)
            .chain(options.options.iter().cloned())
            .collect(),
    };
    // Before anything is created.
    let mut server = restored.server()?;
    run.check()?;
    let created = managed::create_datadir(run, &datadir)?;
    let (mut file, stage) = claim(&datadir, &hidden)?;
    let mut outcome = Outcome {
        manifest,
        from: options.from.absolute(),
        datadir: datadir.clone(),
        program: None,
        proof: None,
        compared: false,
        seconds: (0.0, 0.0, 0.0, 0.0),
    };
    if stage == Stage::Moving {
        run.observer.note(
            "a killed restore had proven the files: they only move to their place".to_owned(),
        );
        move_to_place(&datadir, &hidden, &new)?;
        file.remove().map_err(Failure::error)?;
        fs::remove_dir_all(&hidden).map_err(|e| storage("remove", &hidden, &e))?;
        return Ok(outcome);
    }
    let mut work = |outcome: &mut Outcome| -> Result<()> {
        remove(&new)?;
        DirBuilder::new()
            .mode(0o750)
            .create(&new)
            .map_err(|e| storage("create", &new, &e))?;
        let owner = managed::account_of(&datadir)?;
        give(&[&hidden, &new], owner)?;
        failpoint::reached("a data directory is claimed for a restore");
        let phase = run.phase("restoring the files", options.threads);
        match (&outcome.manifest.root, options.from.path()) {
            (Some(root), Some(directory)) => {
                copy_kept(run, &directory.join(root), &new, owner)?;
            }
            (Some(_), None) => {
                let what = format!(
                    "{MANIFEST} in {} is of a snapshot that was kept elsewhere",
                    options.from
                );
                return Err(Error::new(Kind::Archive, what));
            }
            (None, _) => {
                outcome.compared = true;
                Receiving {
                    store: &*store,
                    manifest: &outcome.manifest,
                    to: &new,
                    owner,
                    threads: options.threads,
                }
                .run(run, &phase.counters)?;
            }
        }
        outcome.seconds.1 = phase.seconds();
        drop(phase);
        failpoint::reached("all files are restored");
        let phase = run.phase("recovering", 1);
        run.observer
            .note(format!("temporary server instance: {server}"));
        outcome.program = Some(server.to_string());
        let wire = match server.recover() {
            Ok(wire) => wire,
            Err(e) => {
                let _ = server.stop();
                return Err(e);
            }
        };
        outcome.seconds.2 = phase.seconds();
        drop(phase);
        failpoint::reached("the restored files are recovered");
        let begin = Instant::now();
        let proof = prove::prove(
            run,
            &wire,
            &outcome.manifest,
            options.prove,
            options.threads,
        );
        outcome.seconds.3 = begin.elapsed().as_secs_f64();
        if let (Some(WhenProven(use_it)), true) = (
            &options.when_proven,
            proof.as_ref().is_ok_and(|p| p.wrong.is_empty()),
        ) {
            use_it(&wire);
        }
        let phase = run.phase("shutting the server down", 1);
        let stopped = server.recovered();
        drop(phase);
        let proof = proof?;
        stopped?;
        if !proof.wrong.is_empty() {
            let what = format!(
                "{} of the restored tables are not well:\n{}",
                proof.wrong.len(),
                proof.wrong.join("\n")
            );
            return Err(Error::new(Kind::Differs, what)
                .hint("nothing was moved to its place; use another snapshot, or restore without this proof (--prove start)"));
        }
        outcome.proof = Some(proof);
        Ok(())
    };
    if let Err(e) = work(&mut outcome) {
        let _ = file.remove();
        let _ = fs::remove_dir_all(&hidden);
        if created {
            let _ = fs::remove_dir(&datadir);
        }
        return Err(e);
    }
    write(&mut file, &datadir, Stage::Moving)?;
    failpoint::reached("restored files are about to move");
    move_to_place(&datadir, &hidden, &new)?;
    failpoint::reached("restored files are in their place");
    file.remove().map_err(Failure::error)?;
    fs::remove_dir_all(&hidden).map_err(|e| storage("remove", &hidden, &e))?;
    outcome.seconds.0 = start.elapsed().as_secs_f64();
    Ok(outcome)
}

/// The settings of a manifest that a server needs to read the files, as options.
pub(crate) fn server_options(manifest: &Manifest) -> Vec<String> {
    let all = manifest.settings.iter();
    all.filter(|(name, _)| of_flavour(name, manifest.is_mariadb()))
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// Whether a server of this flavour takes a setting of the manifest, and does not warn that it is of the past.
fn of_flavour(name: &str, mariadb: bool) -> bool {
    match name {
        "innodb_log_file_size" | "innodb_undo_tablespaces" => mariadb,
        "innodb_redo_log_capacity" => !mariadb,
        "innodb_page_size" | "innodb_data_file_path" | "lower_case_table_names" => true,
        _ => false,
    }
}

/// Locks the state file of a data directory that is empty, or was left by a killed restore.
fn claim(datadir: &Path, hidden: &Path) -> Result<(LockedFile, Stage)> {
    let cannot = |e: io::Error| storage("read", datadir, &e);
    let shown = printable(&datadir.display().to_string());
    let path = hidden.join("state");
    let left = match state::open_current(&path).map_err(Failure::error)? {
        Some(Opened::Ours(file)) => Some(file),
        Some(_) => {
            let what = format!("another penstock process restores into {shown}");
            return Err(Error::new(Kind::Lock, what).hint("wait until it ends"));
        }
        None => None,
    };
    if let Some(file) = left {
        let stage = file.read_json(SIZE as u64).unwrap_or(Stage::Filling);
        if stage == Stage::Filling && !managed::end_within(hidden) {
            let what = format!("a server of a killed restore still runs in {shown}");
            return Err(Error::new(Kind::Target, what).hint("end it, and run again"));
        }
        return Ok((file, stage));
    }
    for entry in fs::read_dir(datadir).map_err(cannot)?.flatten() {
        let name = entry.file_name();
        let empty =
            name == HIDDEN && fs::read_dir(entry.path()).is_ok_and(|mut d| d.next().is_none());
        if name != "lost+found" && name != ".zfs" && !empty {
            let what = format!("--datadir {shown}: the directory is not empty");
            return Err(Error::new(Kind::Target, what).hint(
                "name an empty directory, or one that does not exist; nothing in it was touched",
            ));
        }
    }
    match DirBuilder::new().mode(0o700).create(hidden) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            return Err(storage("create", hidden, &e));
        }
        _ => {}
    }
    let Opened::Ours(mut file) = state::create_exclusive(&path).map_err(Failure::error)? else {
        let what = format!("another penstock process restores into {shown}");
        return Err(Error::new(Kind::Lock, what).hint("wait until it ends"));
    };
    write(&mut file, datadir, Stage::Filling)?;
    Ok((file, Stage::Filling))
}

fn write(file: &mut LockedFile, datadir: &Path, stage: Stage) -> Result<()> {
    file.overwrite(&stage, SIZE).map_err(Failure::error)?;
    File::open(datadir)
        .and_then(|d| d.sync_all())
        .map_err(|e| storage("sync", datadir, &e))
}

fn give(directories: &[&PathBuf], owner: Option<u32>) -> Result<()> {
    let Some(uid) = owner else { return Ok(()) };
    for directory in directories {
        lchown(directory, Some(uid), None)
            .map_err(|e| storage("give to the server's account", directory, &e))?;
    }
    Ok(())
}

/// Copies the files of a snapshot that was kept; blocks are shared where the file system can.
fn copy_kept(run: &Run, root: &Path, to: &Path, owner: Option<u32>) -> Result<()> {
    let logs = stopped::binary_logs(root).map_err(|e| storage("read", root, &e))?;
    let listing = Rules::of_files().with_logs(logs).list(root)?;
    if !listing.directories.iter().any(|d| d == "mysql") {
        let what = format!(
            "{} is not the data directory that was kept: there is no schema mysql in it",
            root.display()
        );
        return Err(Error::new(Kind::Archive, printable(&what)).hint(
            "a snapshot of lvm or zfs is not mounted any more after a restart of the host: mount it there read-only (mount -o ro VOLUME DIRECTORY, mount -t zfs -o ro SNAPSHOT DIRECTORY); penstock snapshot list shows it",
        ));
    }
    make_directories(to, &listing.directories, owner)?;
    for file in &listing.files {
        run.check()?;
        let (from, path) = (root.join(&file.path), to.join(&file.path));
        if clone_file(&from, &path).is_err() {
            remove(&path)?;
            fs::copy(&from, &path).map_err(|e| storage("write", &path, &e))?;
        }
        let made = File::open(&path).map_err(|e| storage("read", &path, &e))?;
        if let Some(uid) = owner
            && made.metadata().is_ok_and(|m| m.uid() != uid)
        {
            fchown(&made, Some(uid), None)
                .map_err(|e| storage("give to the server's account", &path, &e))?;
        }
    }
    crate::reflink::sync(to)
}

/// Moves entry by entry; continues where a killed run had come to.
fn move_to_place(datadir: &Path, hidden: &Path, new: &Path) -> Result<()> {
    let entries = match fs::read_dir(new) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(storage("read", new, &e)),
    };
    for entry in entries.flatten() {
        let to = datadir.join(entry.file_name());
        if to.symlink_metadata().is_ok() {
            let what = format!("{} already exists", to.display());
            return Err(Error::new(Kind::Target, printable(&what)).hint(printable(&format!(
                "the restore has not made it: move it away, and run again; the restored files are in {}",
                hidden.display()
            ))));
        }
        fs::rename(entry.path(), &to).map_err(|e| storage("create", &to, &e))?;
    }
    fs::remove_dir(new)
        .and_then(|()| File::open(datadir)?.sync_all())
        .map_err(|e| storage("sync", datadir, &e))
}
