//! What a configuration says, for `penstock config check`: every command line that it completes is parsed and
//! ruled on as if it was typed.

use super::file::{Config, Setting, Value};
use super::words::{complete, said};
use crate::args::{Cli, Command, errors};
use crate::settings::words::{Typed, Words};
use crate::settings::{self, filed, keys, place, rules};
use base::{Error, Kind, Result};
use clap::{Arg, Parser};
use report::summary::{Completed, Configuration};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

/// Explains it, or says what is wrong.
pub fn explain(config: &Config) -> Result<Configuration> {
    if let Some(repository) = &config.repository {
        let Value::One(named) = &repository.value else {
            let what = format!("{}: repository is a text", config.place(repository.line));
            return Err(Error::new(Kind::Usage, what));
        };
        place::location(&config.place(repository.line), Path::new(named))?;
    }
    let mut commands = Vec::new();
    for server in config.servers() {
        commands.push(explained(config, &["backup", server.name.as_str()])?);
    }
    for command in commands_of(&config.settings) {
        if command != "backup" || config.servers().next().is_none() {
            commands.push(explained(config, &[command])?);
        }
    }
    for server in config.servers() {
        for command in commands_of(&server.settings) {
            if command != "backup" {
                let line = [command, "--server-name", server.name.as_str()];
                commands.push(explained(config, &line)?);
            }
        }
    }
    let mut hooks = Vec::new();
    for (name, hook) in [
        ("before", &config.hooks.before),
        ("after", &config.hooks.after),
        ("failed", &config.hooks.failed),
    ] {
        let Some(words) = hook else { continue };
        if let Some(program) = words.first().filter(|p| !is_program(p)) {
            let what = format!("[hooks] {name}: there is no program {program}");
            return Err(Error::new(Kind::Usage, base::units::printable(&what)));
        }
        hooks.push(format!("{name}: {}", words.join(" ")));
    }
    // A URL of a heartbeat is a secret in many services.
    let url = config
        .heartbeat
        .url
        .as_deref()
        .map(crate::settings::place::host_of_url);
    let heartbeat = [config.heartbeat.file.clone(), url];
    Ok(Configuration {
        file: config.path.display().to_string(),
        commands,
        hooks,
        heartbeat: heartbeat.into_iter().flatten().collect(),
    })
}

/// The commands that have settings.
fn commands_of(settings: &[Setting]) -> BTreeSet<&str> {
    settings
        .iter()
        .filter_map(|s| s.command.as_deref())
        .collect()
}

fn explained(config: &Config, line: &[&str]) -> Result<Completed> {
    let typed: Vec<OsString> = ["penstock"].iter().chain(line).map(Into::into).collect();
    let words = complete(typed.clone(), Some(config))?;
    let added = match Typed::parse(&typed) {
        Some(line) => said(config, &line)?.into_iter().flatten().collect(),
        None => Vec::new(),
    };
    let words = filed::complete(words)?;
    let server = parsed(&words).map_err(|e| words.explain(e))?;
    Ok(Completed {
        command: line.join(" "),
        server,
        words: added,
    })
}

/// Parses a command line; the server of a backup. What only the caller can say may be missing.
fn parsed(words: &Words) -> Result<Option<String>> {
    let mut all = words.all.clone();
    if let Some(line) = Typed::parse(&all) {
        let missing =
            |arg: &&Arg| arg.is_required_set() && line.source(arg.get_id().as_str()).is_none();
        for arg in line.verb().get_arguments().filter(missing) {
            all.push(match arg.get_long() {
                Some(name) => format!("--{name}=.").into(),
                None => ".".into(),
            });
        }
    }
    let cli = match Cli::try_parse_from(&all) {
        Ok(cli) => cli,
        // What these need depends on what they are called with.
        Err(e)
            if e.kind() == clap::error::ErrorKind::MissingRequiredArgument
                && Typed::parse(&all).is_some_and(|line| {
                    ["load", "restore", "verify", "rekey"].contains(&line.verb().get_name())
                }) =>
        {
            return Ok(None);
        }
        Err(e) => return Err(errors::usage(&e, std::iter::empty())),
    };
    rules::values(&cli.command)?;
    match &cli.command {
        // Whether options apply to a load depends on what is loaded.
        Command::Load(_) | Command::Restore(_) | Command::Verify(_) => Ok(None),
        Command::Backup(a) => {
            rules::applies(&cli.command)?;
            let to = place::location("--repository", &a.place.repository)?;
            let options = settings::dump_to(to, a.source.as_deref(), &a.how)?;
            Ok(Some(options.source.endpoint.to_string()))
        }
        Command::Check(a) => keys::opening(&a.encryption).map(|_| None),
        Command::Drill(a) => {
            settings::checks(a)?;
            keys::opening(&a.encryption).map(|_| None)
        }
        command => rules::applies(command).map(|()| None),
    }
}

/// Whether a hook can be started: a path, or a name that is looked for.
pub(super) fn is_program(name: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return runs(Path::new(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| runs(&dir.join(name)))
}
