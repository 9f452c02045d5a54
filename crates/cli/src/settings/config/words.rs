//! What the configuration adds to a command line.

use super::super::words::{self, Judged, Said, Typed, Words};
use super::file::{Config, Server, Setting, Value};
use crate::args::{Cli, Command, errors};
use base::units::printable;
use base::{Error, Kind, Result};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Parser};
use repository::{Policy, ServerName};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The command lines that this one stands for: `backup` without a name means each server.
pub fn expand(typed: &[OsString], config: Option<&Config>) -> Vec<Vec<OsString>> {
    let one = || vec![typed.to_vec()];
    let Some((config, line)) = config.zip(Typed::parse(typed)) else {
        return one();
    };
    if line.verb().get_name() != "backup" || line.one::<String>("name").is_some() {
        return one();
    }
    let end = typed.iter().position(|w| w == "--").unwrap_or(typed.len());
    let with = |server: &Server| {
        let mut words = typed.to_vec();
        words.insert(end, server.name.as_str().into());
        words
    };
    let all: Vec<Vec<OsString>> = config.servers().map(with).collect();
    if all.is_empty() { one() } else { all }
}

/// Adds what the configuration says to a command line.
pub fn complete(typed: Vec<OsString>, config: Option<&Config>) -> Result<Words> {
    let typed = Words::typed(typed);
    let Some((config, line)) = config.zip(Typed::parse(&typed.all)) else {
        return Ok(typed);
    };
    let said = said(config, &line)?;
    if said.is_empty() {
        return Ok(typed);
    }
    // What is typed may exclude what stands here, which is then passed over; what excludes itself is wrong.
    let fits = |words: &[OsString]| {
        matches!(
            words::judged(&words::joined(words, &said)),
            Judged::Fits | Judged::Wrong
        )
    };
    if fits(&typed.all) || !fits(&bare(&line, &said)) {
        return Ok(typed.with(said));
    }
    let added = words::applicable(&typed.all, said);
    Ok(typed.with(added))
}

/// The only command that looks at backups if a repository is named, and does without.
const PREFLIGHT: &str = "preflight";

/// The command with nothing but what it cannot do without, and what settings of it are about: whether the configuration is sound
/// by itself.
fn bare(line: &Typed, said: &[Said]) -> Vec<OsString> {
    let command = line.verb();
    let mut words: Vec<OsString> = vec!["penstock".into()];
    if is_binlog_archive(command) {
        words.push("binlog".into());
    }
    words.push(command.get_name().into());
    if let Some(name) = line.one::<String>("name") {
        words.push(name.into());
    }
    let names_one = |(word, _): &(String, String)| word.starts_with("--repository");
    if command.get_name() == PREFLIGHT && !said.iter().flatten().any(names_one) {
        // Settings about backups are for calls that name where those are.
        words.push("--repository=.".into());
    }
    words
}

/// The only command with a command above it that a configuration completes.
fn is_binlog_archive(command: &clap::Command) -> bool {
    command.get_name() == "archive"
}

/// Whether the command's NAME is that of a server, which it connects to.
fn connects_by_name(command: &clap::Command) -> bool {
    command.get_name() == "backup" || is_binlog_archive(command)
}

/// What is said of this command line, option by option.
pub(super) fn said(config: &Config, line: &Typed) -> Result<Vec<Said>> {
    let command = line.verb();
    let name = line
        .one::<String>("name")
        .filter(|_| connects_by_name(command))
        .or_else(|| line.one::<String>("server_name"));
    let server = config
        .servers()
        .find(|s| name.is_some_and(|n| s.name.as_str() == n));
    if let Some(name) = name.filter(|_| connects_by_name(command))
        && server.is_none()
        && config.servers().next().is_some()
        && !names_a_server(line)
    {
        let known: Vec<&str> = config.servers().map(|s| s.name.as_str()).collect();
        let file = config.path.display();
        let what =
            format!("there is no server '{name}' in {file}, and nothing else says where it is");
        return Err(Error::new(Kind::Usage, printable(&what)).hint(format!(
            "the servers there: {}; a server that is not there is named by its URI or by connection options",
            known.join(", ")
        )));
    }
    let mut by_option: BTreeMap<String, (&Arg, &Setting)> = BTreeMap::new();
    let of_command = |s: &&Setting| s.command.as_deref() == Some(command.get_name());
    // A URI that is typed names another server.
    let by_uri = line.one::<String>("source").is_some();
    let connection = |s: &&Setting| {
        s.command.is_none()
            && connects_by_name(command)
            && !(by_uri && ["host", "port", "socket", "user"].contains(&s.key.as_str()))
    };
    let mut settings: Vec<&Setting> = config.settings.iter().filter(of_command).collect();
    if let Some(server) = server {
        settings.extend(server.settings.iter().filter(connection));
        settings.extend(server.settings.iter().filter(of_command));
    }
    // What names the repository on the command line or in the environment wins; a command that can do without
    // one does.
    if let Some(repository) = &config.repository
        && let Some(arg) = words::option(command, "repository")
        && (arg.is_required_set()
            || lists_a_repository(line)
            || looks_for_backups(line)
            || reads_a_kept_log(line))
        && line.source("repository") != Some(ValueSource::EnvVariable)
    {
        settings.push(repository);
    }
    // A server's own log is of no repository.
    let of_server = line
        .one::<String>("log")
        .is_some_and(|log| log.contains("://"))
        || reads_a_log(line) && line.one::<String>("log").is_none();
    settings.extend(config.metrics_file.iter().filter(|_| !of_server));
    for setting in settings {
        let Some(arg) = words::option(command, &setting.key) else {
            continue;
        };
        let id = arg.get_id().to_string();
        if !line.has(arg) {
            by_option.insert(id, (arg, setting));
        }
    }
    let mut said = Vec::new();
    if let Some(source) = server.and_then(|s| s.source.as_ref())
        && connects_by_name(command)
        && !by_uri
    {
        let Value::One(uri) = &source.value else {
            return Err(wrong(config, source, "is the URI of a server"));
        };
        said.push(vec![(uri.clone(), place(config, source))]);
    }
    for (arg, setting) in by_option.into_values() {
        let words = option_words(config, arg, setting)?;
        if !words.is_empty() {
            said.push(words);
        }
    }
    Ok(said)
}

