//! What a dump of everything would do: the answer is the dump's own (`dump::preview`).

use crate::check::{Check, Group, Job, Seen, Severity};
use crate::facts::{Facts, Known};
use base::Kind;
use base::units::{bytes, count};

pub const CHECK: Check = Check {
    name: "dump",
    group: Group::Jobs,
    job: Some(Job::Dump),
    needs: None,
    reason: "a dump stops before it locks or writes anything if a privilege is missing; what it cannot take, or cannot take from one snapshot, is known before",
    source: "penstock, docs/dump.md and docs/consistency.md; MySQL Reference Manual, \"Privileges Provided by MySQL\"; MariaDB Knowledge Base, \"GRANT\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let preview = match facts.dump.as_ref().map_err(Clone::clone)? {
        Ok(preview) => preview,
        Err(e) if matches!(e.kind, Kind::Connection | Kind::Interrupted) => {
            return Err(e.what.clone());
        }
        Err(e) => {
            let mut seen = Seen::fine("a dump of everything would be refused");
            let what = match e.kind {
                Kind::Privilege => format!("a dump of everything is refused: {}", e.what),
                _ => format!("a dump of everything ends with an error: {}", e.what),
            };
            let finding = seen.found(facts.lacking(Job::Dump), what);
            for line in e.hint.iter().flat_map(|h| h.lines()) {
                finding.todo(line);
            }
            return Ok(seen);
        }
    };
    let mut seen = Seen::fine(format!(
        "schemas: {}, tables: {}, views: {}, rows: about {}, table files: about {}",
        count(preview.schemas),
        count(preview.tables),
        count(preview.views),
        count(preview.rows),
        bytes(preview.data_bytes)
    ));
    seen.saw(format!("consistency: {}", preview.consistency));
    if !preview.for_the_lock.is_empty() {
        let what = format!(
            "a dump of everything cannot take the global read lock, so its snapshot is: {}",
            preview.consistency
        );
        let finding = seen.found(Severity::Warning, what);
        for grant in &preview.for_the_lock {
            finding.todo(format!("{grant};"));
        }
    }
    seen.saw(match preview.accounts {
        Some(n) => format!("accounts in it: {n}"),
        None => "no accounts in it".to_owned(),
    });
    for what in &preview.not_seen {
        seen.found(Severity::Warning, what.clone());
    }
    for what in &preview.exceptions {
        seen.found(
            Severity::Warning,
            format!("not as it should be in a dump: {what}"),
        );
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;
    use base::Error;

    #[test]
    fn it_fires_on_what_a_dump_lacks_and_misses() {
        Made::new(&[]).remote().fine(&CHECK);
        let refused = || {
            let e = Error::new(
                Kind::Privilege,
                "account 'u'@'%' lacks privileges that this dump needs",
            );
            let e = e.hint("GRANT RELOAD ON *.* TO 'u'@'%';\nor, without the lock: x");
            Made::new(&[]).but(|f| f.dump = Ok(Err(e)))
        };
        let seen = refused().fires(&CHECK, Severity::Warning, "lacks privileges");
        assert_eq!(seen.findings[0].todo[0], "GRANT RELOAD ON *.* TO 'u'@'%';");
        refused().but(|f| f.asked = vec![Job::Dump]).fires(
            &CHECK,
            Severity::Serious,
            "lacks privileges",
        );
        let with = |preview: dump::Preview| Made::new(&[]).but(|f| f.dump = Ok(Ok(preview)));
        let hidden = dump::Preview {
            not_seen: vec!["hidden schemas: at least 1".to_owned()],
            ..dump::Preview::default()
        };
        with(hidden).fires(&CHECK, Severity::Warning, "hidden schemas");
        let plain = dump::Preview {
            for_the_lock: vec!["GRANT RELOAD ON *.* TO 'u'@'%'".to_owned()],
            consistency: "one snapshot of one reader".to_owned(),
            ..dump::Preview::default()
        };
        let seen = with(plain).fires(&CHECK, Severity::Warning, "one snapshot of one reader");
        assert_eq!(seen.findings[0].todo, ["GRANT RELOAD ON *.* TO 'u'@'%';"]);
        let odd = dump::Preview {
            exceptions: vec!["view `a`.`v` is broken".to_owned()],
            ..dump::Preview::default()
        };
        with(odd).fires(&CHECK, Severity::Warning, "is broken");
        let gone = Error::new(Kind::Connection, "the server went away");
        Made::new(&[])
            .but(|f| f.dump = Ok(Err(gone)))
            .unseen(&CHECK, "went away");
    }
}
