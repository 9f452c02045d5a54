//! The file: TOML, each setting with its line.

use super::super::words::{self, TYPED_ONLY};
use crate::args::Cli;
use crate::args::connection::Connection;
use base::units::printable;
use base::{Error, Kind, Result};
use clap::{Args, Command, CommandFactory};
use repository::ServerName;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A configuration larger than this is none, in bytes.
const LARGEST: u64 = 1 << 20;

/// Commands that have no table: what they do is said when they are called.
const WITHOUT_TABLE: [&str; 7] = [
    "help",
    "config",
    "completions",
    "bench",
    "init",
    "snapshot",
    "binlog",
];

/// Tables that a server can have of its own.
const OF_A_SERVER: [&str; 5] = ["backup", "check", "drill", "prune", "restore"];

/// A configuration that was read.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Where it stands.
    pub path: PathBuf,
    /// Which repository, with its line.
    pub repository: Option<Setting>,
    /// Where metrics go.
    pub metrics_file: Option<Setting>,
    /// For every server.
    pub(super) settings: Vec<Setting>,
    pub(super) servers: Vec<Server>,
    /// What runs before and after a job.
    pub hooks: Hooks,
    /// Who is told that a job succeeded.
    pub heartbeat: Heartbeat,
}

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Under which name its backups are kept.
    pub name: ServerName,
    /// The line of its table.
    pub(super) line: usize,
    /// Its URI.
    pub(super) source: Option<Setting>,
    /// Connection options: those without a command; and options of commands.
    pub(super) settings: Vec<Setting>,
}

/// One setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The command whose option it is; of a connection option, none.
    pub command: Option<String>,
    /// The long name.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Its line, from 1.
    pub line: usize,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a switch.
    Flag(bool),
    /// A text or a number.
    One(String),
    /// Of an option that can be given several times.
    Many(Vec<String>),
}

/// Programs with their arguments, which get the outcome as JSON on their standard input.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    /// Before a job; if it fails, nothing is done.
    pub before: Option<Vec<String>>,
    /// After a job that succeeded.
    pub after: Option<Vec<String>>,
    /// After one that failed.
    pub failed: Option<Vec<String>>,
}

/// What is written or requested after a job that succeeded.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat {
    /// A file that is written.
    pub file: Option<String>,
    /// A URL that is requested.
    pub url: Option<String>,
}

/// Finds lines.
struct Reader<'t> {
    path: &'t Path,
    text: &'t str,
    cli: Command,
    /// The names of connection options.
    connection: Command,
}

impl Config {
    /// Reads one.
    pub fn read(path: &Path) -> Result<Config> {
        super::super::place::local("--config", path)?;
        let shown = printable(&path.to_string_lossy());
        let cannot = |e: &dyn std::fmt::Display| {
            Error::new(
                Kind::Usage,
                format!("cannot read the configuration {shown}: {e}"),
            )
        };
        let size = std::fs::metadata(path).map_err(|e| cannot(&e))?.len();
        if size > LARGEST {
            return Err(cannot(&"it is larger than 1 MiB"));
        }
        let text = std::fs::read_to_string(path).map_err(|e| cannot(&e))?;
        let mut cli = Cli::command();
        cli.build();
        let reader = Reader {
            path,
            text: &text,
            cli,
            connection: Connection::augment_args(Command::new("connection")),
        };
        let table = DeTable::parse(&text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            reader.error(at, e.message())
        })?;
        reader.config(table.get_ref())
    }

    /// The servers, by the order in the file.
    pub fn servers(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter()
    }

    /// A place in it, for messages.
    pub fn place(&self, line: usize) -> String {
        place(&self.path, line)
    }
}

fn place(path: &Path, line: usize) -> String {
    printable(&format!("{}, line {line}", path.display()))
}

