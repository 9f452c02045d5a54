//! The data directory of a server, as it is seen from here.

use base::units::printable;
use base::{Error, Kind, Result};
use server::Identity;
use std::path::{Path, PathBuf};

/// Where a server's files are: as it was said, or as the server says. What is not there, or is another server's, is refused.
pub fn of(id: &Identity, said: Option<&Path>) -> Result<PathBuf> {
    let datadir = said.map_or_else(|| PathBuf::from(&id.datadir), Path::to_owned);
    let shown = printable(&datadir.display().to_string());
    if !datadir.is_dir() {
        let what = format!("the data directory {shown} is not a directory here");
        return Err(Error::new(Kind::Target, what).hint(
            "the keys of hot pages are in the server's files: run penstock on its host (--datadir names the directory where that is \
             another one from here); without its files, read whole indexes on the new server: penstock warm load --whole-indexes \
             --include-tables …",
        ));
    }
    // MySQL writes its name there; MariaDB has none.
    let text = std::fs::read_to_string(datadir.join("auto.cnf")).unwrap_or_default();
    let named = text.lines().find_map(|l| l.strip_prefix("server-uuid="));
    match (named.map(str::trim), &id.uuid) {
        (Some(named), Some(uuid)) if !named.eq_ignore_ascii_case(uuid) && id.is_mysql() => {
            Err(Error::new(
                Kind::Target,
                format!("the data directory {shown} is of another server (auto.cnf names another UUID)"),
            )
            .hint("run penstock on the server's host; --datadir names its data directory where that is another one from here"))
        }
        _ => Ok(datadir),
    }
}
