//! The ways to take a backup that are compared, and how each is called.
//!
//! A method is a program with its arguments. Where it logs in stands in an
//! option file that only this user may read, so no password is ever an
//! argument. New methods (a snapshot, say) are one variant and one command
//! each; nothing else knows which there are.

use base::{Error, Kind, Result};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use wire::Endpoint;

/// How the backup is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// Not at all: what two windows differ by when nothing happens in the second.
    Alone,
    /// `mysqldump … | gzip`, or `mariadb-dump`.
    Mysqldump,
    /// `mydumper`.
    Mydumper,
    /// `penstock dump`, with further options.
    Penstock(Vec<String>),
    /// `penstock dump` from a replica.
    Replica(OfReplica),
    /// `penstock snapshot take`, with further options: the files are stored.
    Snapshot(Vec<String>),
    /// `penstock binlog archive`, with further options: it follows the server for as long as is measured.
    BinlogArchive(Vec<String>),
}

/// How a replica is dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfReplica {
    /// By SQL, its applier stopped meanwhile.
    Stopped,
    /// By SQL, while it applies.
    Applying,
    /// Rows from its files, which the dump stops the applier for.
    Files,
}

/// Options of penstock that a method may not have: the measurement sets them itself.
const TAKEN: [&str; 17] = [
    "--to",
    "--repository",
    "--once",
    "--start",
    "--socket",
    "-S",
    "--host",
    "-h",
    "--port",
    "-P",
    "--user",
    "-u",
    "--password",
    "-p",
    "--defaults-file",
    "--json",
    "--record",
];

impl Method {
    /// `alone`, `mysqldump`, `mydumper`, `penstock`, `penstock OPTIONS`, `snapshot OPTIONS`, `replica`, `replica-applying`,
    /// `replica-files`, `binlog-archive`, `binlog-archive OPTIONS`.
    pub fn parse(text: &str) -> Result<Method> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let rest: Vec<String> = words.map(str::to_owned).collect();
        let bad = |what: String| {
            Error::new(Kind::Usage, what).hint(
                "one of alone, mysqldump, mydumper, penstock, \"penstock --max-impact 5%\" (any options of dump), \"snapshot --method reflink\" (any options of snapshot take), replica, replica-applying, replica-files, binlog-archive, \"binlog-archive --semisync\" (any options of binlog archive)",
            )
        };
        if !["penstock", "snapshot", "binlog-archive"].contains(&name) && !rest.is_empty() {
            return Err(bad(format!("method {name:?} takes no options")));
        }
        Ok(match name {
            "alone" => Method::Alone,
            "mysqldump" | "mariadb-dump" => Method::Mysqldump,
            "mydumper" => Method::Mydumper,
            "replica" => Method::Replica(OfReplica::Stopped),
            "replica-applying" => Method::Replica(OfReplica::Applying),
            "replica-files" => Method::Replica(OfReplica::Files),
            "penstock" | "snapshot" | "binlog-archive" => {
                let taken = rest.iter().find(|w| {
                    let name = w.split('=').next().unwrap_or(w);
                    TAKEN.contains(&name)
                });
                if let Some(taken) = taken {
                    return Err(bad(format!(
                        "method {text:?}: {taken} is set by the measurement itself"
                    )));
                }
                if name == "snapshot" && !rest.iter().any(|w| w.starts_with("--method")) {
                    return Err(bad(
                        "method \"snapshot\" says not how: add --method".to_owned()
                    ));
                }
                match name {
                    "penstock" => Method::Penstock(rest),
                    "snapshot" => Method::Snapshot(rest),
                    _ => Method::BinlogArchive(rest),
                }
            }
            _ => return Err(bad(format!("unknown method {text:?}"))),
        })
    }

    /// Whether it needs a replica.
    pub fn needs_replica(&self) -> bool {
        matches!(self, Method::Replica(_))
    }

    /// Whether it goes on until it is stopped, so that none is ever through.
    pub fn is_endless(&self) -> bool {
        matches!(self, Method::Alone | Method::BinlogArchive(_))
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Alone => f.write_str("alone"),
            Method::Mysqldump => f.write_str("mysqldump | gzip"),
            Method::Mydumper => f.write_str("mydumper"),
            Method::Penstock(options) if options.is_empty() => f.write_str("penstock"),
            Method::Penstock(options) => write!(f, "penstock {}", options.join(" ")),
            Method::BinlogArchive(options) if options.is_empty() => f.write_str("binlog-archive"),
            Method::BinlogArchive(options) => write!(f, "binlog-archive {}", options.join(" ")),
            Method::Snapshot(options) if options.is_empty() => f.write_str("snapshot"),
            Method::Snapshot(options) => write!(f, "snapshot {}", options.join(" ")),
            Method::Replica(OfReplica::Stopped) => f.write_str("replica, applier stopped"),
            Method::Replica(OfReplica::Applying) => f.write_str("replica, applying"),
            Method::Replica(OfReplica::Files) => f.write_str("replica, from its files"),
        }
    }
}

