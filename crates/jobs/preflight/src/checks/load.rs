//! What a load into this server needs: what an archive with every kind of object asks for.

use crate::check::{Check, Group, Job, Seen, Severity};
use crate::facts::{Facts, Known};
use server::privileges::LoadNeeds;

pub const CHECK: Check = Check {
    name: "load",
    group: Group::Jobs,
    job: Some(Job::Load),
    needs: None,
    reason: "a load looks at its target before its first statement, and stops if a privilege or a setting is missing; what an archive really needs depends on what is in it (load --dry-run)",
    source: "penstock, docs/load.md; MySQL Reference Manual, \"Security Considerations for LOAD DATA LOCAL\" and \"Stored Program Binary Logging\"; MariaDB Knowledge Base, \"GRANT\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let privileges = facts.privileges.as_ref().map_err(Clone::clone)?;
    let severity = facts.lacking(Job::Load);
    let mut seen = Seen::new();
    for name in [
        "local_infile",
        "log_bin_trust_function_creators",
        "read_only",
        "super_read_only",
    ] {
        if let Some(value) = facts.variable(name) {
            seen.saw(format!("{name} is {value}"));
        }
    }
    if let Err(e) = facts.writable.as_ref().map_err(Clone::clone)? {
        let finding = seen.found(severity, format!("a load is refused: {}", e.what));
        for line in e.hint.iter().flat_map(|h| h.lines()) {
            finding.todo(line);
        }
    }
    let needs = LoadNeeds {
        everywhere: true,
        views: true,
        triggers: true,
        routines: true,
        functions: true,
        events: true,
        ..LoadNeeds::default()
    };
    let missing = privileges.missing_for_load(&facts.id, &needs);
    if !missing.is_empty() {
        let what = format!(
            "account {} lacks privileges for a load into any schema",
            privileges.account
        );
        let finding = seen.found(severity, what);
        missing.iter().for_each(|grant| {
            finding.todo(format!("{grant};"));
        });
        finding.todo("or the same for the schemas that are loaded: docs/load.md");
    } else {
        seen.saw("the account may create and fill everything");
    }
    if let Some(statement) = privileges.missing_trust(&facts.id, &needs) {
        seen.found(severity, "the server takes no function and no trigger from this account, because its binary log is on (error 1419)")
            .todo(format!("{statement};"));
    }
    let definers = LoadNeeds {
        definers: true,
        ..LoadNeeds::default()
    };
    let of_others = privileges.missing_for_load(&facts.id, &definers);
    if !of_others.is_empty() {
        let finding = seen.found(
            Severity::Info,
            "views, triggers, routines and events of other definers would be refused, each by name",
        );
        of_others.iter().for_each(|grant| {
            finding.todo(format!("{grant};"));
        });
        finding.todo("or load --definer strip, which gives them the loading account");
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;
    use base::{Error, Kind};

    #[test]
    fn it_fires_on_what_a_load_lacks() {
        Made::new(&[]).remote().fine(&CHECK);
        let few = || Made::new(&[]).grants(&["GRANT SELECT ON *.* TO `u`@`%`"]);
        let seen = few().fires(&CHECK, Severity::Warning, "lacks privileges for a load");
        assert!(
            seen.findings[0].todo[0].starts_with("GRANT CREATE, DROP"),
            "{seen:?}"
        );
        assert!(seen.findings.iter().any(|f| {
            f.todo
                .iter()
                .any(|t| t.starts_with("GRANT SET_ANY_DEFINER"))
        }));
        few().but(|f| f.asked = vec![Job::Load]).fires(
            &CHECK,
            Severity::Serious,
            "lacks privileges for a load",
        );
        let off =
            Error::new(Kind::Privilege, "local_infile is OFF").hint("SET GLOBAL local_infile = ON");
        Made::new(&[]).but(|f| f.writable = Ok(Err(off))).fires(
            &CHECK,
            Severity::Warning,
            "local_infile is OFF",
        );
        let all = "GRANT CREATE, DROP, ALTER, INDEX, REFERENCES, SELECT, INSERT, DELETE, CREATE VIEW, SHOW VIEW, TRIGGER, CREATE ROUTINE, ALTER ROUTINE, EVENT ON *.* TO u";
        let trust = Made::new(&[("log_bin_trust_function_creators", "OFF")]).grants(&[all]);
        trust.fires(&CHECK, Severity::Warning, "error 1419");
        let definers = Made::new(&[]).grants(&[all]);
        definers.fires(&CHECK, Severity::Info, "of other definers");
    }
}
