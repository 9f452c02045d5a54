//! Keys: to encrypt an archive with, and to open one.

use clap::Args;
use std::path::PathBuf;

/// What a new archive is encrypted with.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Encryption")]
pub struct Encrypting {
    /// Encrypt the archive for this age recipient (age1…); give it several times for several people
    #[arg(long, value_name = "RECIPIENT", conflicts_with = "passphrase_file")]
    pub encrypt_to: Vec<String>,
    /// Encrypt the archive with the passphrase in the first line of this file
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

/// What an encrypted archive is opened with.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Encryption")]
pub struct Opening {
    /// Open the encrypted archive with an identity in this file, as age-keygen writes it; may be
    /// given several times
    #[arg(long, value_name = "FILE")]
    pub identity: Vec<PathBuf>,
    /// Open the encrypted archive with the passphrase in the first line of this file
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

impl Opening {
    /// Whether a key is named.
    pub fn is_empty(&self) -> bool {
        self.identity.is_empty() && self.passphrase_file.is_none()
    }
}

/// `penstock rekey`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock rekey /backup/monday --identity old.txt --encrypt-to age1…
  penstock rekey --repository s3://backups/mysql --identity old.txt --encrypt-to age1… --encrypt-to age1…

Only the file of the archive's key is written; the encrypted data stays as it is. Whoever has the old key and
an old copy of that file can still read the data. Make new backups if a key was stolen.

Exit codes: 0 every archive has the new key, 2 a key does not fit; the others are listed by penstock --help")]
pub struct Rekey {
    /// The archive
    #[arg(
        value_name = "DIR",
        required_unless_present = "repository",
        conflicts_with = "repository"
    )]
    pub archive: Option<PathBuf>,
    /// All encrypted backups of this repository: a directory or URL
    #[arg(long, value_name = "REPO")]
    pub repository: Option<PathBuf>,
    /// Only the backups of this server
    #[arg(long, value_name = "NAME", requires = "repository")]
    pub server_name: Option<String>,
    #[command(flatten)]
    pub opening: Opening,
    /// The new recipient (age1…); give it several times for several people. Who is not named cannot
    /// open the archive any more
    #[arg(
        long,
        value_name = "RECIPIENT",
        conflicts_with = "new_passphrase_file",
        required_unless_present = "new_passphrase_file"
    )]
    pub encrypt_to: Vec<String>,
    /// Encrypt with the passphrase in the first line of this file from now on
    #[arg(long, value_name = "FILE")]
    pub new_passphrase_file: Option<PathBuf>,
}