/// The programs, and what they are called with on this machine.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `mysqldump` or `mariadb-dump`, in words: a program and its first arguments.
    pub mysqldump: Vec<String>,
    /// `mydumper`.
    pub mydumper: Vec<String>,
    /// This program.
    pub penstock: PathBuf,
    /// Connections of `mydumper` and `penstock`.
    pub threads: usize,
}

impl Programs {
    /// Why a method cannot be measured here; `None` if it can.
    pub fn missing(&self, method: &Method) -> Option<String> {
        let program = match method {
            Method::Mysqldump => &self.mysqldump,
            Method::Mydumper => &self.mydumper,
            _ => return None,
        };
        let name = program.first()?;
        let tried = Command::new(name)
            .args(&program[1..])
            .arg("--version")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        match tried {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("{name} --version ended with {status}")),
            Err(e) => Some(format!("{name}: {e}")),
        }
    }

    /// The programs of one backup: the output of each is the input of the next, and of the last the file.
    pub fn commands(
        &self,
        method: &Method,
        login: &Login,
        schema: &str,
        folder: &Path,
    ) -> Option<Steps> {
        let mut steps = Steps::default();
        match method {
            Method::Alone => return None,
            Method::Mysqldump => {
                let mut dump = program(&self.mysqldump)?;
                // What dump this is must not depend on the user's option files.
                dump.arg(login.defaults())
                    .args([
                        "--single-transaction",
                        "--quick",
                        "--skip-lock-tables",
                        "--databases",
                    ])
                    .arg(schema);
                steps.commands.push(dump);
                steps.commands.push(Command::new("gzip"));
                steps.output = Some(folder.join("dump.sql.gz"));
            }
            Method::Mydumper => {
                let mut dump = program(&self.mydumper)?;
                dump.arg(login.defaults());
                dump.args(login.arguments());
                dump.args(["--threads", &self.threads.to_string(), "--compress"])
                    .args(["--database", schema, "--outputdir"])
                    .arg(folder.join("dump"));
                steps.commands.push(dump);
            }
            Method::BinlogArchive(options) => {
                let repository = folder.join("repository");
                let mut init = Command::new(&self.penstock);
                init.args(["init", "--quiet"]).arg(&repository);
                steps.before.push(init);
                let mut archive = Command::new(&self.penstock);
                archive
                    .args(["binlog", "archive", "measured", "--quiet"])
                    .arg(login.defaults())
                    .args(["--start", "newest", "--repository"])
                    .arg(repository)
                    .args(options);
                steps.commands.push(archive);
            }
            Method::Snapshot(options) => {
                let mut take = Command::new(&self.penstock);
                take.args(["snapshot", "take", "--quiet"])
                    .arg(login.defaults())
                    .args(["--threads", &self.threads.to_string(), "--to"])
                    .arg(folder.join("snapshot"))
                    .args(options);
                steps.commands.push(take);
            }
            Method::Penstock(_) | Method::Replica(_) => {
                let mut dump = Command::new(&self.penstock);
                dump.args(["dump", "--quiet"])
                    .arg(login.defaults())
                    .args(["--threads", &self.threads.to_string()])
                    .args(["--schemas", schema, "--to"])
                    .arg(folder.join("dump"));
                match method {
                    Method::Penstock(options) => dump.args(options),
                    Method::Replica(OfReplica::Files) => dump.arg("--from-replica-files"),
                    _ => &mut dump,
                };
                steps.commands.push(dump);
            }
        }
        Some(steps)
    }
}

/// The programs of one backup.
#[derive(Debug, Default)]
pub struct Steps {
    /// What is run to its end first, one after the other.
    pub before: Vec<Command>,
    /// In the order of the data.
    pub commands: Vec<Command>,
    /// Where the last one's output goes; `None`: it writes its files itself.
    pub output: Option<PathBuf>,
}

fn program(words: &[String]) -> Option<Command> {
    let mut command = Command::new(words.first()?);
    command.args(&words[1..]);
    Some(command)
}

