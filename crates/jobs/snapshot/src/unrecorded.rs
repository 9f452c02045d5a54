//! Snapshots of penstock that no record speaks of: the state directory was lost, or is another account's.
//!
//! What they are called has their identifier: logical volumes, which have a tag as well, snapshots of ZFS, and directories.
//! Nothing says whether one was kept, so `clean` names them, and removes those whose identifier it is given. What a process
//! has open is never removed. The manuals are the source: lvs(8), lvremove(8), zfs-list(8).

use crate::clone::remove;
use crate::local;
use crate::made::PREFIX;
use crate::volume::{self, NAME};
use base::units::printable;
use base::{Error, Kind, Result};
use run::state::storage;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One of them, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unrecorded {
    /// A logical volume.
    Lvm { group: String, name: String },
    /// `dataset@name`.
    Zfs(String),
    /// A directory.
    Directory(PathBuf),
}

impl Unrecorded {
    /// The identifier of its snapshot; `None`: it is none.
    pub(crate) fn id(&self) -> Option<&str> {
        let id = match self {
            Unrecorded::Lvm { name, .. } => name.strip_prefix(NAME),
            Unrecorded::Zfs(name) => name.rsplit_once('@')?.1.strip_prefix(NAME),
            Unrecorded::Directory(path) => path.file_name()?.to_str()?.strip_prefix(PREFIX),
        };
        id.filter(|id| is_id(id))
    }

    /// What it is, for people.
    pub(crate) fn shown(&self) -> String {
        let text = match self {
            Unrecorded::Lvm { group, name } => format!("the logical volume {group}/{name}"),
            Unrecorded::Zfs(name) => format!("the ZFS snapshot {name}"),
            Unrecorded::Directory(path) => format!("the directory {}", path.display()),
        };
        printable(&text)
    }

    /// Removes it, with its mounts.
    pub(crate) fn remove(&self) -> Result<()> {
        match self {
            Unrecorded::Lvm { group, name } => volume::remove_logical(group, name),
            Unrecorded::Zfs(name) => volume::remove_of_zfs(name),
            Unrecorded::Directory(path) => {
                if let Some(process) = local::used_by(path) {
                    let what = format!("process {process} has files in {} open", path.display());
                    return Err(Error::new(Kind::Lock, printable(&what)).hint("end it first"));
                }
                volume::remove_subvolume(&path.join("data"))?;
                remove(path)
            }
        }
    }
}

/// Whether it looks like `20261126T021500Z-3f9a`: people may call a snapshot of their own `penstock-before-upgrade`.
fn is_id(text: &str) -> bool {
    let like = |c: u8| match c {
        b'0'..=b'9' => b'0',
        b'a'..=b'f' => b'a',
        other => other,
    };
    let (time, random) = text.split_at_checked(17).unwrap_or_default();
    time.bytes().map(like).eq(*b"00000000T000000Z-")
        && random.len() == 4
        && random.bytes().all(|c| matches!(like(c), b'0' | b'a'))
}

/// What was found, and what could not be searched.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) found: Vec<Unrecorded>,
    pub(crate) failed: Vec<Error>,
}

/// All on this host, volumes before directories that they may be mounted in; in the state directory, and in another one.
pub(crate) fn search(state: &Path, at: Option<&Path>) -> Result<Search> {
    let mut search = Search::default();
    match volume::logical() {
        Ok(all) => {
            let all = all.into_iter();
            let volumes = all.map(|(group, name)| Unrecorded::Lvm { group, name });
            search.found.extend(volumes);
        }
        Err(e) => search.failed.push(e),
    }
    match volume::of_zfs() {
        Ok(all) => search.found.extend(all.into_iter().map(Unrecorded::Zfs)),
        Err(e) => search.failed.push(e),
    }
    // What has a file open is known by the file's own path.
    let mut places: BTreeSet<PathBuf> = fs::canonicalize(state).into_iter().collect();
    if let Some(at) = at {
        let place = fs::canonicalize(at).map_err(|e| storage("search", at, &e))?;
        places.insert(place);
    }
    for place in &places {
        let entries = fs::read_dir(place).map_err(|e| storage("search", place, &e))?;
        let is_directory = |e: &fs::DirEntry| e.file_type().is_ok_and(|t| t.is_dir());
        let entries = entries.flatten().filter(is_directory);
        let mut paths: Vec<PathBuf> = entries.map(|e| e.path()).collect();
        paths.sort();
        let directories = paths.into_iter().map(Unrecorded::Directory);
        search.found.extend(directories);
    }
    search.found.retain(|f| f.id().is_some());
    Ok(search)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_has_the_identifier() {
        let id = "20261129T075937Z-184c";
        for (found, shown) in [
            (
                Unrecorded::Lvm {
                    group: "vg".into(),
                    name: format!("penstock-{id}"),
                },
                format!("the logical volume vg/penstock-{id}"),
            ),
            (
                Unrecorded::Zfs(format!("tank/db@penstock-{id}")),
                format!("the ZFS snapshot tank/db@penstock-{id}"),
            ),
            (
                Unrecorded::Directory(format!("/srv/penstock-snapshot-{id}").into()),
                format!("the directory /srv/penstock-snapshot-{id}"),
            ),
        ] {
            assert_eq!((found.id(), found.shown()), (Some(id), shown));
        }
        for other in [
            "tank/db@daily",
            "tank/db@penstock-before-upgrade",
            "tank/db@penstock-20261129T075937Z-184",
            "tank/penstock-20261129T075937Z-184c",
            "tank/penstock-20261129T075937Z-184c@daily",
        ] {
            assert_eq!(Unrecorded::Zfs(other.into()).id(), None, "{other}");
        }
    }
}
