//! Snapshots that a file system or a volume manager makes: all files at one moment.
//!
//! | method | made by | files are read at | removed by |
//! |---|---|---|---|
//! | btrfs | `btrfs subvolume snapshot -r` | the new subvolume | `btrfs subvolume delete` |
//! | lvm, lvm-thin | `lvcreate --snapshot` | a read-only mount of it | `umount`, `lvremove` |
//! | zfs | `zfs snapshot` | a read-only mount of it | `umount`, `zfs destroy` |
//!
//! Invariants: each has the snapshot's identifier in its name; removing one that is not there, or only half made, is no
//! error, and nothing else is ever removed. The manuals of the tools are the source: btrfs-subvolume(8), lvcreate(8),
//! lvs(8), lvremove(8), mount(8), zfs-snapshot(8), zfs-destroy(8), zpool-sync(8).
//!
//! A snapshot of a dataset is also visible below `.zfs` of its mount, but not where that is bound, hidden from containers or
//! turned off (`snapdir=disabled`).

use crate::files::{self, Rules};
use crate::program;
use crate::room::{DMSETUP, Room};
use base::units::printable;
use base::{Error, Kind, Result};
use run::file_system::FileSystem;
use run::host::Process;
use run::state::storage;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const BTRFS: (&str, &str) = ("btrfs", "btrfs-progs");
const LVM: &str = "lvm2";
const ZFS: (&str, &str) = ("zfs", "zfsutils-linux");
const ZPOOL: (&str, &str) = ("zpool", "zfsutils-linux");

/// `BTRFS_SUPER_MAGIC` of linux/magic.h.
const BTRFS_MAGIC: u64 = 0x9123_683e;

/// What volumes and snapshots are called, before the identifier.
pub(crate) const NAME: &str = "penstock-";

/// The tag of logical volumes.
const TAG: &str = "penstock";
const SELECT: &str = "lv_tags=penstock";

/// The inode of every subvolume's root (`BTRFS_FIRST_FREE_OBJECTID`).
const SUBVOLUME: u64 = 256;

/// A snapshot outside of ordinary files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Volume {
    /// A read-only subvolume.
    Btrfs {
        /// Where it is.
        subvolume: PathBuf,
    },
    /// A logical volume.
    Lvm {
        /// Volume group.
        group: String,
        /// The volume whose snapshot it is.
        origin: String,
        /// Its own name.
        name: String,
        /// Whether it shares the room of a pool, so that it has no size of its own.
        thin: bool,
        /// Type of the file system.
        file_system: String,
        /// Where it is mounted.
        mount: PathBuf,
    },
    /// A snapshot of a dataset.
    Zfs {
        /// `pool/dataset@name`.
        name: String,
        /// Where it is mounted.
        mount: PathBuf,
    },
}

fn mounts() -> Result<Vec<FileSystem>> {
    let file = Path::new("/proc/self/mountinfo");
    FileSystem::mounts(None).map_err(|e| storage("read", file, &e))
}

/// The file system that a directory is on.
fn mount_of(path: &Path) -> Result<FileSystem> {
    let found = FileSystem::at(path).map_err(|e| storage("read", path, &e))?;
    match found.mount.is_empty() {
        true => Err(refused(
            path,
            "its file system is not among the mounts of this host",
        )),
        false => Ok(found),
    }
}

/// Where a directory is below the mount that it is on.
fn below<'p>(path: &'p Path, mounted: &FileSystem) -> &'p Path {
    path.strip_prefix(&mounted.mount).unwrap_or(Path::new(""))
}

/// Refuses a data directory a part of which is mounted there, for us or for the server (a service or a container may have mounts
/// of its own): it is not in a snapshot, which may have an empty directory in its place.
pub(crate) fn nothing_is_mounted_in(
    rules: &Rules,
    datadir: &Path,
    server: Option<Process>,
) -> Result<()> {
    let missed = |m: &FileSystem, sees: &dyn Fn(&Path) -> PathBuf| {
        rules.misses(datadir, Path::new(&m.mount), sees)
    };
    let mut found = mounts()?
        .into_iter()
        .find(|m| missed(m, &Path::to_path_buf));
    if let Some(server) = server.filter(|_| found.is_none()) {
        // Where this account may not see its mounts, they are as unknown as they are to any other program.
        let its = FileSystem::mounts(Some(server)).unwrap_or_default();
        found = its.into_iter().find(|m| missed(m, &|p| server.sees(p)));
    }
    match found {
        Some(m) => Err(files::elsewhere(
            Path::new(&m.mount),
            &format!("{} is mounted there", m.source),
        )),
        None => Ok(()),
    }
}

