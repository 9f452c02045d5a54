//! How old the last backup is.

use crate::check::{Check, Group, Needs, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "last-backup",
    group: Group::Server,
    job: None,
    needs: Some(Needs::Repository),
    reason: "what was written since the last backup is lost with the server, unless the binary log is kept elsewhere; a backup that was never restored may not be one",
    source: "MySQL Reference Manual, \"Establishing a Backup Policy\"; penstock, docs/repository.md",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let backup = match &facts.backup {
        None => return Err("no repository is named: --repository REPO".to_owned()),
        Some(backup) => backup.as_ref().map_err(Clone::clone)?,
    };
    let Some(name) = &backup.name else {
        let mut seen = Seen::fine(format!(
            "{} has no backup of this server",
            backup.repository
        ));
        seen.found(
            Severity::Serious,
            format!("there is no backup of this server in {}", backup.repository),
        )
        .todo("penstock backup NAME; where it is kept under a name: --server-name NAME");
        return Ok(seen);
    };
    let (age, oldest) = (ago(backup.age.as_secs()), ago(backup.oldest.as_secs()));
    let mut seen = Seen::fine(format!("{name} in {} ended {age} ago", backup.repository));
    if backup.age > backup.oldest {
        seen.found(
            Severity::Serious,
            format!("the last backup, {name}, ended {age} ago, more than {oldest}"),
        )
        .todo("penstock backup NAME; look why the last one was not made (penstock list)");
    }
    match backup.proven {
        true => seen.saw("a drill has proven it"),
        false => {
            seen.found(Severity::Info, format!("no drill has proven {name} yet"))
                .todo("penstock drill restores it into a temporary server");
        }
    }
    if backup.part {
        seen.found(
            Severity::Warning,
            format!("{name} holds a part of the server, and there is none of all of it"),
        )
        .todo("penstock list says which part");
    }
    if backup.exceptions > 0 {
        let what = format!(
            "{name} was made with exceptions, {} of them",
            backup.exceptions
        );
        seen.found(Severity::Warning, what)
            .todo("penstock list names them");
    }
    Ok(seen)
}

/// An age as `3 days 4 hours`, `2 hours`, `5 minutes`.
fn ago(seconds: u64) -> String {
    let unit = |n: u64, word: &str| match n {
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    };
    let (days, hours, minutes) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours) {
        (0, 0) => unit(minutes, "minute"),
        (0, _) => unit(hours, "hour"),
        (_, 0) => unit(days, "day"),
        _ => format!("{} {}", unit(days, "day"), unit(hours, "hour")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::LastBackup;
    use crate::made_up::Made;
    use std::time::Duration;

    fn with(change: impl FnOnce(&mut LastBackup)) -> Made {
        let mut backup = LastBackup {
            name: Some("shop@20261126T020000Z-1".to_owned()),
            age: Duration::from_secs(3 * 3600),
            oldest: Duration::from_secs(26 * 3600),
            part: false,
            exceptions: 0,
            proven: true,
            repository: "/repo".to_owned(),
        };
        change(&mut backup);
        Made::new(&[]).but(|f| f.backup = Some(Ok(backup)))
    }

    #[test]
    fn it_fires_on_an_old_backup() {
        let seen = with(|_| {}).fine(&CHECK);
        assert!(seen.evidence[0].contains("ended 3 hours ago"), "{seen:?}");
        let old = with(|b| b.age = Duration::from_secs(76 * 3600));
        old.fires(
            &CHECK,
            Severity::Serious,
            "3 days 4 hours ago, more than 1 day 2 hours",
        );
        with(|b| b.name = None).fires(&CHECK, Severity::Serious, "no backup of this server");
        with(|b| b.proven = false).fires(&CHECK, Severity::Info, "no drill");
        with(|b| b.part = true).fires(&CHECK, Severity::Warning, "a part of the server");
        with(|b| b.exceptions = 2).fires(&CHECK, Severity::Warning, "2 of them");
        Made::new(&[]).unseen(&CHECK, "--repository");
        Made::new(&[])
            .but(|f| f.backup = Some(Err("cannot reach it".to_owned())))
            .unseen(&CHECK, "cannot reach it");
    }
}
