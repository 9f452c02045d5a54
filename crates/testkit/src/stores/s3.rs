//! Servers that speak S3, written by others than the client's library.

use super::{Process, cache, free_port};
use crate::process::spawn_bound;
use crate::{Error, Result};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The identifier and the secret that every server here accepts.
pub const KEY: (&str, &str) = ("penstock-test-id", "penstock-test-secret");

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// `moto` (Python): objects in memory, does not check signatures.
    Moto,
    /// `s3s-fs` (Rust): objects in files, checks signatures and checksums.
    S3s,
}

impl Maker {
    /// Its name, for skips.
    pub fn name(self) -> &'static str {
        match self {
            Maker::Moto => "moto",
            Maker::S3s => "s3s",
        }
    }

    fn program(self) -> PathBuf {
        match self {
            Maker::Moto => cache().join("stores/moto/bin/moto_server"),
            Maker::S3s => cache().join("stores/s3s/bin/s3s-fs"),
        }
    }
}

/// A running S3 server with a bucket.
#[derive(Debug)]
pub struct S3 {
    _process: Process,
    directory: TempDir,
    port: u16,
}

impl S3 {
    /// Starts one; `None` if it is not installed.
    pub fn start(maker: Maker) -> Result<Option<S3>> {
        let program = maker.program();
        if !program.is_file() {
            return Ok(None);
        }
        let directory = tempfile::tempdir().map_err(Error::doing("a directory"))?;
        let port = free_port()?;
        let mut command = Command::new(program);
        match maker {
            Maker::Moto => {
                command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
            }
            Maker::S3s => {
                std::fs::create_dir(directory.path().join(BUCKET))
                    .map_err(Error::doing("a bucket"))?;
                command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
                command.args(["--access-key", KEY.0, "--secret-key", KEY.1]);
                command.arg(directory.path());
            }
        }
        let log = std::fs::File::create(directory.path().with_extension("log"))
            .map_err(Error::doing("a log"))?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = spawn_bound(command).map_err(Error::doing(maker.name()))?;
        let s3 = S3 {
            _process: Process::started(child, maker.name(), port)?,
            directory,
            port,
        };
        if maker == Maker::Moto {
            s3.make_bucket()?;
        }
        Ok(Some(s3))
    }

    /// Its port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where a maker that keeps objects as files keeps those of the bucket.
    pub fn bucket(&self) -> std::path::PathBuf {
        self.directory.path().join(BUCKET)
    }

    /// The URL of a prefix in the bucket.
    pub fn url(&self, prefix: &str) -> String {
        at(self.port, prefix)
    }

    /// A server that checks nothing takes this without a signature.
    fn make_bucket(&self) -> Result<()> {
        let doing = || Error::doing("a bucket");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(doing())?;
        let request = format!(
            "PUT /{BUCKET} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).map_err(doing())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(doing())?;
        if answer.starts_with("HTTP/1.1 200") {
            return Ok(());
        }
        Err(Error(format!("no bucket could be made: {answer}")))
    }
}

/// The bucket of every server here.
const BUCKET: &str = "backups";

/// The URL of a prefix behind this port.
pub(super) fn at(port: u16, prefix: &str) -> String {
    format!("s3://{BUCKET}/{prefix}?endpoint=http://127.0.0.1:{port}&region=us-east-1")
}