/// Where and as whom other programs log in: an option file that ends with this value.
#[derive(Debug)]
pub struct Login {
    file: tempfile::NamedTempFile,
    endpoint: Endpoint,
    user: String,
}

impl Login {
    /// Writes the file; only this user may read it.
    pub fn new(server: &wire::Options) -> Result<Login> {
        let failed = |e: std::io::Error| {
            Error::new(
                Kind::Storage,
                format!("cannot write an option file for the other programs: {e}"),
            )
        };
        let mut file = tempfile::Builder::new()
            .prefix("penstock-login-")
            .suffix(".cnf")
            .tempfile()
            .map_err(failed)?;
        let mut text = String::from("[client]\n");
        let mut line = |key: &str, value: &str| {
            // In quotes, with the escapes of option files: a password may hold anything.
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            text += &format!("{key}=\"{value}\"\n");
        };
        line("user", &server.user);
        if let Some(password) = &server.password {
            line("password", password.reveal());
        }
        match &server.endpoint {
            Endpoint::Unix(path) => line("socket", &path.display().to_string()),
            Endpoint::Tcp(host, port) => {
                line("host", host);
                line("port", &port.to_string());
                text += "protocol=tcp\n";
            }
        }
        std::io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
        Ok(Login {
            file,
            endpoint: server.endpoint.clone(),
            user: server.user.clone(),
        })
    }

    fn defaults(&self) -> String {
        format!("--defaults-file={}", self.file.path().display())
    }

    /// The same but for the password, for a program that does not take it from the file's `[client]`.
    fn arguments(&self) -> Vec<String> {
        let mut list = vec!["--user".to_owned(), self.user.clone()];
        match &self.endpoint {
            Endpoint::Unix(path) => {
                list.extend(["--socket".to_owned(), path.display().to_string()])
            }
            Endpoint::Tcp(host, port) => list.extend([
                "--host".to_owned(),
                host.clone(),
                "--port".to_owned(),
                port.to_string(),
            ]),
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_named_as_they_are_shown() {
        for (text, shown) in [
            ("alone", "alone"),
            ("mariadb-dump", "mysqldump | gzip"),
            ("penstock", "penstock"),
            ("penstock  --max-impact 5%", "penstock --max-impact 5%"),
            ("replica-applying", "replica, applying"),
            ("replica-files", "replica, from its files"),
            ("snapshot --method reflink", "snapshot --method reflink"),
            ("binlog-archive", "binlog-archive"),
            ("binlog-archive --semisync", "binlog-archive --semisync"),
        ] {
            assert_eq!(Method::parse(text).unwrap().to_string(), shown);
        }
        for wrong in [
            "",
            "xtrabackup",
            "alone --x",
            "penstock --to /",
            "penstock --socket=/x",
            "penstock -p",
            "binlog-archive --once",
            "snapshot",
            "binlog-archive --repository=/r",
        ] {
            assert_eq!(
                Method::parse(wrong).unwrap_err().kind,
                Kind::Usage,
                "{wrong}"
            );
        }
    }

    #[test]
    fn no_password_is_an_argument() {
        let mut server = wire::Options::new(Endpoint::Tcp("db".into(), 3307), "me");
        server.password = Some(base::Secret::new("c\"an\\ary"));
        let login = Login::new(&server).unwrap();
        let programs = Programs {
            mysqldump: vec!["mysqldump".into()],
            mydumper: vec!["mydumper".into()],
            penstock: "/bin/penstock".into(),
            threads: 2,
        };
        let folder = Path::new("/backup");
        for method in [
            "mysqldump",
            "mydumper",
            "penstock --max-rate 1M",
            "replica",
            "replica-files",
            "snapshot --method reflink",
            "binlog-archive",
        ] {
            let method = Method::parse(method).unwrap();
            let steps = programs.commands(&method, &login, "tpcc", folder).unwrap();
            let all = format!("{steps:?}");
            assert!(!all.contains("ary"), "{all}");
            assert!(all.contains("defaults-file"), "{all}");
        }
        assert!(
            programs
                .commands(&Method::Alone, &login, "x", folder)
                .is_none()
        );
        let text = std::fs::read_to_string(login.file.path()).unwrap();
        assert!(text.contains(r#"password="c\"an\\ary""#), "{text}");
        let mode = std::os::unix::fs::MetadataExt::mode(&login.file.path().metadata().unwrap());
        assert_eq!(mode & 0o077, 0);
    }
}