/// Has a pool of ZFS write what is dirty, as `syncfs` does elsewhere, and says whether it could: a snapshot waits for that.
pub(crate) fn sync_pool(datadir: &Path) -> bool {
    match mount_of(datadir) {
        Ok(mounted) if mounted.kind == "zfs" => {
            program::run(ZPOOL, ["sync", pool(&mounted.source)]).is_ok()
        }
        _ => true,
    }
}

/// Whether this process may mount: `CAP_SYS_ADMIN` (21) among its capabilities, as proc_pid_status(5) shows them.
pub(crate) fn may_mount() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    effective.is_none_or(|set| set >> 21 & 1 == 1)
}

/// The pool of a dataset.
fn pool(dataset: &str) -> &str {
    dataset.split('/').next().unwrap_or_default()
}

/// Unmounts what is mounted there, and says whether something was.
fn unmount(mount: &Path) -> Result<bool> {
    let mut was = false;
    let mut tries = 0;
    while mounts()?.iter().any(|m| Path::new(&m.mount) == mount) {
        match program::run(("umount", "mount"), [mount]) {
            // What looks at every file of a host is soon somewhere else.
            Err(e) if tries < 5 && e.what.contains("busy") => {
                tries += 1;
                std::thread::sleep(Duration::from_secs(1));
            }
            outcome => was = outcome.map(|_| true)?,
        }
    }
    Ok(was)
}

fn mount_read_only(device: &str, file_system: &str, options: &str, mount: &Path) -> Result<()> {
    let words = ["-t", file_system, "-o", options, device].map(Path::new);
    program::run(("mount", "mount"), words.into_iter().chain([mount])).map(drop)
}

fn refused(path: &Path, why: &str) -> Error {
    let what = format!("{}: {why}", path.display());
    Error::new(Kind::Usage, printable(&what))
}

fn is_btrfs(kind: &rustix::fs::StatFs) -> bool {
    u64::try_from(kind.f_type).ok().map(|t| t & 0xffff_ffff) == Some(BTRFS_MAGIC)
}

fn is_subvolume(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|kind| is_btrfs(&kind))
        && fs::symlink_metadata(path).is_ok_and(|m| m.ino() == SUBVOLUME)
}

/// What lvs says of a volume, fields separated by commas.
fn lvs(fields: &str, volume: &str) -> Result<Vec<String>> {
    let text = program::run(
        ("lvs", LVM),
        [
            "--noheadings",
            "--separator",
            ",",
            "--units",
            "b",
            "--nosuffix",
            "-o",
            fields,
            volume,
        ],
    )?;
    let line = text.lines().find(|l| !l.trim().is_empty());
    let words = line.unwrap_or_default().trim().split(',');
    Ok(words.map(|w| w.trim().to_owned()).collect())
}

impl Volume {
    /// A snapshot of the subvolume `datadir`, not yet made; and where its files will be.
    pub(crate) fn btrfs(datadir: &Path, directory: &Path) -> Result<(Volume, PathBuf)> {
        program::find(BTRFS.0, BTRFS.1)?;
        let kind = rustix::fs::statfs(datadir).map_err(|e| storage("read", datadir, &e.into()))?;
        if !is_btrfs(&kind) {
            return Err(refused(datadir, "it is not on btrfs")
                .hint("--method btrfs needs a data directory that is a subvolume"));
        }
        if !is_subvolume(datadir) {
            return Err(refused(datadir, "it is a directory, and not a subvolume")
                .hint("--method reflink works there too; or move the data directory into a subvolume of its own"));
        }
        let subvolume = directory.join("data");
        Ok((
            Volume::Btrfs {
                subvolume: subvolume.clone(),
            },
            subvolume,
        ))
    }

