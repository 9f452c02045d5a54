//! Places for archives, as other programs offer them: an ssh server, S3 servers of two makers, Azure's
//! storage. Each is a real server on loopback with a port, keys and files of its own, ended with the test.
//!
//! The programs come from where `./dev` puts them: `sshd` from Debian, `moto` and `azurite` in the cache
//! directory, `s3s-fs` there too. One that is not there is a skip, which the caller reports.

mod azurite;
mod faulty;
mod s3;
mod shaped;
mod sshd;

pub use azurite::{ACCOUNT as AZURE_ACCOUNT, Azurite};
pub use faulty::{Fault, Faulty};
pub use s3::{KEY as S3_KEY, Maker, S3};
pub use shaped::shaped;
pub use sshd::Sshd;

use crate::{Error, Result};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

/// How long a server may take to start, on a busy machine.
const START: Duration = Duration::from_secs(60);

/// Where `./dev` keeps what it fetches.
fn cache() -> PathBuf {
    let named = std::env::var_os("PENSTOCK_CACHE").map(PathBuf::from);
    named.unwrap_or_else(|| {
        let home = std::env::var_os("HOME")
            .map(PathBuf::from)
            .unwrap_or_default();
        home.join(".cache/penstock")
    })
}

/// A port that is free at this moment.
pub(crate) fn free_port() -> Result<u16> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
    bound.map(|a| a.port()).map_err(Error::doing("a port"))
}

/// A process that ends with this value.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    /// Waits until it listens.
    fn started(mut child: Child, name: &str, port: u16) -> Result<Process> {
        let end = Instant::now() + START;
        loop {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(Process(child));
            }
            if let Ok(Some(status)) = child.try_wait() {
                return Err(Error(format!("{name} ended at once: {status}")));
            }
            if Instant::now() > end {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error(format!("{name} does not listen")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
