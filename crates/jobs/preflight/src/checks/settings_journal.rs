//! Settings that a load of penstock changed and did not put back.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "settings-journal",
    group: Group::Server,
    job: None,
    needs: None,
    reason: "load --tune writes what it changes into a journal on its host before it changes it; a run that was killed leaves the settings changed until the next run, or doctor --revert, puts them back",
    source: "penstock, docs/tuning.md; MySQL Reference Manual, \"Disabling Redo Logging\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let left = facts.left.as_ref().map_err(Clone::clone)?;
    let mut seen = Seen::fine(match left.left.len() {
        0 => {
            "no journal on this host has a setting of this server that is still changed".to_owned()
        }
        n => format!("{n} settings are still changed"),
    });
    for one in &left.left {
        let now = one.now.as_deref().unwrap_or("not known");
        let what = format!(
            "a load left {} changed: it was {}, and is {now}",
            one.name, one.before
        );
        let finding = seen.found(Severity::Serious, what);
        for command in &left.commands {
            finding.todo(command);
        }
    }
    for running in &left.in_use {
        seen.found(Severity::Info, running.clone());
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;
    use instance::doctor::{Left, Summary};

    #[test]
    fn it_fires_on_what_a_killed_load_left() {
        Made::new(&[]).remote().fine(&CHECK);
        let left = Left {
            server: "s".to_owned(),
            name: "sync_binlog".to_owned(),
            before: "1".to_owned(),
            during: "0".to_owned(),
            now: Some("0".to_owned()),
        };
        let summary = Summary {
            left: vec![left],
            commands: vec!["penstock doctor --revert …".to_owned()],
            ..Summary::default()
        };
        let seen = Made::new(&[]).but(|f| f.left = Ok(summary)).fires(
            &CHECK,
            Severity::Serious,
            "sync_binlog changed: it was 1, and is 0",
        );
        assert_eq!(seen.findings[0].todo, ["penstock doctor --revert …"]);
        let running = Summary {
            in_use: vec!["a load is running".to_owned()],
            ..Summary::default()
        };
        Made::new(&[]).but(|f| f.left = Ok(running)).fires(
            &CHECK,
            Severity::Info,
            "a load is running",
        );
        Made::new(&[])
            .but(|f| f.left = Err("no directory".to_owned()))
            .unseen(&CHECK, "no directory");
    }
}
