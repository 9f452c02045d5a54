//! A key for what is written piece by piece over a long time, by a writer without any secret: a server's binary log.
//!
//! ```text
//! penstock.key.age         the key, encrypted to the operator's recipients or with the passphrase, as that of an archive
//! penstock.recipient.json  its public half, to which a writer encrypts
//! ```
//!
//! Invariant: the two are written before anything is encrypted, the key first. What this does not do: prove who wrote a piece, because
//! anybody can encrypt to a public key; a reader compares what a piece says of itself.

use crate::key::{self, LIMIT};
use crate::{Error, KEY, Keys, Result};
use age::x25519::{Identity, Recipient};
use age::{Decryptor, Encryptor};
use serde::{Deserialize, Serialize};
use std::io::{self, BufReader, Read, Write as _};
use store::Store;

/// Name of the file with the public half.
pub const RECIPIENT: &str = "penstock.recipient.json";

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Public {
    version: u32,
    /// The key's public half.
    recipient: String,
    /// A digest of the recipients that the key is encrypted to; none with a passphrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<String>,
}

/// What a writer needs.
#[derive(Clone, Debug)]
pub struct Sealing {
    recipient: Recipient,
    to: Option<String>,
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::Damaged {
        file: RECIPIENT,
        what: what.to_string(),
    }
}

/// Tells whether recipients are the same without naming them.
fn digest(recipient: &Recipient, keys: &Keys) -> Option<String> {
    if keys.recipients.is_empty() {
        return None;
    }
    let mut all: Vec<String> = keys.recipients.iter().map(ToString::to_string).collect();
    all.sort();
    all.dedup();
    let text = format!("{recipient}\n{}", all.join("\n"));
    Some(blake3::hash(text.as_bytes()).to_hex().to_string())
}

impl Sealing {
    /// Makes a key, encrypted with these.
    pub fn create(store: &dyn Store, keys: &Keys) -> Result<Sealing> {
        let key = Identity::generate();
        store.put(KEY, &key::wrap(&key, keys)?)?;
        store.sync()?;
        Sealing::write(store, key.to_public(), keys)
    }

    fn write(store: &dyn Store, recipient: Recipient, keys: &Keys) -> Result<Sealing> {
        let to = digest(&recipient, keys);
        let public = Public {
            version: VERSION,
            recipient: recipient.to_string(),
            to: to.clone(),
        };
        let text = serde_json::to_string_pretty(&public).unwrap_or_default() + "\n";
        store.put(RECIPIENT, text.as_bytes())?;
        store.sync()?;
        Ok(Sealing { recipient, to })
    }

