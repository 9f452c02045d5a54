//! The mysql client's option files: `my.cnf` with its groups, escapes and
//! `!include` lines, so that servers have the same
//! names here as there.
//!
//! Of `[client]` only the keys that a connection needs are used; everything
//! else there belongs to other programs. The lines of `[penstock]` are kept
//! with their places: `filed` refuses those that no command knows.

use base::{Error, Kind, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Groups that are read, in the order in which later ones win.
const GROUPS: [&str; 3] = ["client", "client-mariadb", "penstock"];

/// `!include` chains longer than this are a loop.
const DEEPEST: u8 = 10;

/// The values of option files; keys have dashes.
#[derive(Debug, Default, Clone)]
pub struct OptionFiles {
    values: BTreeMap<String, String>,
    own: Vec<Line>,
}

/// A line of the group `[penstock]`.
#[derive(Debug, Clone)]
pub struct Line {
    /// The name, with dashes.
    pub key: String,
    /// What follows the `=`, if there is one.
    pub value: Option<String>,
    file: PathBuf,
    number: usize,
}

impl Line {
    /// Where it stands, for messages.
    pub fn place(&self) -> String {
        place(&self.file, self.number)
    }
}

fn place(file: &Path, line: usize) -> String {
    let text = format!("option file {}, line {line}", file.display());
    base::units::printable(&text)
}

/// Which files to read.
#[derive(Debug, Default, Clone)]
pub struct Which {
    /// Read only this file.
    pub only: Option<PathBuf>,
    /// Read this one after the usual ones.
    pub extra: Option<PathBuf>,
    /// Read none.
    pub none: bool,
    /// Also read groups whose names end with this.
    pub suffix: Option<String>,
}

impl OptionFiles {
    /// Reads the files that `which` names, or the usual ones.
    pub fn read(which: &Which) -> Result<OptionFiles> {
        let mut files = OptionFiles::default();
        if which.none {
            return Ok(files);
        }
        let mut groups: Vec<String> = GROUPS.iter().map(|g| (*g).to_owned()).collect();
        if let Some(suffix) = &which.suffix {
            groups.extend(GROUPS.iter().map(|g| format!("{g}{suffix}")));
        }
        if let Some(only) = &which.only {
            files.file(only, &groups, true, 0)?;
            return Ok(files);
        }
        let home = std::env::var_os("HOME").map(PathBuf::from);
        for path in ["/etc/my.cnf", "/etc/mysql/my.cnf"] {
            files.file(Path::new(path), &groups, false, 0)?;
        }
        if let Some(extra) = &which.extra {
            files.file(extra, &groups, true, 0)?;
        }
        if let Some(home) = home {
            files.file(&home.join(".my.cnf"), &groups, false, 0)?;
        }
        Ok(files)
    }

    /// The value of an option, named as on the command line.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The lines of `[penstock]`, in their order.
    pub fn own(&self) -> &[Line] {
        &self.own
    }

    fn file(&mut self, path: &Path, groups: &[String], must: bool, depth: u8) -> Result<()> {
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            // The usual files are optional, and may belong to another user.
            Err(_) if !must => return Ok(()),
            Err(e) => {
                return Err(Error::new(
                    Kind::Usage,
                    format!("cannot read option file {}: {e}", path.display()),
                ));
            }
        };
        // As the mysql client does: a file that every user may write is not trusted.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            if std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o002 != 0) {
                return if must {
                    Err(Error::new(
                        Kind::Usage,
                        format!("option file {} is world-writable", path.display()),
                    )
                    .hint("chmod o-w it"))
                } else {
                    Ok(())
                };
            }
        }
        let (mut active, mut own) = (false, false);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || line.starts_with(';') {
                continue;
            }
            if let Some(rest) = line.strip_prefix("!includedir") {
                self.directory(Path::new(rest.trim()), groups, depth)?;
            } else if let Some(rest) = line.strip_prefix("!include") {
                if depth < DEEPEST {
                    self.file(Path::new(rest.trim()), groups, true, depth + 1)?;
                }
            } else if let Some(group) = line.strip_prefix('[') {
                // The lines below could belong to any group, and a password could go to the wrong server.
                let Some((group, _)) = group.split_once(']') else {
                    return Err(Error::new(
                        Kind::Usage,
                        format!("{}: a group has no closing ]", place(path, number + 1)),
                    )
                    .hint("write it as [client], or leave the file out with --no-defaults"));
                };
                active = groups.iter().any(|g| g == group.trim());
                own = group.trim().starts_with("penstock");
            } else if active {
                let (key, value) = match line.split_once('=') {
                    Some((k, v)) => (k.trim(), Some(unquote(v.trim()))),
                    None => (line, None),
                };
                let key = key.replace('_', "-");
                if own {
                    self.own.push(Line {
                        key: key.clone(),
                        value: value.clone(),
                        file: path.to_owned(),
                        number: number + 1,
                    });
                }
                self.values.insert(key, value.unwrap_or_default());
            }
        }
        Ok(())
    }

    fn directory(&mut self, dir: &Path, groups: &[String], depth: u8) -> Result<()> {
        if depth >= DEEPEST {
            return Ok(());
        }
        let Ok(entries) = std::fs::read_dir(dir) else {
            return Ok(());
        };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|e| e.ok().map(|e| e.path()))
            .filter(|p| p.extension().is_some_and(|x| x == "cnf"))
            .collect();
        paths.sort();
        for path in paths {
            self.file(&path, groups, false, depth + 1)?;
        }
        Ok(())
    }
}

