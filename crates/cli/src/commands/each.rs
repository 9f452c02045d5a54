//! Command lines one after the other: one, or the backups of all servers. One that fails does not end the others.

use crate::args::{Cli, Command};
use crate::screen::Screen;
use crate::settings::config::Config;
use crate::settings::words::Words;
use base::{Cancel, Error, Kind, Observer};
use report::summary;
use std::sync::Arc;

/// Runs them; returns the exit code.
pub fn run_all(
    lines: &[(Words, Cli)],
    config: Option<&Config>,
    screen: &Arc<Screen>,
    cancel: &Cancel,
) -> u8 {
    let several = lines.len() > 1;
    let mut codes: Vec<(&str, u8)> = Vec::new();
    for (n, (words, cli)) in (1..).zip(lines) {
        if cancel.is_raised() {
            break;
        }
        let name = name(cli);
        if several {
            screen.note(format!("{name}: {n} of {}", lines.len()));
        }
        let done = super::run(cli, config, screen, &cancel.below()).unwrap_or_else(|e| {
            let e = words.explain_run(e);
            let what = match several {
                true => format!("{name}: {}", e.what),
                false => e.what,
            };
            let e = Error { what, ..e };
            screen.error(&e);
            e.kind.exit_code()
        });
        codes.push((name, done));
        // Whoever stops one of them means all.
        if done == Kind::Interrupted.exit_code() {
            break;
        }
    }
    if several {
        screen.summary(&summary::servers(&codes, lines.len()));
    }
    code(
        codes.iter().map(|(_, code)| *code),
        codes.len() < lines.len(),
    )
}

fn name(cli: &Cli) -> &str {
    match &cli.command {
        Command::Backup(a) => a.name.as_deref().unwrap_or_default(),
        _ => "",
    }
}

/// The first failure counts, else that something was stopped, else that there are exceptions.
fn code(codes: impl Iterator<Item = u8> + Clone, stopped: bool) -> u8 {
    let exceptions = Kind::Exceptions.exit_code();
    let failed = codes.clone().find(|code| *code != 0 && *code != exceptions);
    failed.unwrap_or_else(|| match stopped {
        true => Kind::Interrupted.exit_code(),
        false => codes.max().unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_counts() {
        let of = |codes: &[u8], stopped| code(codes.iter().copied(), stopped);
        assert_eq!(of(&[0, 3, 0], false), 3);
        assert_eq!(of(&[0, 6, 8], false), 6);
        assert_eq!(of(&[3, 0], true), 9);
        assert_eq!(of(&[0, 0], false), 0);
        assert_eq!(of(&[], true), 9);
    }
}
