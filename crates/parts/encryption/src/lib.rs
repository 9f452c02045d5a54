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
mod store_of;
#[cfg(test)]
mod tests;

pub use check::{Found, check_files};
pub use keys::Keys;
pub use place::Place;
pub use store_of::Encrypted;

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
    /// A key that was named cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The digest of an encrypted archive's list of files, by which an exchanged archive is noticed; with the number of
/// its files and their bytes. `None` if the archive is not encrypted, or not whole.
pub fn listed(store: &dyn store::Store) -> Result<Option<(archive::FileRecord, u64, u64)>> {
    let Some((index, bytes)) = names::Index::read(store)? else {
        return Ok(None);
    };
    let files = index.files.len() as u64;
    let stored = index.files.values().map(|f| f.bytes).sum();
    Ok(Some((archive::FileRecord::of(&bytes), files, stored)))
}
