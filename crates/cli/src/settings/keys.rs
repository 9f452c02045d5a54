//! Keys that options name.

use crate::args::encryption::{Encrypting, Opening, Rekey};
use base::{Error, Kind, Result};
use encryption::Keys;
use std::path::{Path, PathBuf};

/// What a new archive is encrypted with; nothing: it is not.
pub fn encrypting(a: &Encrypting) -> Result<Keys> {
    keys(
        &a.encrypt_to,
        ("--passphrase-file", a.passphrase_file.as_deref()),
    )
}

/// The same, with what opens an earlier archive.
pub fn comparing(a: &Encrypting, identities: &[PathBuf]) -> Result<Keys> {
    with_identities(encrypting(a)?, identities)
}

/// What an archive is opened with.
pub fn opening(a: &Opening) -> Result<Keys> {
    let keys = keys(&[], ("--passphrase-file", a.passphrase_file.as_deref()))?;
    with_identities(keys, &a.identity)
}

fn with_identities(mut keys: Keys, identities: &[PathBuf]) -> Result<Keys> {
    for path in identities {
        keys.add_identity_file(path)
            .map_err(|e| unusable("--identity", &e))?;
    }
    Ok(keys)
}

/// The old keys and the new ones.
pub fn rekey(a: &Rekey) -> Result<(Keys, Keys)> {
    let old = opening(&a.opening)?;
    if !old.can_open() {
        return Err(
            Error::new(Kind::Usage, "no key is named that opens the archive now")
                .hint("name it with --identity or --passphrase-file"),
        );
    }
    let file = a.new_passphrase_file.as_deref();
    Ok((old, keys(&a.encrypt_to, ("--new-passphrase-file", file))?))
}

fn keys(recipients: &[String], passphrase: (&str, Option<&Path>)) -> Result<Keys> {
    let mut keys = Keys::default();
    for text in recipients {
        keys.add_recipient(text)
            .map_err(|e| unusable("--encrypt-to", &e))?;
    }
    if let (option, Some(path)) = passphrase {
        keys.read_passphrase(path)
            .map_err(|e| unusable(option, &e))?;
    }
    Ok(keys)
}

fn unusable(option: &str, e: &encryption::Error) -> Error {
    Error::new(Kind::Usage, format!("{option}: {e}"))
        .hint("age-keygen makes an identity file, and shows the recipient for it; a passphrase is a text of your own")
}
