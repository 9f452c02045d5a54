//! The directories of a running server on this host: data, redo log, binary log, temporary files.

use base::{Error, Kind, Result};
use run::host::Process;
use run::{Run, connect};
use server::Identity;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory and its use.
pub struct Named {
    /// What a server has there.
    pub use_: Option<&'static str>,
    /// Its path.
    pub path: PathBuf,
}

/// A server and its directories.
pub struct Found {
    /// The server, in words.
    pub server: String,
    /// What it has where.
    pub directories: Vec<Named>,
}

/// Asks the server.
pub fn directories(run: &Run, options: &wire::Options) -> Result<Found> {
    let (conn, id) = connect::open(run, options)?;
    if Process::of(&conn, &options.endpoint, &id).is_none() {
        let what = format!(
            "the server at {} is not a mysqld or mariadbd of this host, as far as can be seen",
            options.endpoint
        );
        return Err(Error::new(Kind::Target, what)
            .hint("run this on the server's own host, as an account that may look at its process; or name its directories"));
    }
    let directories = named(&id)
        .into_iter()
        .map(|n| Named {
            path: beside(&id, &n.path),
            ..n
        })
        .collect();
    Ok(Found {
        server: format!("{id} at {}", options.endpoint),
        directories,
    })
}

/// What the server's variables say.
fn named(id: &Identity) -> Vec<Named> {
    let datadir = PathBuf::from(&id.datadir);
    let path = |text: &str| match text {
        "" | "." | "./" => datadir.clone(),
        text => datadir.join(text),
    };
    let variable = |name: &str| id.variable(name).filter(|v| !v.is_empty());
    let mut all = vec![Named {
        use_: Some("data"),
        path: datadir.clone(),
    }];
    let mut add = |use_, path| {
        all.push(Named {
            use_: Some(use_),
            path,
        });
    };
    add(
        "redo log",
        path(variable("innodb_log_group_home_dir").unwrap_or_default()),
    );
    if id.log_bin {
        let base = variable("log_bin_basename")
            .map(Path::new)
            .and_then(Path::parent);
        add(
            "binary log",
            base.map_or_else(|| datadir.clone(), Path::to_owned),
        );
    }
    let temporary = variable("tmpdir").unwrap_or("/tmp");
    for one in temporary.split(':') {
        add("tmpdir", path(one));
    }
    all
}

/// A directory on the same file system that the server does not look into: MariaDB and old versions of MySQL take each
/// directory in the data directory for a schema.
fn beside(id: &Identity, path: &Path) -> PathBuf {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let data = std::fs::canonicalize(&id.datadir).ok();
    if data.as_deref() != Some(&real) {
        return real;
    }
    let device = |p: &Path| std::fs::metadata(p).map(|m| m.dev()).ok();
    let writable = |p: &Path| rustix::fs::access(p, rustix::fs::Access::WRITE_OK).is_ok();
    match real.parent() {
        Some(parent) if device(parent) == device(&real) && writable(parent) => parent.to_owned(),
        // A mount of its own, for example; the place itself warns then.
        _ => real,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn of(pairs: &[(&str, &str)]) -> Vec<(&'static str, PathBuf)> {
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
        let found = named(&id).into_iter();
        found.map(|n| (n.use_.unwrap(), n.path)).collect()
    }

    #[test]
    fn directories_are_those_of_the_variables() {
        let d = PathBuf::from("/srv/d/");
        assert_eq!(
            of(&[("innodb_log_group_home_dir", "./"), ("tmpdir", "/tmp")]),
            [
                ("data", d.clone()),
                ("redo log", d.clone()),
                ("tmpdir", "/tmp".into())
            ]
        );
        assert_eq!(
            of(&[
                ("innodb_log_group_home_dir", "/redo"),
                ("log_bin", "ON"),
                ("log_bin_basename", "/logs/binlog"),
                ("tmpdir", "/t1:/t2"),
            ]),
            [
                ("data", d),
                ("redo log", "/redo".into()),
                ("binary log", "/logs".into()),
                ("tmpdir", "/t1".into()),
                ("tmpdir", "/t2".into()),
            ]
        );
    }
}
