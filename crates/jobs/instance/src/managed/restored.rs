//! A temporary server on files that were restored: it recovers them, is asked, and is shut down.
//!
//! Invariants: it is only ever started in a directory that this run has filled; it listens on a socket that only its own
//! account can reach, reads no option files and no persisted settings, asks nobody for a password, and applies nothing of
//! a source.

use super::account;
use super::mysqld::Mysqld;
use super::program;
use super::state_file;
use base::units::printable;
use base::{Error, Kind, Result};
use run::Run;
use run::state::storage;
use server::identity::Version;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Command;
use wire::Endpoint;

/// Bytes of its buffer pool and of its redo log, where its options do not say.
const SIZES: (u64, u64) = (512 << 20, 128 << 20);

/// The files of a server, and what is needed to start one on them.
#[derive(Clone, Debug)]
pub struct Restored {
    /// Where they are; absolute.
    pub datadir: PathBuf,
    /// The server's program; searched for if it is not given.
    pub program: Option<PathBuf>,
    /// Whether they are MariaDB's.
    pub mariadb: bool,
    /// The version that wrote them, as it says itself.
    pub version: String,
    /// Options that the server needs, each `name=value`.
    pub options: Vec<String>,
}

/// Creates a data directory, unless it exists; returns whether it did.
pub fn create_datadir(run: &Run, datadir: &Path) -> Result<bool> {
    state_file::create_datadir(run, datadir)
}

/// The account that files in a directory are given to; `None` if that is the one that runs us.
pub fn account_of(directory: &Path) -> Result<Option<u32>> {
    account::of_server(directory).map_err(|e| storage("read", directory, &e))
}

impl Restored {
    /// The server, which does not run yet.
    pub fn server(&self) -> Result<Mysqld> {
        let (program, mariadb) = program::find(self.program.as_deref(), Some(self.mariadb))?;
        let name = |mariadb| if mariadb { "MariaDB" } else { "MySQL" };
        if mariadb != self.mariadb {
            let what = format!(
                "{} is a server of {}, and the snapshot is of {}",
                program.display(),
                name(mariadb),
                name(self.mariadb)
            );
            return Err(Error::new(Kind::Usage, printable(&what))
                .hint("name a program of that flavour with --mysqld"));
        }
        self.check_version(&program)?;
        let mut options = vec![
            "skip-grant-tables=1".to_owned(),
            "skip-slave-start=1".to_owned(),
        ];
        if !mariadb {
            options.push("persisted-globals-load=OFF".to_owned());
        }
        options.extend(self.options.iter().cloned());
        let server = Mysqld {
            datadir: self.datadir.clone(),
            program,
            mariadb,
            options,
            user: None,
            sizes: SIZES,
            tablespaces: false,
        };
        if !server.has_room_for_socket() || server.datadir.to_str().is_none() {
            let what = format!(
                "{}: the path of a socket in it is longer than the kernel accepts, or the path is not UTF-8",
                server.datadir.display()
            );
            return Err(Error::new(Kind::Usage, printable(&what))
                .hint("restore into a directory with a short path, and move it afterwards"));
        }
        Ok(server)
    }

    /// A server of another series would not read the files, or change them so that the right one cannot any more.
    fn check_version(&self, program: &Path) -> Result<()> {
        let out = Command::new(program)
            .args(["--no-defaults", "--version"])
            .output()
            .map_err(|e| storage("run", program, &e))?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let found = text.split_whitespace().skip_while(|w| *w != "Ver").nth(1);
        let (Some(has), Some(wanted)) = (
            found.and_then(Version::parse),
            Version::parse(&self.version),
        ) else {
            return Ok(());
        };
        if (has.major, has.minor) == (wanted.major, wanted.minor) && has >= wanted {
            return Ok(());
        }
        let what = format!(
            "{} is version {has}, and the snapshot is of {wanted}",
            program.display()
        );
        Err(Error::new(Kind::Usage, printable(&what)).hint(format!(
            "name a server of version {}.{}, not older than the snapshot's, with --mysqld",
            wanted.major, wanted.minor
        )))
    }
}

impl Mysqld {
    /// Makes its directories, and starts it; returns how to connect to it.
    pub fn recover(&mut self) -> Result<wire::Options> {
        self.user = account_of(&self.datadir)?;
        let directory = self.state_directory();
        let made = DirBuilder::new().mode(0o700).create(&directory);
        made.or_else(|e| {
            if e.kind() == io::ErrorKind::AlreadyExists {
                Ok(())
            } else {
                Err(e)
            }
        })
        .and_then(|()| match self.user {
            Some(uid) => lchown(&directory, Some(uid), None),
            None => Ok(()),
        })
        .map_err(|e| storage("create", &directory, &e))?;
        super::initialize::create_scratch(self)?;
        self.start().map_err(|why| {
            let what = format!("the server does not start on the restored files ({self}): {why}");
            Error::new(Kind::Failed, printable(&what)).hint(super::initialize::hint_for(&why))
        })?;
        Ok(wire::Options::new(Endpoint::Unix(self.socket()), "root"))
    }

    /// Shuts it down cleanly, and removes what belonged to it alone.
    pub fn recovered(&self) -> Result<()> {
        self.stop().map_err(|why| {
            Error::new(
                Kind::Failed,
                printable(&format!("cannot shut the server down ({self}): {why}")),
            )
        })?;
        let directory = self.state_directory();
        fs::remove_dir_all(&directory).map_err(|e| storage("remove", &directory, &e))
    }
}
