//! The directories of a server, as its variables name them: data, redo log, binary log, temporary files; and which places
//! are in the data directory of one.
//!
//! Of the former only the data directory is looked for, as it is seen from here.

use base::units::printable;
use base::{Error, Kind, Result};
use server::Identity;
use std::path::{Path, PathBuf};

/// The use of the data directory.
pub const DATA: &str = "data";
/// Of the directory of the redo log.
pub const REDO_LOG: &str = "redo log";
/// Of the directory of the binary log.
pub const BINARY_LOG: &str = "binary log";
/// Of a directory for temporary files.
pub const TMPDIR: &str = "tmpdir";
/// Of the directory in which indexes are sorted, if it is another one.
pub const INNODB_TMPDIR: &str = "innodb_tmpdir";

/// A path without links, as far as there is something.
pub fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for above in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return real.join(rest);
        }
    }
    path
}

/// Refuses a place in a data directory: what lies there is a schema of its server, or part of one. Whether the place is one
/// itself is not asked.
pub fn not_in_a_data_directory(place: &Path) -> Result<()> {
    let path = resolved(place);
    outside(place, path.ancestors().skip(1))
}

/// The same for a place in which directories are made: it may not be a data directory either.
pub fn no_data_directory(place: &Path) -> Result<()> {
    let path = resolved(place);
    outside(place, path.ancestors())
}

fn outside<'p>(place: &Path, mut all: impl Iterator<Item = &'p Path>) -> Result<()> {
    let has = |directory: &Path, name| directory.join(name).exists();
    // MySQL, MariaDB; the system tablespace alone may lie elsewhere.
    let is_data = |d: &&Path| {
        has(d, "mysql.ibd") || has(d, "mysql") && (has(d, "ibdata1") || has(d, "aria_log_control"))
    };
    match all.find(is_data) {
        None => Ok(()),
        Some(datadir) => Err(in_a_data_directory(&place.display(), datadir)),
    }
}

/// The error of a place in a data directory.
pub fn in_a_data_directory(place: &dyn std::fmt::Display, datadir: &Path) -> Error {
    let what = format!(
        "{place} is in the data directory of a server ({})",
        datadir.display()
    );
    Error::new(Kind::Target, printable(&what))
        .hint("nothing but the server writes there: name another directory")
}

/// A directory and its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What the server has there.
    pub use_: &'static str,
    /// Its path.
    pub path: PathBuf,
}

/// What the server's variables say.
pub fn of(id: &Identity) -> Vec<Named> {
    let datadir = PathBuf::from(&id.datadir);
    let path = |text: &str| match text {
        "" | "." | "./" => datadir.clone(),
        text => datadir.join(text),
    };
    let variable = |name: &str| id.variable(name).filter(|v| !v.is_empty());
    let mut all = vec![Named {
        use_: DATA,
        path: datadir.clone(),
    }];
    let mut add = |use_, path| all.push(Named { use_, path });
    add(
        REDO_LOG,
        path(variable("innodb_log_group_home_dir").unwrap_or_default()),
    );
    if id.log_bin {
        let base = variable("log_bin_basename")
            .map(Path::new)
            .and_then(Path::parent);
        add(
            BINARY_LOG,
            base.map_or_else(|| datadir.clone(), Path::to_owned),
        );
    }
    let temporary = variable("tmpdir").unwrap_or("/tmp");
    for one in temporary.split(':') {
        add(TMPDIR, path(one));
    }
    if let Some(of_indexes) = variable("innodb_tmpdir") {
        add(INNODB_TMPDIR, path(of_indexes));
    }
    all
}

/// Where a server's files are: as it was said (`--datadir`), or as the server says. What is not there, or is another server's, is
/// refused; `elsewhere` is what to do then.
pub fn data_directory(id: &Identity, said: Option<&Path>, elsewhere: &str) -> Result<PathBuf> {
    let datadir = said.map_or_else(|| PathBuf::from(&id.datadir), Path::to_owned);
    let shown = printable(&datadir.display().to_string());
    if !datadir.is_dir() {
        let what = format!("the data directory {shown} is not a directory here");
        return Err(Error::new(Kind::Target, what).hint(elsewhere));
    }
    // MySQL writes its name there; MariaDB has none.
    let text = std::fs::read_to_string(datadir.join("auto.cnf")).unwrap_or_default();
    let named = text.lines().find_map(|l| l.strip_prefix("server-uuid="));
    match (named.map(str::trim), &id.uuid) {
        (Some(named), Some(uuid)) if !named.eq_ignore_ascii_case(uuid) && id.is_mysql() => {
            let what = format!(
                "the data directory {shown} is of another server (auto.cnf names another UUID)"
            );
            Err(Error::new(Kind::Target, what).hint(elsewhere))
        }
        _ => Ok(datadir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn named(pairs: &[(&str, &str)]) -> Vec<(&'static str, PathBuf)> {
        let mut all = BTreeMap::from([
            ("version".to_owned(), "10.11.19-MariaDB".to_owned()),
            ("datadir".to_owned(), "/srv/d/".to_owned()),
        ]);
        all.extend(
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned())),
        );
        let id = Identity::from_variables(all).unwrap();
        of(&id).into_iter().map(|n| (n.use_, n.path)).collect()
    }

    #[test]
    fn directories_are_those_of_the_variables() {
        let d = PathBuf::from("/srv/d/");
        assert_eq!(
            named(&[("innodb_log_group_home_dir", "./"), ("tmpdir", "/tmp")]),
            [
                ("data", d.clone()),
                ("redo log", d.clone()),
                ("tmpdir", "/tmp".into())
            ]
        );
        assert_eq!(
            named(&[
                ("innodb_log_group_home_dir", "/redo"),
                ("log_bin", "ON"),
                ("log_bin_basename", "/logs/binlog"),
                ("tmpdir", "/t1:/t2"),
                ("innodb_tmpdir", "/t3"),
            ]),
            [
                ("data", d),
                ("redo log", "/redo".into()),
                ("binary log", "/logs".into()),
                ("tmpdir", "/t1".into()),
                ("tmpdir", "/t2".into()),
                ("innodb_tmpdir", "/t3".into()),
            ]
        );
    }

    #[test]
    fn places_in_data_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        std::fs::create_dir_all(data.join("mysql")).unwrap();
        // A file of that name alone makes none: anybody may write to /var/tmp.
        std::fs::write(dir.path().join("ibdata1"), "").unwrap();
        assert!(not_in_a_data_directory(&data.join("dump")).is_ok());
        std::fs::write(data.join("ibdata1"), "").unwrap();
        std::os::unix::fs::symlink(&data, dir.path().join("link")).unwrap();
        for inside in ["data/dump", "data/shop/dump", "link/x/y"] {
            let e = not_in_a_data_directory(&dir.path().join(inside)).unwrap_err();
            assert_eq!(e.kind, Kind::Target, "{inside}");
        }
        assert!(not_in_a_data_directory(&data).is_ok());
        assert!(no_data_directory(&data).is_err());
        assert!(no_data_directory(dir.path()).is_ok());
    }
}