/// Removes quotes and comments, and resolves the escapes of option files (`\s` is a space).
fn unquote(value: &str) -> String {
    let mut chars = value.chars().peekable();
    let quote = chars.next_if(|c| *c == '\'' || *c == '"');
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match c {
            _ if Some(c) == quote => break,
            '#' if quote.is_none() && (out.is_empty() || out.ends_with([' ', '\t'])) => break,
            '\\' => match chars.next() {
                Some('b') => out.push('\u{8}'),
                Some('t') => out.push('\t'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('s') => out.push(' '),
                Some(other @ ('\\' | '\'' | '"')) => out.push(other),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    if quote.is_none() {
        out.truncate(out.trim_end().len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_quotes_and_includes() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("a.cnf");
        std::fs::write(dir.path().join("b.cnf"), "[penstock]\nuser = backup\n").unwrap();
        std::fs::write(
            &main,
            format!(
                "[mysqld]\nuser=mysql\n[client]\nuser=root\npassword=\"a#b\\\\c'd\"\nssl_mode = REQUIRED # yes\n[clientx]\nport=1\n!include {}\n",
                dir.path().join("b.cnf").display()
            ),
        )
        .unwrap();
        let which = Which {
            only: Some(main.clone()),
            ..Which::default()
        };
        let f = OptionFiles::read(&which).unwrap();
        assert_eq!(f.get("user"), Some("backup"));
        assert_eq!(f.get("password"), Some("a#b\\c'd"));
        assert_eq!(f.get("ssl-mode"), Some("REQUIRED"));
        assert_eq!(f.get("port"), None);
        let which = Which {
            only: Some(main),
            suffix: Some("x".into()),
            ..Which::default()
        };
        assert_eq!(OptionFiles::read(&which).unwrap().get("port"), Some("1"));
    }

    #[test]
    fn a_group_that_is_not_closed_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cnf");
        std::fs::write(&path, "[mysqld]\nuser=x\n\n [client\nuser=root\n").unwrap();
        let which = Which {
            only: Some(path.clone()),
            ..Which::default()
        };
        let e = OptionFiles::read(&which).unwrap_err();
        assert_eq!(e.kind, Kind::Usage);
        assert!(e.what.contains(&*path.to_string_lossy()), "{e}");
        assert!(e.what.contains("line 4"), "{e}");
    }

    #[test]
    fn a_file_that_was_named_must_be_there() {
        let which = Which {
            only: Some("/nonexistent/x.cnf".into()),
            ..Which::default()
        };
        assert_eq!(OptionFiles::read(&which).unwrap_err().kind, Kind::Usage);
    }
}
