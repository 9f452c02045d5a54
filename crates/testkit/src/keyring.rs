//! Servers with a keyring, which encrypt what they write.
//!
//! MySQL looks for the list of its early components beside its own binary, so it runs from a link in a directory of its own. MariaDB's
//! plugin is in another package than the server, and `./dev` fetches it.

use crate::{Error, Kind, Result, Setup, skip};
use std::path::{Path, PathBuf};

/// The plugin of MariaDB.
const PLUGIN: &str = "file_key_management";

impl Setup {
    /// Adds a keyring in this directory, which must outlive the server. `None` where there is none for this kind: that counts as a skip.
    pub fn with_keyring(self, directory: &Path) -> Result<Option<Setup>> {
        match self.install().kind.flavour() {
            Kind::MySql => self.component(directory).map(Some),
            _ => self.plugin(directory),
        }
    }

    fn component(mut self, directory: &Path) -> Result<Setup> {
        let plugins = directory.join("plugins");
        std::fs::create_dir_all(&plugins)?;
        let binary = self.install().binary.clone();
        let link = directory.join("mysqld");
        if std::fs::hard_link(&binary, &link).is_err() {
            std::fs::copy(&binary, &link)?;
        }
        let component = "component_keyring_file";
        let root = binary.parent().and_then(Path::parent);
        let library = root.map(|r| r.join(format!("lib/mysql/plugin/{component}.so")));
        let library = library.filter(|l| l.is_file());
        let library = library.ok_or_else(|| Error(format!("no {component}.so")))?;
        std::fs::copy(&library, plugins.join(format!("{component}.so")))?;
        std::fs::write(
            directory.join("mysqld.my"),
            format!("{{\"components\": \"file://{component}\"}}"),
        )?;
        let keys = directory.join("keys");
        std::fs::write(
            plugins.join(format!("{component}.cnf")),
            format!("{{\"path\": \"{}\", \"read_only\": false}}", keys.display()),
        )?;
        self.run_from(link);
        Ok(self.args([format!("--plugin-dir={}", plugins.display())]))
    }

    fn plugin(self, directory: &Path) -> Result<Option<Setup>> {
        let places = [
            PathBuf::from("/usr/lib/mysql/plugin"),
            crate::install::cache_directory().join("mariadb-plugins"),
        ];
        let library = format!("{PLUGIN}.so");
        let Some(place) = places.iter().find(|p| p.join(&library).is_file()) else {
            skip(PLUGIN, format!("no {library}"));
            return Ok(None);
        };
        let keys = directory.join("keys");
        std::fs::write(&keys, format!("1;{}\n", "0123456789abcdef".repeat(4)))?;
        Ok(Some(self.args([
            format!("--plugin-dir={}", place.display()),
            format!("--plugin-load-add={PLUGIN}"),
            format!("--file-key-management-filename={}", keys.display()),
        ])))
    }
}