    /// A snapshot of the logical volume under `datadir`.
    pub(crate) fn lvm(
        datadir: &Path,
        directory: &Path,
        id: &str,
        thin: bool,
    ) -> Result<(Volume, PathBuf)> {
        let mounted = mount_of(datadir)?;
        if !mounted.source.starts_with("/dev/") || mounted.root != "/" {
            return Err(refused(
                datadir,
                &format!("it is on {}, which is no logical volume", mounted.source),
            ));
        }
        let words = lvs("vg_name,lv_name,pool_lv", &mounted.source)
            .map_err(|e| refused(datadir, &format!("it is on no logical volume ({})", e.what)))?;
        let [group, origin, pool] = words.as_slice() else {
            return Err(refused(datadir, "lvs does not know its volume"));
        };
        if thin == pool.is_empty() {
            let (is, other) = match thin {
                true => ("not in a thin pool", "lvm"),
                false => ("in a thin pool", "lvm-thin"),
            };
            return Err(
                refused(datadir, &format!("its volume {group}/{origin} is {is}"))
                    .hint(format!("use --method {other}")),
            );
        }
        program::find(DMSETUP.0, DMSETUP.1)?;
        let mount = directory.join("mnt");
        let root = mount.join(below(datadir, &mounted)).components().collect();
        let volume = Volume::Lvm {
            group: group.clone(),
            origin: origin.clone(),
            name: format!("{NAME}{id}"),
            thin,
            file_system: mounted.kind,
            mount,
        };
        Ok((volume, root))
    }

    /// A snapshot of the dataset of `datadir`.
    pub(crate) fn zfs(datadir: &Path, directory: &Path, id: &str) -> Result<(Volume, PathBuf)> {
        let mounted = mount_of(datadir)?;
        if mounted.kind != "zfs" {
            return Err(refused(datadir, "it is not on ZFS"));
        }
        program::find(ZFS.0, ZFS.1)?;
        let mount = directory.join("mnt");
        // A directory of the dataset may be bound to another place.
        let root = mount.join(mounted.root.trim_start_matches('/'));
        let root = root.join(below(datadir, &mounted)).components().collect();
        let name = format!("{}@{NAME}{id}", mounted.source);
        Ok((Volume::Zfs { name, mount }, root))
    }

    /// Refuses an account that could not make it visible, or remove it.
    pub(crate) fn permitted(&self, datadir: &Path) -> Result<()> {
        let by_option = || {
            let options = mount_of(datadir)?.options;
            Ok(options.split(',').any(|o| o == "user_subvol_rm_allowed"))
        };
        let (method, permitted) = match self {
            Volume::Btrfs { .. } => ("btrfs", may_mount() || by_option()?),
            Volume::Lvm { .. } => ("lvm", may_mount()),
            Volume::Zfs { .. } => ("zfs", may_mount()),
        };
        if permitted {
            return Ok(());
        }
        let what =
            format!("--method {method} needs root, to make the snapshot visible and to remove it");
        Err(Error::new(Kind::Privilege, what).hint(
            "run penstock as root; --method reflink and --method clone do with the server's account",
        ))
    }

    /// Makes it: this is the moment that it shows. `size` is the room of an LVM snapshot, in bytes.
    pub(crate) fn make(&self, datadir: &Path, size: Option<u64>) -> Result<()> {
        let full = |e: Error| e.context("cannot take the snapshot");
        match self {
            Volume::Btrfs { subvolume } => {
                let words = ["subvolume", "snapshot", "-r"].map(PathBuf::from);
                let paths = [datadir.to_owned(), subvolume.clone()];
                program::run(BTRFS, words.iter().chain(&paths)).map_err(full)?;
            }
            Volume::Lvm {
                group,
                origin,
                name,
                thin,
                ..
            } => {
                let of = format!("{group}/{origin}");
                let mut words = vec!["--snapshot", "--name", name, "--addtag", TAG];
                let size = size.map(|s| format!("{s}b"));
                match (thin, &size) {
                    (true, _) => words.extend(["--setactivationskip", "n"]),
                    (false, Some(size)) => words.extend(["--size", size]),
                    (false, None) => words.extend(["--extents", "20%ORIGIN"]),
                }
                words.push(&of);
                program::run(("lvcreate", LVM), words).map_err(full)?;
            }
            Volume::Zfs { name, .. } => {
                program::run(ZFS, ["snapshot", name]).map_err(full)?;
            }
        }
        Ok(())
    }

