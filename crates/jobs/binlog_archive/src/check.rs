//! Reads what is kept through: every segment against its digest, every event against its checksum. Without the key of an encrypted
//! log only what is stored is compared.

use crate::kept::{Kept, KeptFile};
use crate::segment;
use base::{Counters, Result};
use binlog::file::File;
use run::Run;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedLog {
    /// Whose log.
    pub server: String,
    /// Files of the log.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What is wrong, each with its place.
    pub damage: Vec<String>,
    /// What is missing, as it was noted when it was archived.
    pub missing: Vec<String>,
}

impl Kept {
    /// Reads all of it.
    pub fn check(&self, run: &Run, counters: &Counters) -> Result<CheckedLog> {
        let mut done = CheckedLog::default();
        for kept in &self.timelines {
            done.missing.extend(kept.timeline.missing.clone());
            for (i, file) in kept.files.iter().enumerate() {
                run.check()?;
                done.files += 1;
                done.bytes += file.end();
                if let Err(why) = self.check_file(file) {
                    done.damage.push(format!("{}: {why}", file.name));
                }
                counters.bytes.add(file.end());
                done.damage.extend(file.unreadable.iter().cloned());
                let next = file.segments.last().and_then(|s| s.next.as_deref());
                match kept.files.get(i + 1) {
                    _ if file.gap.is_some() => done.damage.push(format!(
                        "{}: a segment that begins at {} is missing",
                        file.name,
                        file.end()
                    )),
                    Some(after) if next != Some(&after.name) => done.damage.push(format!(
                        "between {}:{} and {}:0 something is missing",
                        file.name,
                        file.end(),
                        after.name
                    )),
                    _ => {}
                }
            }
        }
        Ok(done)
    }

    fn is_gone(&self, head: &segment::Head) -> bool {
        self.store.open(&head.name()).is_err_and(|e| e.not_found())
    }

    /// Compares the segment that holds the bytes of this one by now.
    fn check_held(&self, file: &KeptFile, part: &segment::Head) -> std::result::Result<(), String> {
        let now = Kept::open(std::sync::Arc::clone(&self.store)).map_err(|e| e.what)?;
        let timelines = now.timelines.iter().flat_map(|t| &t.files);
        let mut heads = timelines
            .filter(|f| f.name == file.name)
            .flat_map(|f| &f.segments)
            .filter(|h| h.timeline == part.timeline);
        match heads.find(|h| h.start <= part.start && h.end >= part.end) {
            Some(head) => segment::verify(&*self.store, head).map_err(|e| e.what),
            None => Err(format!("the segment {} is missing", part.name())),
        }
    }

    fn check_file(&self, file: &KeptFile) -> std::result::Result<(), String> {
        if self.is_encrypted() {
            for head in &file.segments {
                match segment::verify(&*self.store, head) {
                    Ok(()) => {}
                    // It may be a part of a longer one by now, which is read instead.
                    Err(_) if self.is_gone(head) => self.check_held(file, head)?,
                    Err(e) => return Err(e.what),
                }
            }
            // Without the key that is all.
            if self.key.is_none() {
                return Ok(());
            }
        }
        let mut events = File::open(self.bytes(file, 0)).map_err(|e| e.to_string())?;
        while events.next().map_err(|e| e.to_string())?.is_some() {}
        match events.position() == file.end() {
            true => Ok(()),
            false => Err(format!(
                "it ends at {}, not at {}",
                events.position(),
                file.end()
            )),
        }
    }
}
