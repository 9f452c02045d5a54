//! Encrypted archives: a [`Store`](store::Store) whose files are encrypted one by one in the age format.
//!
//! Each archive has a key of its own, kept in [`KEY`], which is encrypted to the operator's recipients or with a
//! passphrase. So many recipients cost nothing per file, a passphrase is stretched once for each archive, and
//! other recipients are a new [`KEY`] and no new data.
//!
//! ```text
//! penstock.key.age         the archive's key, encrypted to the recipients or with the passphrase
//! 000001.age, …            files, encrypted to the archive's key, in the order they were begun
//! penstock.names.age       which file is which, encrypted like them
//! penstock.encrypted.json  sizes and digests of the encrypted files, to check them without a key
//! penstock.incomplete      as in every archive, while a dump runs
//! ```
//!
//! Invariants: what is read is what somebody with the archive's key wrote, or an error; names of files are never
//! visible; a writer needs no secret. What it does not do: hide how many files there are, how large they are, and
//! when they were written; or prove who wrote an archive, because anybody can encrypt to a public recipient.

mod check;
mod key;
mod keys;
mod names;
mod place;
mod referring;
mod sealing;
mod store_of;
#[cfg(test)]
mod tests;

pub use check::{Found, check_files};
pub use keys::Keys;
pub use names::INDEX;
pub use place::Place;
pub use sealing::{Opening, RECIPIENT, Sealing, rekey as rekey_sealing};
pub use store_of::{Encrypted, is_own};

/// Name of the file that holds the archive's key, encrypted. Where it is, the archive is encrypted.
pub const KEY: &str = "penstock.key.age";

/// Why an encrypted archive could not be opened, or a key not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// No key was named.
    #[error("it is encrypted{}", if *.passphrase { " with a passphrase" } else { "" })]
    Locked {
        /// Whether a passphrase opens it.
        passphrase: bool,
    },
    /// A key was named for an archive that needs none.
    #[error("it is not encrypted")]
    NotEncrypted,
    /// None of the keys that were named opens it.
    #[error("{}", if *.passphrase { "the passphrase does not open it" } else { "no identity that was named opens it" })]
    WrongKey {
        /// Whether a passphrase was tried.
        passphrase: bool,
    },
    /// A file of the encryption itself is not what it should be.
    #[error("{file} is damaged: {what}")]
    Damaged {
        /// The file.
        file: &'static str,
        /// What does not fit.
        what: String,
    },
    /// Files of the archive lie in another one beside it, which is not there.
    #[error("it needs files of the archive {} beside it, which is not there", base::units::printable(.0))]
    NotBeside(String),
    /// A key that was named cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is known of an encrypted archive without a key.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The list of its files, as a file: by its digest an exchanged archive is noticed.
    pub index: archive::FileRecord,
    /// Whether it is a snapshot of a server's files, and no archive.
    pub snapshot: bool,
    /// How many files it has.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was finished, by the clock of whoever keeps it.
    pub written: Option<std::time::SystemTime>,
}

/// Reads what is known without a key; `None` if the archive is not encrypted, or not whole.
pub fn listed(store: &dyn store::Store) -> Result<Option<Listed>> {
    let Some((index, bytes)) = names::Index::read(store)? else {
        return Ok(None);
    };
    let all = store.list()?;
    // The list itself and the key are files, too.
    let more = all
        .iter()
        .filter(|e| matches!(e.name.as_str(), KEY | names::INDEX));
    Ok(Some(Listed {
        snapshot: index.snapshot,
        files: index.files.len() as u64 + more.clone().count() as u64,
        bytes: index.files.values().map(|f| f.bytes).sum::<u64>()
            + more.map(|e| e.size).sum::<u64>(),
        written: all
            .iter()
            .find(|e| e.name == names::INDEX)
            .and_then(|e| e.modified),
        index: archive::FileRecord::of(&bytes),
    }))
}

/// The files of an encrypted archive as they are stored, but the key and the list itself; needs no key. `None` if the
/// archive is not encrypted.
pub fn stored(
    store: &dyn store::Store,
) -> Result<Option<std::collections::BTreeMap<String, archive::FileRecord>>> {
    let Some((index, _)) = names::Index::read(store)? else {
        return Ok(None);
    };
    check::key(store)?;
    Ok(Some(index.files))
}
