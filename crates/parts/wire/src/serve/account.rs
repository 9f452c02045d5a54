//! The account that a replica logs in with, and where its secrets come from.

use base::Secret;
use std::io;

/// Replicas take no longer password.
const PASSWORD_LEN: usize = 32;

/// The account of the one replica.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub user: String,
    /// Its password.
    pub password: Secret,
}

impl Account {
    /// An account that no one could know before: of letters and digits.
    pub fn random() -> io::Result<Account> {
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let mut bytes = [0; 8 + PASSWORD_LEN];
        random(&mut bytes)?;
        let text: String = bytes
            .iter()
            .map(|b| char::from(LETTERS[usize::from(b % 32)]))
            .collect();
        Ok(Account {
            user: format!("penstock_{}", &text[..8]),
            password: Secret::new(&text[8..]),
        })
    }
}

/// Fills a few bytes from the system's random source.
pub(super) fn random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}
