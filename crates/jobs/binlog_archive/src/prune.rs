//! Removing what no backup needs any more.

use crate::kept::{Kept, KeptFile};
use crate::layout::{Name, order};
use crate::walk::Place;
use base::Result;
use run::failure;

/// Files that were removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrunedLog {
    /// Whose log.
    pub server: String,
    /// How many.
    pub files: u64,
    /// Bytes of their objects.
    pub bytes: u64,
    /// The first file that stays.
    pub from: String,
}

impl Kept {
    /// Removes the files before this place, which is in this timeline, and the timelines before that. The last segment of a file
    /// goes first: what a killed run leaves begins at the beginning, as everything that is kept does.
    pub fn remove_before(
        &self,
        timeline: usize,
        place: &Place,
        dry_run: bool,
    ) -> Result<PrunedLog> {
        let mut done = PrunedLog {
            from: place.file.clone(),
            ..PrunedLog::default()
        };
        for (i, kept) in self.timelines.iter().enumerate().take(timeline + 1) {
            for file in &kept.files {
                if i == timeline && order(&file.name) >= order(&place.file) {
                    continue;
                }
                done.files += 1;
                done.bytes += file.stored();
                if !dry_run {
                    self.remove_file(kept.timeline.number, file)?;
                }
            }
            if i < timeline && !dry_run {
                self.forget(&Name::Timeline(kept.timeline.number).to_string())?;
            }
        }
        Ok(done)
    }

    fn remove_file(&self, timeline: u32, file: &KeptFile) -> Result<()> {
        let others = file.covered.iter().chain(&file.behind);
        for head in others.chain(file.segments.iter().rev()) {
            self.forget(&head.name())?;
            base::failpoint::reached("a segment of the binary log is removed");
        }
        let heads = Name::Heads {
            timeline,
            file: file.name.clone(),
        };
        self.forget(&heads.to_string())
    }

    fn forget(&self, name: &str) -> Result<()> {
        match self.store.remove(name) {
            Err(e) if !e.not_found() => Err(failure::store("cannot remove binary logs", &e)),
            _ => Ok(()),
        }
    }
}
