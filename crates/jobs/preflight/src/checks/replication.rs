//! The server's role: whom it follows, who follows it, and how far behind it is.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use server::replication::Channel;

pub const CHECK: Check = Check {
    name: "replication",
    group: Group::Jobs,
    job: None,
    needs: None,
    reason: "a replica that has stopped or is behind is not what its source is: a backup of it is an old one; and a load into it makes it another server than its source",
    source: "MySQL Reference Manual, \"SHOW REPLICA STATUS Statement\"; MariaDB Knowledge Base, \"SHOW REPLICA STATUS\"",
    look,
};

/// Seconds behind the source that are much.
const BEHIND: u64 = 60;

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    match &facts.channels {
        Err(why) => seen.not_seen(format!("whom it follows: {why}")),
        Ok(channels) if channels.is_empty() => seen.saw("it follows no other server"),
        Ok(channels) => channels.iter().for_each(|c| channel(c, &mut seen)),
    }
    match &facts.statements {
        Err(why) => seen.not_seen(format!("who follows it: {why}")),
        Ok(all) => {
            let followers = all
                .iter()
                .filter(|s| s.command.starts_with("Binlog Dump"))
                .count();
            seen.saw(match followers {
                0 => "no connection reads its binary log, as far as the account sees".to_owned(),
                1 => "1 connection reads its binary log".to_owned(),
                n => format!("{n} connections read its binary log"),
            });
        }
    }
    seen.saw(match (facts.id.super_read_only, facts.id.read_only) {
        (true, _) => "super_read_only is ON",
        (_, true) => "read_only is ON",
        _ => "it may be written to",
    });
    Ok(seen)
}

fn channel(c: &Channel, seen: &mut Seen) {
    let name = match c.name.as_str() {
        "" => "the unnamed channel".to_owned(),
        name => format!("channel {name}"),
    };
    let at = format!("{name} from {}:{}", c.host, c.port);
    let behind = c
        .seconds_behind
        .map_or("not known".to_owned(), |s| format!("{s} s"));
    let yes = |b: bool| if b { "runs" } else { "is stopped" };
    seen.saw(format!(
        "{at}: the receiver {}, the applier {}, behind: {behind}",
        yes(c.receives()),
        yes(c.applies)
    ));
    let errors = [
        ("receiver", c.receive_error.as_ref()),
        ("applier", c.why_not_applied()),
    ];
    for (thread, error) in errors {
        if let Some((code, text)) = error {
            seen.found(
                Severity::Serious,
                format!("{at}: the {thread} has stopped by error {code}: {text}"),
            );
        }
    }
    if c.receive_error.is_none() && c.apply_error.is_none() && !(c.receives() && c.applies) {
        seen.found(
            Severity::Warning,
            format!("{at}: it does not run, and the server stays as it is"),
        );
    }
    if let Some(seconds) = c.seconds_behind.filter(|s| *s > BEHIND) {
        seen.found(
            Severity::Warning,
            format!("{at}: it is {seconds} s behind its source"),
        );
    }
    if !c.filters.is_empty() {
        seen.found(
            Severity::Warning,
            format!("{at}: filters leave events out: {}", c.filters.join(", ")),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Statement;
    use crate::made_up::Made;

    fn with(change: impl FnOnce(&mut Channel)) -> Made {
        let mut channel = Channel {
            host: "db1".to_owned(),
            port: 3306,
            receiver: "Yes".to_owned(),
            applies: true,
            seconds_behind: Some(0),
            ..Channel::default()
        };
        change(&mut channel);
        Made::new(&[]).but(|f| f.channels = Ok(vec![channel]))
    }

    #[test]
    fn it_fires_on_replicas_that_are_not_well() {
        Made::new(&[]).remote().fine(&CHECK);
        let seen = with(|_| {}).fine(&CHECK);
        assert!(
            seen.evidence[0].contains("db1:3306: the receiver runs"),
            "{seen:?}"
        );
        with(|c| c.apply_error = Some((1062, "Duplicate".to_owned()))).fires(
            &CHECK,
            Severity::Serious,
            "by error 1062: Duplicate",
        );
        with(|c| c.applies = false).fires(&CHECK, Severity::Warning, "does not run");
        with(|c| c.seconds_behind = Some(90)).fires(&CHECK, Severity::Warning, "90 s behind");
        with(|c| c.filters = vec!["replicate_do_db = a".to_owned()]).fires(
            &CHECK,
            Severity::Warning,
            "replicate_do_db = a",
        );
        let follower = Statement {
            connection: 3,
            user: "r".to_owned(),
            command: "Binlog Dump GTID".to_owned(),
            seconds: 9,
            text: String::new(),
        };
        let seen = Made::new(&[])
            .but(|f| f.statements = Ok(vec![follower]))
            .fine(&CHECK);
        assert!(
            seen.evidence
                .iter()
                .any(|e| e == "1 connection reads its binary log"),
            "{seen:?}"
        );
        Made::new(&[])
            .but(|f| f.channels = Err("GRANT REPLICATION CLIENT".to_owned()))
            .unseen(&CHECK, "GRANT REPLICATION CLIENT");
    }
}
