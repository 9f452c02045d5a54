//! The keys that an operator names: recipients to encrypt to, identities or a passphrase to open with.
//!
//! Invariant: secrets are read from files, are never shown, and are wiped from memory. What this does not do:
//! make keys; `age-keygen` does.

use crate::{Error, Result};
use age::x25519::Recipient;
use base::Secret;
use base::units::printable;
use std::io::Read;
use std::path::Path;

/// A larger key file is none, in bytes.
const LIMIT: u64 = 1 << 20;

/// Keys as they were named; empty: none.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pub(crate) recipients: Vec<Recipient>,
    pub(crate) identities: Vec<Secret>,
    pub(crate) passphrase: Option<Secret>,
}

impl Keys {
    /// Encrypts to this recipient, too.
    pub fn add_recipient(&mut self, text: &str) -> Result<()> {
        let shown = printable(text);
        if text.starts_with("AGE-SECRET-KEY-") {
            return Err(Error::Unusable(
                "this is a secret key; a recipient begins with age1 (age-keygen -y shows it)"
                    .to_owned(),
            ));
        }
        let recipient = text
            .parse()
            .map_err(|why: &str| Error::Unusable(format!("'{shown}' is not a recipient: {why}")));
        self.recipients.push(recipient?);
        Ok(())
    }

    /// Opens with the identities in this file, too: those of `age-keygen`.
    pub fn add_identity_file(&mut self, path: &Path) -> Result<()> {
        let text = read(path)?;
        let unusable =
            |why: String| Error::Unusable(format!("{}: {why}", printable(&path.to_string_lossy())));
        if text.reveal().starts_with("age-encryption.org/") {
            let way_out = "it is encrypted itself: decrypt it first, with age -d";
            return Err(unusable(way_out.to_owned()));
        }
        match age::IdentityFile::from_buffer(text.reveal().as_bytes()) {
            Ok(file) => match file.into_identities() {
                Ok(all) if all.is_empty() => Err(unusable("it holds no identity".to_owned())),
                Ok(_) => {
                    self.identities.push(text);
                    Ok(())
                }
                Err(_) => Err(unusable("its identities cannot be used".to_owned())),
            },
            // The library's words may quote the line.
            Err(_) => Err(unusable(
                "it is not a file of age identities (AGE-SECRET-KEY-1…, as age-keygen writes them)"
                    .to_owned(),
            )),
        }
    }

    /// Encrypts, or opens, with the passphrase in this file: its first line.
    pub fn read_passphrase(&mut self, path: &Path) -> Result<()> {
        let text = read(path)?;
        let line = text.reveal().lines().next().unwrap_or_default();
        if line.is_empty() {
            let shown = printable(&path.to_string_lossy());
            return Err(Error::Unusable(format!(
                "{shown}: its first line is empty, and should be the passphrase"
            )));
        }
        self.passphrase = Some(Secret::new(line));
        Ok(())
    }

    /// Whether there is something to encrypt with.
    pub fn can_encrypt(&self) -> bool {
        !self.recipients.is_empty() || self.passphrase.is_some()
    }

    /// Whether there is something to open with.
    pub fn can_open(&self) -> bool {
        !self.identities.is_empty() || self.passphrase.is_some()
    }
}

fn read(path: &Path) -> Result<Secret> {
    let shown = printable(&path.to_string_lossy());
    let fail = |e: std::io::Error| Error::Unusable(format!("cannot read {shown}: {e}"));
    let file = std::fs::File::open(path).map_err(fail)?;
    let mut text = String::new();
    file.take(LIMIT).read_to_string(&mut text).map_err(fail)?;
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        use std::io::Write as _;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        let mut keys = Keys::default();
        for text in [
            "",
            "age1",
            "ssh-ed25519 AAAA",
            "age1qqqqqqqq",
            "AGE-SECRET-KEY-1QQ",
        ] {
            let e = keys.add_recipient(text).expect_err(text).to_string();
            assert!(!e.contains("SECRET"), "{e}");
        }
        for text in [
            "",
            "# only a comment\n",
            "AGE-SECRET-KEY-1WRONG\n",
            "age-encryption.org/v1\n-> x\n",
        ] {
            let e = keys.add_identity_file(file(text).path()).expect_err(text);
            assert!(!e.to_string().contains("WRONG"), "{e}");
        }
        for text in ["", "\nsecond\n"] {
            keys.read_passphrase(file(text).path()).expect_err(text);
        }
        keys.add_identity_file(Path::new("/nonexistent"))
            .expect_err("nothing there");
        assert!(!keys.can_encrypt() && !keys.can_open());
    }

    #[test]
    fn keys_of_age_are_taken() {
        use age::secrecy::ExposeSecret as _;
        let identity = age::x25519::Identity::generate();
        let mut keys = Keys::default();
        keys.add_recipient(&identity.to_public().to_string())
            .unwrap();
        let text = format!("# created\n{}\n", identity.to_string().expose_secret());
        keys.add_identity_file(file(&text).path()).unwrap();
        keys.read_passphrase(file("a b \r\nx").path()).unwrap();
        assert_eq!(keys.passphrase.as_ref().unwrap().reveal(), "a b ");
        assert!(keys.can_encrypt() && keys.can_open());
        assert!(!format!("{keys:?}").contains("SECRET"));
    }
}
