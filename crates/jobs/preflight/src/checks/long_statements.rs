//! Statements that run for long.

use crate::check::{Check, Group, Job, Seen, Severity, shown};
use crate::facts::{Facts, Known, Statement};

pub const CHECK: Check = Check {
    name: "long-statements",
    group: Group::Jobs,
    job: None,
    needs: None,
    reason: "MySQL's read lock waits for statements that run, and everything else queues behind it: penstock does not request the lock while there is a long one. Changes of definitions wait for them on both flavours",
    source: "MySQL Reference Manual, \"FLUSH Statement\" (FLUSH TABLES WITH READ LOCK) and \"Metadata Locking\"; penstock, docs/consistency.md",
    look,
};

/// Seconds after which a statement is long.
const LONG: u64 = 60;

fn look(facts: &Facts) -> Known<Seen> {
    let all = facts.statements.as_ref().map_err(Clone::clone)?;
    let runs = |s: &&Statement| matches!(s.command.as_str(), "Query" | "Execute");
    let running = all.iter().filter(runs).count();
    let mut seen = Seen::fine(format!("statements that run: {running}"));
    let privileges = facts.privileges.as_ref().map_err(Clone::clone)?;
    if !privileges.has("PROCESS") {
        seen.not_seen(format!(
            "statements of other accounts: GRANT PROCESS ON *.* TO {};",
            privileges.account
        ));
    }
    let mut long: Vec<&Statement> = all
        .iter()
        .filter(runs)
        .filter(|s| s.seconds >= LONG)
        .collect();
    long.sort_by_key(|s| std::cmp::Reverse(s.seconds));
    if let Some(first) = long.first() {
        let kill = format!("KILL QUERY {};", first.connection);
        let words: Vec<String> = long
            .iter()
            .map(|s| {
                format!(
                    "connection {} of {}, {} s: {}",
                    s.connection, s.user, s.seconds, s.text
                )
            })
            .collect();
        let severity = match facts.asked.contains(&Job::Dump) {
            true => Severity::Serious,
            false => Severity::Warning,
        };
        seen.found(
            severity,
            format!(
                "statements that run for more than a minute: {}",
                shown(&words)
            ),
        )
        .todo(format!("wait for their end, or {kill}"));
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    fn running(command: &str, seconds: u64) -> Made {
        let statement = Statement {
            connection: 7,
            user: "app".to_owned(),
            command: command.to_owned(),
            seconds,
            text: "SELECT 1".to_owned(),
        };
        Made::new(&[]).but(|f| f.statements = Ok(vec![statement]))
    }

    #[test]
    fn it_fires_on_long_statements() {
        Made::new(&[]).remote().fine(&CHECK);
        running("Query", 59).fine(&CHECK);
        running("Sleep", 9000).fine(&CHECK);
        let seen = running("Query", 61).fires(
            &CHECK,
            Severity::Warning,
            "connection 7 of app, 61 s: SELECT 1",
        );
        assert!(seen.findings[0].todo[0].contains("KILL QUERY 7;"));
        running("Query", 61)
            .but(|f| f.asked = vec![Job::Dump])
            .fires(&CHECK, Severity::Serious, "connection 7");
        Made::new(&[])
            .grants(&["GRANT SELECT ON *.* TO u"])
            .unseen(&CHECK, "GRANT PROCESS");
    }
}