    /// Makes its files visible, read-only.
    pub(crate) fn mount(&self) -> Result<()> {
        let (device, file_system, options, mount) = match self {
            Volume::Btrfs { .. } => return Ok(()),
            Volume::Lvm {
                group,
                name,
                file_system,
                mount,
                ..
            } => {
                // The copy has the UUID of the original, and its journal was emptied by the freeze.
                let options = match file_system.as_str() {
                    "xfs" => "ro,nouuid",
                    "ext3" | "ext4" => "ro,noload",
                    _ => "ro",
                };
                let device = format!("/dev/{group}/{name}");
                (device, file_system.as_str(), options, mount)
            }
            Volume::Zfs { name, mount } => (name.clone(), "zfs", "ro", mount),
        };
        fs::create_dir(mount).map_err(|e| storage("create", mount, &e))?;
        mount_read_only(&device, file_system, options, mount)
    }

    /// Removes it, with its mount, if it is there.
    pub(crate) fn remove(&self) -> Result<()> {
        match self {
            Volume::Btrfs { subvolume } => {
                if !subvolume.exists() {
                    return Ok(());
                }
                delete_subvolume(subvolume)
            }
            Volume::Lvm {
                group, name, mount, ..
            } => {
                unmount(mount)?;
                let named = ["-o", "lv_name", "--select", SELECT, group];
                let all = program::run(("lvs", LVM), ["--noheadings"].iter().chain(&named))?;
                if all.lines().any(|l| l.trim() == name) {
                    remove_volume(group, name)?;
                }
                Ok(())
            }
            Volume::Zfs { name, mount } => remove_from_pool(name, mount),
        }
    }

    /// The room that its copies of blocks take, where that is not room of the file system.
    pub(crate) fn room(&self) -> Result<Option<Room>> {
        let Volume::Lvm {
            group,
            origin,
            name,
            thin,
            ..
        } = self
        else {
            return Ok(None);
        };
        if !thin {
            return Ok(Some(Room::of_snapshot(group, name)));
        }
        let pool = lvs("pool_lv", &format!("{group}/{origin}"))?;
        let pool = pool.first().map(String::as_str).unwrap_or_default();
        Ok(Some(Room::of_pool(group, pool)))
    }
}

fn delete_subvolume(path: &Path) -> Result<()> {
    let words = ["subvolume", "delete"].map(Path::new);
    program::run(BTRFS, words.into_iter().chain([path])).map(drop)
}

/// Deletes a directory if it is a subvolume of btrfs.
pub(crate) fn remove_subvolume(path: &Path) -> Result<()> {
    match is_subvolume(path) {
        true => delete_subvolume(path),
        false => Ok(()),
    }
}

fn remove_volume(group: &str, name: &str) -> Result<()> {
    let volume = format!("{group}/{name}");
    program::run(("lvremove", LVM), ["--force", "--yes", &volume]).map(drop)
}

/// Logical volumes with the tag, each with its group.
pub(crate) fn logical() -> Result<Vec<(String, String)>> {
    // Only root sees them, and where there is none the tools may not be there either.
    let has_some = fs::read_dir("/sys/class/block").is_ok_and(|all| {
        let mut names = all.flatten().map(|e| e.file_name());
        names.any(|n| n.to_string_lossy().starts_with("dm-"))
    });
    if !has_some || !may_mount() || program::find("lvs", LVM).is_err() {
        return Ok(Vec::new());
    }
    let words = [
        "--noheadings",
        "--separator",
        "/",
        "-o",
        "vg_name,lv_name",
        "--select",
        SELECT,
    ];
    let all = program::run(("lvs", LVM), words)?;
    let pairs = all.lines().filter_map(|l| l.trim().split_once('/'));
    Ok(pairs.map(|(g, n)| (g.to_owned(), n.to_owned())).collect())
}

/// Unmounts and removes one of [`logical`].
pub(crate) fn remove_logical(group: &str, name: &str) -> Result<()> {
    // The name of its device doubles hyphens (lvm(8)).
    let double = |text: &str| text.replace('-', "--");
    unmount_all(&format!("/dev/mapper/{}-{}", double(group), double(name)))?;
    remove_volume(group, name)
}

