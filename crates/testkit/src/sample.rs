//! Public sample databases, as SQL scripts. The stock client that belongs to the server runs them,
//! so that what they contain (DELIMITER, version comments) means what its authors meant.

use crate::{Error, Install, Result};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The directory of sample data: `PENSTOCK_SHARED`, else `shared` next to the repository; its
/// `data` part.
pub fn shared_data() -> PathBuf {
    let shared = std::env::var_os("PENSTOCK_SHARED").filter(|v| !v.is_empty());
    shared
        .map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
            PathBuf::from,
        )
        .join("data")
}

/// A sample database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// DVD rental: views, triggers, routines, spatial and full-text columns; schema `sakila`.
    Sakila,
    /// A music store; schema `Chinook`.
    Chinook,
}

impl Sample {
    /// The sample of that name.
    pub fn named(name: &str) -> Result<Sample> {
        match name {
            "sakila" => Ok(Sample::Sakila),
            "chinook" => Ok(Sample::Chinook),
            _ => Err(Error(format!("no sample {name:?}: sakila or chinook"))),
        }
    }

    /// The schema that it creates.
    pub fn schema(self) -> &'static str {
        match self {
            Sample::Sakila => "sakila",
            Sample::Chinook => "Chinook",
        }
    }

    /// Its scripts, in order.
    pub fn scripts(self) -> Vec<PathBuf> {
        let names: &[&str] = match self {
            Sample::Sakila => &["sakila/sakila-mv-schema.sql", "sakila/sakila-mv-data.sql"],
            Sample::Chinook => &["chinook/chinook_mysql.sql"],
        };
        names.iter().map(|n| shared_data().join(n)).collect()
    }

    /// Creates and fills the schema on the server behind `socket`.
    pub fn load(self, install: &Install, socket: &Path) -> Result<()> {
        for script in self.scripts() {
            let mut file = std::fs::File::open(&script).map_err(Error::doing(script.display()))?;
            run_script(install, socket, None, &mut file).map_err(Error::doing(script.display()))?;
        }
        Ok(())
    }
}

/// Runs a script as root through the stock client, in `schema` if one is named.
pub fn run_script(
    install: &Install,
    socket: &Path,
    schema: Option<&str>,
    script: &mut dyn Read,
) -> Result<()> {
    let mut command = install.command("client")?;
    command.args([
        "--no-defaults",
        "--user=root",
        "--default-character-set=utf8mb4",
        "--batch",
    ]);
    command.arg(crate::install::option("--socket=", socket));
    command.args(schema);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Error::doing("stock client"))?;
    let mut input = child
        .stdin
        .take()
        .ok_or_else(|| Error::new("the stock client has no input"))?;
    let sent = std::io::copy(script, &mut input).and_then(|_| input.flush());
    drop(input);
    let out = child.wait_with_output()?;
    if !out.status.success() {
        return Err(Error(
            String::from_utf8_lossy(&out.stderr).trim().to_owned(),
        ));
    }
    sent.map_err(Error::doing("stock client"))
}