type Key<'t> = Spanned<std::borrow::Cow<'t, str>>;

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    fn error(&self, at: usize, why: impl std::fmt::Display) -> Error {
        let what = format!("{}: {why}", place(self.path, self.line(at)));
        Error::new(Kind::Usage, printable(&what))
            .hint("docs/configuration.md describes the file; penstock config check reads it")
    }

    fn unknown<'k>(&self, key: &Key<'_>, of: &str, known: impl Iterator<Item = &'k str>) -> Error {
        let name = key.get_ref();
        let e = self.error(key.span().start, format!("there is no '{name}' {of}"));
        match words::nearest(name, known) {
            Some(meant) => e.hint(format!("{meant} is one")),
            None => e,
        }
    }

    fn config(&self, table: &DeTable<'_>) -> Result<Config> {
        let mut config = Config {
            path: self.path.to_owned(),
            ..Config::default()
        };
        let commands: Vec<&str> = self
            .cli
            .get_subcommands()
            .map(Command::get_name)
            .filter(|name| !WITHOUT_TABLE.contains(name))
            .collect();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "repository" => config.repository = Some(self.setting(None, key, value)?),
                "metrics-file" => config.metrics_file = Some(self.setting(None, key, value)?),
                "servers" => {
                    for (key, value) in self.table(key, value)? {
                        config.servers.push(self.server(key, value)?);
                    }
                    // As they stand in the file, not by their names.
                    config.servers.sort_by_key(|s| s.line);
                }
                "hooks" => {
                    for (key, value) in self.table(key, value)? {
                        let program = Some(self.program(key, value)?);
                        match key.get_ref().as_ref() {
                            "before" => config.hooks.before = program,
                            "after" => config.hooks.after = program,
                            "failed" => config.hooks.failed = program,
                            _ => {
                                let known = ["before", "after", "failed"];
                                return Err(self.unknown(key, "in [hooks]", known.into_iter()));
                            }
                        }
                    }
                }
                "heartbeat" => {
                    for (key, value) in self.table(key, value)? {
                        let text = self.text(key, value)?;
                        match key.get_ref().as_ref() {
                            "file" => config.heartbeat.file = Some(text),
                            "url" if !text.starts_with("http") => {
                                let why = "url is neither http:// nor https://";
                                return Err(self.error(value.span().start, why));
                            }
                            "url" => config.heartbeat.url = Some(text),
                            _ => {
                                let known = ["file", "url"];
                                return Err(self.unknown(key, "in [heartbeat]", known.into_iter()));
                            }
                        }
                    }
                }
                _ if commands.contains(&name) => {
                    let found = self.command(name, self.table(key, value)?)?;
                    config.settings.extend(found);
                }
                _ => {
                    let others = [
                        "repository",
                        "metrics-file",
                        "servers",
                        "hooks",
                        "heartbeat",
                    ];
                    let known = others.into_iter().chain(commands.iter().copied());
                    return Err(self.unknown(key, "in a configuration", known));
                }
            }
        }
        Ok(config)
    }

    /// `[servers.NAME]`.
    fn server(&self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<Server> {
        let name = ServerName::parse(key.get_ref()).map_err(|e| {
            self.error(key.span().start, &e.what)
                .hint(e.hint.unwrap_or_default())
        })?;
        let mut server = Server {
            name,
            line: self.line(key.span().start),
            source: None,
            settings: Vec::new(),
        };
        let is_connection = |name: &str| {
            words::option(&self.connection, name).is_some()
                && !TYPED_ONLY[..TYPED_ONLY.len() - 4].contains(&name)
                && name != "password"
        };
        for (key, value) in self.table(key, value)? {
            match key.get_ref().as_ref() {
                "source" => server.source = Some(self.setting(None, key, value)?),
                "password" => {
                    let why = "a password does not stand in the configuration";
                    return Err(self.error(key.span().start, why).hint(
                        "put it into an option file that only its user can read, and name that with defaults-file",
                    ));
                }
                name if is_connection(name) => {
                    server.settings.push(self.setting(None, key, value)?);
                }
                name if OF_A_SERVER.contains(&name) => {
                    let found = self.command(name, self.table(key, value)?)?;
                    server.settings.extend(found);
                }
                _ => {
                    let connection = words::option_names(&self.connection);
                    let known = OF_A_SERVER.into_iter().chain(["source"]).chain(connection);
                    return Err(self.unknown(key, "of a server", known));
                }
            }
        }
        Ok(server)
    }

    /// A table with options of a command.
    fn command(&self, name: &str, table: &DeTable<'_>) -> Result<Vec<Setting>> {
        let Some(command) = self.cli.find_subcommand(name) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (key, value) in table {
            let option = key.get_ref().as_ref();
            if TYPED_ONLY.contains(&option) || option == "password" {
                let why = format!("{option} can only be typed");
                return Err(self.error(key.span().start, why).hint("remove the line"));
            }
            if words::option(&self.connection, option).is_some() {
                let why = format!("{option} says which server: it belongs into [servers.NAME]");
                return Err(self.error(key.span().start, why));
            }
            if words::option(command, option).is_none() {
                let of = format!("among the options of penstock {name}");
                return Err(self.unknown(key, &of, words::option_names(command)));
            }
            found.push(self.setting(Some(name), key, value)?);
        }
        found.sort_by_key(|s| s.line);
        Ok(found)
    }

    fn setting(
        &self,
        command: Option<&str>,
        key: &Key<'_>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Setting> {
        let one = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(n) => Some(n.as_str().to_owned()),
            DeValue::Float(n) => Some(n.as_str().to_owned()),
            _ => None,
        };
        let at = value.span().start;
        let wrong = || {
            let why = format!(
                "{} is a text, a number, true, false or a list of texts",
                key.get_ref()
            );
            self.error(at, why)
        };
        let read = match value.get_ref() {
            DeValue::Boolean(on) => Value::Flag(*on),
            DeValue::Array(list) => {
                let all: Option<Vec<String>> = list.iter().map(one).collect();
                Value::Many(all.ok_or_else(wrong)?)
            }
            _ => Value::One(one(value).ok_or_else(wrong)?),
        };
        Ok(Setting {
            command: command.map(str::to_owned),
            key: key.get_ref().to_string(),
            value: read,
            line: self.line(key.span().start),
        })
    }

    fn text(&self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<String> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.error(value.span().start, format!("{} is a text", key.get_ref()))),
        }
    }

    /// A program: its path, or a list of it and its arguments.
    fn program(&self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>> {
        let words = match self.setting(None, key, value)?.value {
            Value::One(program) => vec![program],
            Value::Many(words) => words,
            Value::Flag(_) => Vec::new(),
        };
        if words.first().is_none_or(String::is_empty) {
            let why = format!(
                "{} is a program: its path, or a list of its path and its arguments",
                key.get_ref()
            );
            return Err(self.error(value.span().start, why));
        }
        Ok(words)
    }

    fn table<'v, 't>(
        &self,
        key: &Key<'_>,
        value: &'v Spanned<DeValue<'t>>,
    ) -> Result<&'v DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => {
                let why = format!("{0} is a table: [{0}]", key.get_ref());
                Err(self.error(key.span().start, why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("penstock.toml");
        std::fs::write(&path, text).unwrap();
        Config::read(&path)
    }

    #[test]
    fn settings_keep_their_lines() {
        let text = "repository = '/b'\n\n[backup]\nthreads = 4\nencrypt-to = ['age1a',\n  'age1b']\nno-events = true\n\
            [servers.shop]\nsource = 'mysql://b@h/'\n[servers.shop.backup]\nmax-rate = '1M'\n[servers.a]\nsocket='/s'\n\
            [hooks]\nbefore = '/bin/x'\nfailed = ['/bin/y', '-z']\n";
        let config = read(text).unwrap();
        assert_eq!(config.repository.as_ref().unwrap().line, 1);
        let found: Vec<(&str, usize)> = config
            .settings
            .iter()
            .map(|s| (s.key.as_str(), s.line))
            .collect();
        assert_eq!(found, [("threads", 4), ("encrypt-to", 5), ("no-events", 7)]);
        assert_eq!(config.settings[0].value, Value::One("4".to_owned()));
        let names: Vec<&str> = config.servers().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["shop", "a"]);
        assert_eq!(config.servers[0].settings[0].line, 11);
        assert_eq!(config.hooks.failed.unwrap(), ["/bin/y", "-z"]);
    }

    #[test]
    fn what_does_not_belong_there_is_refused_with_its_line() {
        for (text, said) in [
            ("x = \n", "line 1"),
            ("\nrepositry = '/b'", "line 2: there is no 'repositry'"),
            (
                "[backup]\nmax-rat = 1",
                "line 2: there is no 'max-rat' among the options of penstock backup",
            ),
            (
                "[backup]\nkeep-last = 1",
                "no 'keep-last' among the options of penstock backup",
            ),
            (
                "[backup]\npassword = 'x'",
                "line 2: password can only be typed",
            ),
            (
                "[servers.a]\npassword = 'x'",
                "line 2: a password does not stand",
            ),
            ("[servers.a]\npassword-fd = 3", "line 2: there is no"),
            ("[backup]\nsocket = '/s'", "belongs into [servers.NAME]"),
            ("[servers.'a b']\n", "line 1: 'a b' cannot be the name"),
            ("[servers.a.dump]\n", "there is no 'dump' of a server"),
            ("servers = 1", "servers is a table"),
            ("[hooks]\nbefore = true", "before is a program"),
            ("[hooks]\nbefre = 'x'", "no 'befre' in [hooks]"),
            (
                "[heartbeat]\nurl = 'ftp://x'",
                "neither http:// nor https://",
            ),
            ("[backup]\nthreads = 1\nthreads = 2", "line 3"),
            (
                "[backup]\nthreads = 2026-01-01",
                "line 2: threads is a text",
            ),
            ("[bench]\n", "there is no 'bench'"),
        ] {
            let e = read(text).expect_err(text);
            assert_eq!(e.kind, Kind::Usage);
            assert!(e.what.contains(said), "{text}: {e}");
        }
        let e = read("[prune]\nkeep-dayly = 7").expect_err("a typing error");
        assert_eq!(e.hint.as_deref(), Some("keep-daily is one"));
    }
}