/// Snapshots of ZFS that are called like ours.
pub(crate) fn of_zfs() -> Result<Vec<String>> {
    if !Path::new("/sys/module/zfs").exists() || program::find(ZFS.0, ZFS.1).is_err() {
        return Ok(Vec::new());
    }
    let all = ["list", "-H", "-t", "snapshot", "-o", "name", "-s", "name"];
    let all = program::run(ZFS, all)?;
    let ours = |l: &&str| l.rsplit_once('@').is_some_and(|(_, n)| n.starts_with(NAME));
    Ok(all
        .lines()
        .map(str::trim)
        .filter(ours)
        .map(str::to_owned)
        .collect())
}

/// Unmounts and destroys one of [`of_zfs`], if there is no other of its name: which of them was sent or received is not known.
pub(crate) fn remove_of_zfs(name: &str) -> Result<()> {
    let own = name.rsplit_once('@').map(|(_, own)| own);
    let all = of_zfs()?;
    let same = all
        .iter()
        .filter(|n| n.rsplit_once('@').map(|(_, own)| own) == own);
    if same.count() > 1 {
        let what = format!("{name} is not the only snapshot of its name: one may be a copy");
        return Err(Error::new(Kind::Target, printable(&what))
            .hint("zfs destroy the one that is not needed"));
    }
    unmount_all(name)?;
    program::run(ZFS, ["destroy", name]).map(drop)
}

/// Unmounts a device wherever it is mounted, and nothing else.
fn unmount_all(source: &str) -> Result<()> {
    let all = mounts()?;
    for mounted in all.iter().filter(|m| m.source == source) {
        let path = Path::new(&mounted.mount);
        if all.iter().filter(|m| m.mount == mounted.mount).count() > 1 {
            let what = format!("{source} is mounted on {}, and not alone", path.display());
            return Err(Error::new(Kind::Lock, printable(&what)).hint("unmount it first"));
        }
        unmount(path)?;
    }
    Ok(())
}

/// Removes a snapshot of ZFS.
fn remove_from_pool(name: &str, mount: &Path) -> Result<()> {
    let is_there = || program::run(ZFS, ["list", "-H", "-o", "name", name]).is_ok();
    let (dataset, own) = name.split_once('@').unwrap_or((name, name));
    let of = pool(dataset);
    let mut found = is_there();
    if !found {
        // The program that makes it outlives a run that was killed, and waits for the pool.
        let _ = program::run(ZPOOL, ["sync", of]);
        found = is_there();
    }
    if !found {
        return match elsewhere_in_pool(of, own)? {
            Some(other) => {
                let what = format!("there is no snapshot {name}, but {other}: renamed, or a copy");
                Err(Error::new(Kind::Target, printable(&what)).hint(format!(
                    "zfs destroy {other}, or zfs rename {other} {other}-kept if something needs it; and then penstock snapshot clean"
                )))
            }
            None => unmount(mount).map(drop),
        };
    }
    let was_mounted = unmount(mount)?;
    program::run(ZFS, ["destroy", name]).map(drop).map_err(|e| {
        // It is still what its record says.
        if was_mounted {
            let _ = mount_read_only(name, "zfs", "ro", mount);
        }
        e.hint(format!(
            "a hold, a clone or a mount may need it (zfs holds {name}; zfs list -o name,origin)"
        ))
    })
}

/// Another snapshot of the pool with this name: its dataset was renamed, a clone was promoted, or it was received.
fn elsewhere_in_pool(pool: &str, own: &str) -> Result<Option<String>> {
    // Sorted by name alone, no other property is read.
    let all = [
        "list", "-H", "-t", "snapshot", "-o", "name", "-s", "name", "-r", pool,
    ];
    let all = program::run(ZFS, all).map_err(|e| {
        e.hint(format!(
            "the pool {pool} has to be there (zpool import); if it never comes back, remove the snapshot's record, snapshot-ID.json, from the state directory"
        ))
    })?;
    let mut names = all.lines().map(str::trim);
    let found = names.find(|l| l.rsplit_once('@').is_some_and(|(_, name)| name == own));
    Ok(found.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_subvolume_or_volume_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for outcome in [
            Volume::btrfs(dir.path(), dir.path()),
            Volume::zfs(dir.path(), dir.path(), "x"),
        ] {
            assert_eq!(outcome.expect_err("refused").kind, Kind::Usage);
        }
    }
}
