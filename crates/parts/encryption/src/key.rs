//! The file of an archive's key: an age file that holds an identity, encrypted for the operator.
//!
//! Whoever opens it with the `age` program gets an identity file that opens the archive's other files.

use crate::{Error, KEY, Keys, Result};
use age::secrecy::{ExposeSecret as _, SecretString};
use age::x25519::Identity;
use age::{DecryptError, Decryptor, Encryptor};
use base::Secret;
use std::io::{Read as _, Write as _};

/// A larger key file is refused, in bytes: room for thousands of recipients.
pub(crate) const LIMIT: u64 = 1 << 20;

/// A passphrase is stretched with 2 to the power of this steps: 256 MiB of memory, and about a second. What the age library
/// takes by itself depends on how busy the host is.
const WORK: u8 = 18;

/// More steps than this are refused, whatever the host: a file that was made to take hours, or all memory.
const MOST_WORK: u8 = 21;

/// The file's bytes: this key, encrypted with these.
pub(crate) fn wrap(key: &Identity, keys: &Keys) -> Result<Vec<u8>> {
    let unusable = |e: &dyn std::fmt::Display| Error::Unusable(format!("cannot encrypt: {e}"));
    let encryptor = match &keys.passphrase {
        Some(passphrase) => {
            let mut recipient = age::scrypt::Recipient::new(secret(passphrase));
            recipient.set_work_factor(WORK);
            let one = std::iter::once(&recipient as &dyn age::Recipient);
            Encryptor::with_recipients(one).map_err(|e| unusable(&e))?
        }
        None => {
            let all = keys.recipients.iter().map(|r| r as &dyn age::Recipient);
            Encryptor::with_recipients(all).map_err(|e| unusable(&e))?
        }
    };
    let text = Secret::new(format!(
        "# The key of one penstock archive. age -d -i THIS-FILE 000001.age decrypts its files.\n{}\n",
        key.to_string().expose_secret()
    ));
    let mut bytes = Vec::new();
    let mut out = encryptor
        .wrap_output(&mut bytes)
        .map_err(|e| unusable(&e))?;
    out.write_all(text.reveal().as_bytes())
        .map_err(|e| unusable(&e))?;
    out.finish().map_err(|e| unusable(&e))?;
    Ok(bytes)
}

/// The key in these bytes, opened with these.
pub(crate) fn unwrap(bytes: &[u8], keys: &Keys) -> Result<Identity> {
    let damaged = |what: &str| Error::Damaged {
        file: KEY,
        what: what.to_owned(),
    };
    let file = Decryptor::new_buffered(bytes).map_err(|_| damaged("it is not an age file"))?;
    let passphrase = file.is_scrypt();
    let opened = match (&keys.passphrase, passphrase) {
        (Some(named), true) => {
            let mut identity = age::scrypt::Identity::new(secret(named));
            identity.set_max_work_factor(MOST_WORK);
            file.decrypt(std::iter::once(&identity as &dyn age::Identity))
        }
        (None, true) => return Err(Error::Locked { passphrase }),
        (_, false) if keys.identities.is_empty() => return Err(Error::Locked { passphrase }),
        (_, false) => {
            let mut all = Vec::new();
            for text in &keys.identities {
                // Looked at when they were named.
                let file = age::IdentityFile::from_buffer(text.reveal().as_bytes());
                if let Some(identities) = file.ok().and_then(|f| f.into_identities().ok()) {
                    all.extend(identities);
                }
            }
            file.decrypt(all.iter().map(|i| &**i as &dyn age::Identity))
        }
    };
    let mut opened = opened.map_err(|e| match e {
        DecryptError::NoMatchingKeys
        | DecryptError::DecryptionFailed
        | DecryptError::KeyDecryptionFailed => Error::WrongKey { passphrase },
        DecryptError::ExcessiveWork { required, .. } => damaged(&format!(
            "its passphrase takes 2^{required} steps, and no more than 2^{MOST_WORK} are taken, which need 2 GiB of memory"
        )),
        _ => damaged("its head differs from what was written"),
    })?;
    let mut text = String::new();
    let read = opened.read_to_string(&mut text);
    let text = Secret::new(text);
    read.map_err(|_| damaged("it differs from what was written"))?;
    let line = text
        .reveal()
        .lines()
        .find(|l| l.starts_with("AGE-SECRET-KEY-1"));
    line.and_then(|l| l.trim().parse().ok())
        .ok_or_else(|| damaged("there is no key in it"))
}

fn secret(text: &Secret) -> SecretString {
    SecretString::from(text.reveal().to_owned())
}