/// Whether it is `penstock list` of the usual repository.
fn lists_a_repository(line: &Typed) -> bool {
    line.verb().get_name() == "list"
        && line.one::<PathBuf>("archive").is_none()
        && super::super::place::named_by_environment().is_none()
}

/// Whether it is `penstock preflight`, and the environment names no repository.
fn looks_for_backups(line: &Typed) -> bool {
    line.verb().get_name() == PREFLIGHT && super::super::place::named_by_environment().is_none()
}

/// Whether it is a command that reads transactions of a log.
fn reads_a_log(line: &Typed) -> bool {
    matches!(line.verb().get_name(), "find" | "show")
}

/// Whether it reads a log of the usual repository.
fn reads_a_kept_log(line: &Typed) -> bool {
    let log = line.one::<String>("log");
    reads_a_log(line)
        && log.is_some_and(|log| !log.contains("://"))
        && super::super::place::named_by_environment().is_none()
}

/// Whether the command line says where the server is.
fn names_a_server(line: &Typed) -> bool {
    const OPTIONS: [&str; 6] = [
        "host",
        "port",
        "socket",
        "defaults-file",
        "defaults-extra-file",
        "defaults-group-suffix",
    ];
    let typed = |name: &str| words::option(line.verb(), name).is_some_and(|arg| line.has(arg));
    line.one::<String>("source").is_some() || OPTIONS.iter().any(|name| typed(name))
}

fn option_words(config: &Config, arg: &Arg, setting: &Setting) -> Result<Said> {
    let name = arg.get_long().unwrap_or(&setting.key);
    let word = |value: &String| (format!("--{name}={value}"), place(config, setting));
    let many = matches!(arg.get_action(), ArgAction::Append);
    match (&setting.value, arg.get_action().takes_values()) {
        (Value::Flag(true), false) => Ok(vec![(format!("--{name}"), place(config, setting))]),
        (Value::Flag(false), false) => Ok(Vec::new()),
        (Value::One(value), true) => Ok(vec![word(value)]),
        (Value::Many(values), true) if many => Ok(values.iter().map(word).collect()),
        (_, false) => Err(wrong(config, setting, "is true or false")),
        (Value::Many(_), true) => Err(wrong(config, setting, "is one value, not a list")),
        (Value::Flag(_), true) => Err(wrong(config, setting, "needs a value")),
    }
}

fn place(config: &Config, setting: &Setting) -> String {
    format!("{} ({})", setting.key, config.place(setting.line))
}

fn wrong(config: &Config, setting: &Setting, why: &str) -> Error {
    let what = format!("{}: {} {why}", config.place(setting.line), setting.key);
    Error::new(Kind::Usage, printable(&what))
}

/// The rules by which this server's backups are pruned when `typed` prunes those of all.
pub fn prune_of(config: &Config, typed: Vec<OsString>, name: &ServerName) -> Result<Policy> {
    let mut line = typed;
    let end = line.iter().position(|w| w == "--").unwrap_or(line.len());
    line.insert(end, format!("--server-name={name}").into());
    let words = complete(line, Some(config))?;
    match Cli::try_parse_from(&words.all).map(|cli| cli.command) {
        Ok(Command::Prune(a)) => Ok(a.policy()),
        Ok(_) => Ok(Policy::default()),
        Err(e) => Err(words.explain(errors::usage(&e, std::iter::empty()))),
    }
}