    /// The one that is there.
    pub fn open(store: &dyn Store) -> Result<Option<Sealing>> {
        let bytes = match store.read_all(RECIPIENT, LIMIT) {
            Ok(bytes) => bytes,
            Err(e) if e.not_found() => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let public: Public = serde_json::from_slice(&bytes).map_err(damaged)?;
        if public.version != VERSION {
            return Err(damaged(format!("its version is {}", public.version)));
        }
        let recipient = public.recipient.parse();
        let recipient = recipient.map_err(|why: &str| damaged(why))?;
        Ok(Some(Sealing {
            recipient,
            to: public.to,
        }))
    }

    /// Whether these keys, if any are named, are those that it was made with. A passphrase is tried.
    pub fn fits(&self, store: &dyn Store, keys: &Keys) -> Result<bool> {
        match digest(&self.recipient, keys) {
            Some(to) => Ok(self.to.as_ref() == Some(&to)),
            None if keys.passphrase.is_some() => match Opening::open(store, keys) {
                Ok(_) => Ok(true),
                Err(Error::WrongKey { .. } | Error::Locked { .. }) => Ok(false),
                Err(e) => Err(e),
            },
            None => Ok(true),
        }
    }

    /// Encrypts.
    pub fn seal(&self, plain: &[u8]) -> Result<Vec<u8>> {
        let cannot = |e: &dyn std::fmt::Display| Error::Unusable(format!("cannot encrypt: {e}"));
        let to = std::iter::once(&self.recipient as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(to).map_err(|e| cannot(&e))?;
        let mut bytes = Vec::new();
        let mut out = encryptor.wrap_output(&mut bytes).map_err(|e| cannot(&e))?;
        out.write_all(plain).map_err(|e| cannot(&e))?;
        out.finish().map_err(|e| cannot(&e))?;
        Ok(bytes)
    }
}

/// Encrypts the key that is there with others; what was encrypted to it stays as it is. `false` if there is none.
pub fn rekey(store: &dyn Store, old: &Keys, new: &Keys) -> Result<bool> {
    if Sealing::open(store)?.is_none() {
        return Ok(false);
    }
    let opening = Opening::open(store, old)?;
    store.put(KEY, &key::wrap(&opening.key, new)?)?;
    store.sync()?;
    Sealing::write(store, opening.key.to_public(), new)?;
    Ok(true)
}

/// What a reader needs.
#[derive(Clone)]
pub struct Opening {
    key: Identity,
}

impl Opening {
    /// Opens the key.
    pub fn open(store: &dyn Store, keys: &Keys) -> Result<Opening> {
        let bytes = match store.read_all(KEY, LIMIT) {
            Ok(bytes) => bytes,
            Err(e) if e.not_found() => {
                return Err(Error::Damaged {
                    file: KEY,
                    what: "it is missing, and nothing else opens what was encrypted".to_owned(),
                });
            }
            Err(e) => return Err(e.into()),
        };
        Ok(Opening {
            key: key::unwrap(&bytes, keys)?,
        })
    }

    /// What was encrypted; what is not whole, or is of another key, is an error of kind `InvalidData`.
    pub fn read(&self, sealed: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        let wrong = |e: age::DecryptError| match e {
            age::DecryptError::Io(e) => e,
            other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
        };
        let file = Decryptor::new_buffered(BufReader::new(sealed)).map_err(wrong)?;
        let body = file.decrypt(std::iter::once(&self.key as &dyn age::Identity));
        Ok(Box::new(body.map_err(wrong)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use age::secrecy::ExposeSecret as _;

    fn keys() -> (Keys, Keys) {
        let identity = Identity::generate();
        let mut to = Keys::default();
        to.add_recipient(&identity.to_public().to_string()).unwrap();
        let mut of = Keys::default();
        let text = base::Secret::new(identity.to_string().expose_secret());
        of.identities.push(text);
        (to, of)
    }

    #[test]
    fn a_writer_needs_no_secret_and_a_reader_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let store = store::Directory::open(directory.path()).unwrap();
        assert!(Sealing::open(&store).unwrap().is_none());
        let (to, of) = keys();
        let (other_to, other_of) = keys();
        Sealing::create(&store, &to).unwrap();
        let sealing = Sealing::open(&store).unwrap().expect("it is there");
        assert!(
            sealing.fits(&store, &to).unwrap() && sealing.fits(&store, &Keys::default()).unwrap()
        );
        assert!(!sealing.fits(&store, &other_to).unwrap());
        let sealed = sealing.seal(b"a row of a table").unwrap();
        assert!(!sealed.windows(5).any(|w| w == b"a row"));
        let read = |keys: &Keys, sealed: &[u8]| -> io::Result<Vec<u8>> {
            let opening = Opening::open(&store, keys).map_err(io::Error::other)?;
            let mut all = Vec::new();
            let sealed = Box::new(io::Cursor::new(sealed.to_vec()));
            opening.read(sealed)?.read_to_end(&mut all)?;
            Ok(all)
        };
        assert_eq!(read(&of, &sealed).unwrap(), b"a row of a table");
        assert!(read(&other_of, &sealed).is_err() && read(&Keys::default(), &sealed).is_err());
        for at in [10, sealed.len() / 2, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(read(&of, &changed).is_err(), "{at}");
        }
        assert!(read(&of, &sealed[..sealed.len() - 1]).is_err());
        // Other recipients, and the same bytes.
        assert!(rekey(&store, &other_of, &other_to).is_err());
        assert!(rekey(&store, &of, &other_to).unwrap());
        assert_eq!(read(&other_of, &sealed).unwrap(), b"a row of a table");
        assert!(read(&of, &sealed).is_err());
        let sealing = Sealing::open(&store).unwrap().expect("it is there");
        assert!(sealing.fits(&store, &other_to).unwrap());
    }
}
