//! A note on this host that a load has come to its end, there from before its journal goes until the end has been told (in a
//! data folder of the load's own until that is handed over). One that is killed at that moment leaves nothing else that tells its
//! objects from somebody else's.

use super::Target;
use archive::FileRecord;
use instance::tune;
use run::NO_LINK;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Most bytes of a note.
const MOST: u64 = 1 << 20;

/// A load that had come to its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Completion {
    /// What it could not carry over.
    pub exceptions: Vec<String>,
    /// Objects that are not there for that reason.
    pub missing: Vec<String>,
}

impl Completion {
    /// Notes it. Without the note `--resume` is refused later: no reason to fail now.
    pub(super) fn note(t: &Target<'_>, load: &str, missing: Vec<String>) {
        let Some((folder, path)) = place(t, load) else {
            return;
        };
        let ending = Completion {
            exceptions: t.report.exceptions.clone(),
            missing,
        };
        let _ = write(&ending, folder, &path);
    }

    /// The note of this load into this server.
    pub(super) fn find(t: &Target<'_>, load: &str) -> Option<Completion> {
        let (_, path) = place(t, load)?;
        let mut options = File::options();
        let file = options.read(true).custom_flags(NO_LINK).open(path);
        let mut bytes = Vec::new();
        file.ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Where it is, to be removed when the load's end has been told. In a data folder of the load's own it goes with all that
    /// is the load's.
    pub(super) fn left(t: &Target<'_>, load: &str) -> Option<PathBuf> {
        let own = t.options.managed.is_some();
        place(t, load).filter(|_| !own).map(|(_, path)| path)
    }

    /// Forgets it: what it spoke of is gone.
    pub(super) fn forget(t: &Target<'_>, load: &str) {
        if let Some(path) = Completion::left(t, load) {
            let _ = fs::remove_file(path);
        }
    }
}

/// The folder, and the file in it, whose name says which load and which server.
fn place<'a>(t: &Target<'a>, load: &str) -> Option<(&'a Path, PathBuf)> {
    let folder = t.options.state.as_deref()?;
    let name = format!("{} {load}", tune::journal::id(&t.id));
    let digest = FileRecord::of(name.as_bytes()).blake3;
    let path = folder.join(format!("ended-{}.json", &digest[..24]));
    Some((folder, path))
}

fn write(ending: &Completion, folder: &Path, path: &Path) -> io::Result<()> {
    tune::journal::folder(folder)?;
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(&serde_json::to_vec(ending)?)?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}
