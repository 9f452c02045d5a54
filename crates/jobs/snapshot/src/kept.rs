//! Snapshots that are on this host: those that were kept, and what killed runs left.
//!
//! Invariant: a snapshot that a run is making or reading is never removed.

use crate::made::undo;
use crate::record::{Content, Found, Record};
use crate::unrecorded::{self, Unrecorded};
use crate::volume::may_mount;
use base::units::printable;
use base::{Error, Kind, Result};
use run::Run;
use std::path::{Path, PathBuf};

/// What a snapshot on this host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was kept.
    Kept,
    /// A run is making or reading it.
    InUse,
    /// A killed run left it, or a part of it.
    Leftover,
}

/// A snapshot on this host.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// What its record says; `None` of a record that a run was killed before it had written.
    pub content: Option<Content>,
    /// What it is.
    pub state: State,
}

/// Everything that is recorded in this directory.
pub fn list(state: &Path) -> Result<Vec<Listed>> {
    let found = Record::all(state)?;
    let listed = found.into_iter().map(|found| match found {
        Found::Busy(path) => Listed {
            content: Record::peek(&path),
            state: State::InUse,
        },
        Found::Empty(_) => Listed {
            content: None,
            state: State::Leftover,
        },
        Found::Free(record) => Listed {
            state: if record.content.kept {
                State::Kept
            } else {
                State::Leftover
            },
            content: Some(record.content),
        },
    });
    Ok(listed.collect())
}

/// What killed runs left takes room, and an LVM snapshot slows the server: whoever takes the next one should know.
pub(crate) fn warn_of_leftovers(run: &Run, state: &Path) {
    let found = list(state).unwrap_or_default();
    let left = found.iter().filter(|l| l.state == State::Leftover).count();
    if left > 0 {
        let what = match left {
            1 => "a snapshot of a killed run is".to_owned(),
            n => format!("{n} snapshots of killed runs are"),
        };
        run.observer.warn(format!(
            "{what} left on this host; penstock snapshot clean removes what they hold"
        ));
    }
}

/// What to remove.
#[derive(Clone, Debug, Default)]
pub struct CleanOptions {
    /// Kept snapshots with these identifiers, besides all leftovers.
    pub ids: Vec<String>,
    /// All kept snapshots.
    pub all: bool,
    /// Only say what would be removed.
    pub dry_run: bool,
    /// Where snapshots without a record are searched for, besides the state directory.
    pub at: Option<PathBuf>,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default)]
pub struct Cleaned {
    /// Removed.
    pub removed: Vec<Listed>,
    /// Removed, though there was no record: the identifier, and what.
    pub without_record: Vec<(String, String)>,
    /// Left: why.
    pub left: Vec<String>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// Removes leftovers, and the kept snapshots that are named.
pub fn clean(run: &Run, state: &Path, options: &CleanOptions) -> Result<Cleaned> {
    // A run may begin or end meanwhile: its snapshot has its record before or after.
    let mut recorded = Record::ids(state)?;
    let search = unrecorded::search(state, options.at.as_deref())?;
    let found = Record::all(state)?;
    recorded.extend(Record::ids(state)?);
    let lacks_record = |u: &Unrecorded| u.id().is_some_and(|id| !recorded.contains(id));
    let unrecorded: Vec<Unrecorded> = search.found.into_iter().filter(lacks_record).collect();
    for e in search.failed {
        let e = e.context("snapshots without a record are not searched for there");
        run.observer.warn(e.in_one_line());
    }
    let known =
        |id: &String| recorded.contains(id) || unrecorded.iter().any(|u| u.id() == Some(id));
    if let Some(unknown) = options.ids.iter().find(|id| !known(id)) {
        let what = format!("there is no snapshot {} on this host", printable(unknown));
        let root = match may_mount() {
            true => "",
            false => ", and root finds logical volumes",
        };
        return Err(Error::new(Kind::Usage, what).hint(format!(
            "penstock snapshot list shows what is recorded; clean --at DIR searches a directory{root}"
        )));
    }
    let mut done = Cleaned {
        dry_run: options.dry_run,
        ..Cleaned::default()
    };
    for found in found {
        run.check()?;
        match found {
            Found::Busy(path) => {
                let name = Record::peek(&path).map_or_else(|| path.display().to_string(), |c| c.id);
                done.left
                    .push(printable(&format!("{name}: a run is making or reading it")));
            }
            Found::Empty(file) => {
                if !options.dry_run {
                    file.remove().map_err(run::state::Failure::error)?;
                }
                done.removed.push(Listed {
                    content: None,
                    state: State::Leftover,
                });
            }
            Found::Free(record) => {
                let content = record.content.clone();
                let state = if content.kept {
                    State::Kept
                } else {
                    State::Leftover
                };
                if content.kept && !options.all && !options.ids.contains(&content.id) {
                    continue;
                }
                if !options.dry_run
                    && let Err(e) = undo(&content).and_then(|()| record.forget())
                {
                    let line = format!("{}: {}", content.id, e.in_one_line());
                    done.left.push(printable(&line));
                    continue;
                }
                done.removed.push(Listed {
                    content: Some(content),
                    state,
                });
            }
        }
    }
    for one in unrecorded {
        run.check()?;
        let Some(id) = one.id() else { continue };
        if !options.ids.iter().any(|named| named == id) {
            done.left.push(format!(
                "{}: no record in {} speaks of it; if it is not another account's, penstock snapshot clean{} {} removes it",
                one.shown(),
                printable(&state.display().to_string()),
                match (&one, &options.at) {
                    (Unrecorded::Directory(_), Some(at)) => format!(" --at {}", printable(&at.display().to_string())),
                    _ => String::new(),
                },
                printable(id)
            ));
            continue;
        }
        let removed = if options.dry_run {
            Ok(())
        } else {
            one.remove()
        };
        match removed {
            Ok(()) => done.without_record.push((id.to_owned(), one.shown())),
            Err(e) => done
                .left
                .push(format!("{}: {}", one.shown(), e.in_one_line())),
        }
    }
    Ok(done)
}
