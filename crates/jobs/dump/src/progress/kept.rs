//! What a dump keeps of the run before it, and notes for the one behind it.

use super::Progress;
use crate::finish::{self, Facts};
use crate::options::Options;
use base::units::printable;
use base::{Result, failpoint};
use run::{Run, failure};
use std::collections::HashSet;
use store::{EntryKind, Location, Store};

/// How the names of an archive's files end.
const OF_ARCHIVES: [&str; 6] = [".json", ".sql", ".idx", ".tsv", ".zst", ".gz"];

/// Begins to note what is finished, where another run could go on from there. `left`: how many runs have written what there is.
pub fn note<'s>(
    store: &'s dyn Store,
    options: &Options,
    left: Option<u32>,
    facts: &Facts<'_>,
) -> Result<Option<Progress<'s>>> {
    let is_kept = match *options.to {
        Location::Stream | Location::Memory(_) => false,
        Location::Directory(_) | Location::Ssh(_) | Location::Object(_) => true,
    };
    let has_place = facts.achieved.position.binlog_file.is_some();
    // The key of an encrypted archive is written last.
    let can = is_kept && has_place && !options.to.keys().can_encrypt();
    if !can || options.files.is_some() || !options.rows {
        return Ok(None);
    }
    let tables = facts.tables.iter();
    let kept = tables.flat_map(|t| t.ended().iter().cloned()).collect();
    let head = finish::head(options, facts);
    Progress::begin(store, left.unwrap_or(0) + 1, &head, kept).map(Some)
}

/// Removes what the run before has left of an archive, but for what is kept of it.
pub fn remove_others(
    run: &Run,
    store: &dyn Store,
    facts: &Facts<'_>,
    progress: Option<&Progress<'_>>,
) -> Result<()> {
    let wrong = |e: store::Error| failure::store("cannot remove what is not kept", &e);
    let ended = facts.tables.iter().flat_map(|t| t.ended());
    let kept: HashSet<&String> = ended.flat_map(|task| task.files.keys()).collect();
    for entry in store.list().map_err(wrong)? {
        let stays = entry.name == archive::marker::INCOMPLETE
            || facts.files.contains_key(&entry.name)
            || kept.contains(&entry.name)
            || progress.is_some_and(|p| p.is_own(&entry.name));
        if stays {
            continue;
        }
        let of_archive = OF_ARCHIVES.iter().any(|end| entry.name.ends_with(end));
        if entry.kind == EntryKind::File && of_archive {
            store.remove(&entry.name).map_err(wrong)?;
        } else {
            let name = printable(&entry.name);
            let what = format!("{name} is no file of the dump, and does not belong there");
            run.observer.warn(what);
        }
    }
    failpoint::reached("what is not kept is removed");
    Ok(())
}
