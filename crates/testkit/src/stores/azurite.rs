//! Azurite: Azure's storage, as its maker emulates it.

use super::{Process, cache, free_port};
use crate::process::spawn_bound;
use crate::{Error, Result};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The account of every server here, and its key: a readable text in base64.
pub const ACCOUNT: (&str, &str) = ("penstock", "cGVuc3RvY2sncyB0ZXN0cyBtYWtlIHRoaXMga2V5IHVw");

/// The container of every server here.
const CONTAINER: &str = "backups";

/// Makes the container: a request that is signed with the account's key, as Azure describes it.
const MAKE_CONTAINER: &str = r#"
const [port, account, key, container] = process.argv.slice(1);
const date = new Date().toUTCString(), version = "2021-12-02";
const text = "PUT" + "\n".repeat(12) + `x-ms-date:${date}\nx-ms-version:${version}\n/${account}/${account}/${container}\nrestype:container`;
const sign = require("crypto").createHmac("sha256", Buffer.from(key, "base64")).update(text, "utf8").digest("base64");
const headers = { "x-ms-date": date, "x-ms-version": version, "content-length": 0, authorization: `SharedKey ${account}:${sign}` };
const path = `/${account}/${container}?restype=container`;
const done = (answer) => { answer.resume(); process.exit(answer.statusCode === 201 ? 0 : 1); };
require("http").request({ host: "127.0.0.1", port, path, method: "PUT", headers }, done).end();
"#;

/// A running Azurite.
#[derive(Debug)]
pub struct Azurite {
    _process: Process,
    _directory: TempDir,
    port: u16,
}

impl Azurite {
    /// Starts one; `None` if it is not installed.
    pub fn start() -> Result<Option<Azurite>> {
        let program = cache().join("stores/azurite/node_modules/.bin/azurite-blob");
        if !program.exists() {
            return Ok(None);
        }
        let directory = tempfile::tempdir().map_err(Error::doing("a directory"))?;
        let port = free_port()?;
        let mut command = Command::new(program);
        command.args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string()]);
        command.args([
            "--silent",
            "--skipApiVersionCheck",
            "--disableTelemetry",
            "--location",
        ]);
        command.arg(directory.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.env("AZURITE_ACCOUNTS", format!("{}:{}", ACCOUNT.0, ACCOUNT.1));
        let child = spawn_bound(command).map_err(Error::doing("azurite"))?;
        let azurite = Azurite {
            _process: Process::started(child, "azurite", port)?,
            _directory: directory,
            port,
        };
        let made = Command::new("node")
            .args([
                "-e",
                MAKE_CONTAINER,
                "--",
                &port.to_string(),
                ACCOUNT.0,
                ACCOUNT.1,
                CONTAINER,
            ])
            .status()
            .map_err(Error::doing("node"))?;
        if !made.success() {
            return Err(Error(format!("no container could be made: {made}")));
        }
        Ok(Some(azurite))
    }

    /// The URL of a prefix in the container.
    pub fn url(&self, prefix: &str) -> String {
        let account = ACCOUNT.0;
        let endpoint = format!("http://127.0.0.1:{}/{account}", self.port);
        format!("az://{CONTAINER}/{prefix}?account={account}&endpoint={endpoint}")
    }
}
