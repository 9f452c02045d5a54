//! What a replica needs: of the server as its source, and as the replica.

use crate::check::{Check, Group, Job, Seen};
use crate::facts::{Facts, Known};
use server::privileges::{Scope, for_new_replica, for_source_of_replica};

pub const CHECK: Check = Check {
    name: "replica",
    group: Group::Jobs,
    job: Some(Job::Replica),
    needs: None,
    reason: "penstock replica create makes an account for replication on the source, and a channel on the new server; both need more than a dump and a load",
    source: "penstock, docs/replica.md; MySQL Reference Manual, \"Creating a User for Replication\" and \"Replication Privilege Checks\"; MariaDB Knowledge Base, \"Setting Up Replication\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let privileges = facts.privileges.as_ref().map_err(Clone::clone)?;
    let severity = facts.lacking(Job::Replica);
    let id = &facts.id;
    let mut seen = Seen::fine(format!(
        "server_id {}, log_bin {}",
        id.server_id,
        if id.log_bin { "ON" } else { "OFF" }
    ));
    if !(id.mysql_at_least(8, 0, 23) || id.mariadb_at_least(10, 4, 0)) {
        seen.found(
            severity,
            format!(
                "{id}: replicas are made of MySQL 8.0.23 and later, and of MariaDB 10.4 and later"
            ),
        );
    }
    if !id.log_bin {
        seen.found(
            severity,
            "as a source: the server writes no binary log, so nothing can follow it",
        )
        .todo("log_bin and a server_id in its option file, and a restart");
    }
    if id.server_id == 0 {
        seen.found(
            severity,
            "server_id is 0: neither a source nor a replica has that",
        )
        .todo("SET GLOBAL server_id = …; a number of its own, and the same in its option file");
    }
    for (role, needed) in [
        ("as a source", for_source_of_replica(true)),
        ("as a new replica", for_new_replica(id)),
    ] {
        let choices = |privilege: &&'static str| match role {
            "as a source" => (Scope::Global, vec![*privilege]),
            _ => (Scope::Global, vec![*privilege, "SUPER"]),
        };
        let needs: Vec<_> = needed.iter().map(choices).collect();
        let missing = privileges.missing(&needs);
        if missing.is_empty() {
            seen.saw(format!("{role}: the account may do everything"));
            continue;
        }
        let what = format!("{role}: account {} lacks privileges", privileges.account);
        let finding = seen.found(severity, what);
        for grant in missing {
            // What it gives to the account for replication, it must be allowed to give.
            finding.todo(match role {
                "as a source" => format!("{grant} WITH GRANT OPTION;"),
                _ => format!("{grant};"),
            });
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Severity;
    use crate::made_up::Made;

    #[test]
    fn it_fires_on_what_a_replica_lacks() {
        Made::new(&[]).remote().fine(&CHECK);
        Made::new(&[("version", "10.11.1-MariaDB")]).fine(&CHECK);
        let few = || Made::new(&[]).grants(&["GRANT SELECT ON *.* TO `u`@`%`"]);
        let seen = few().fires(
            &CHECK,
            Severity::Warning,
            "as a source: account 'u'@'%' lacks",
        );
        assert!(
            seen.findings[0].todo[0].contains("REPLICATION SLAVE"),
            "{seen:?}"
        );
        assert!(
            seen.findings[1].todo[0].contains("REPLICATION_SLAVE_ADMIN"),
            "{seen:?}"
        );
        few()
            .but(|f| f.asked = vec![Job::Replica])
            .fires(&CHECK, Severity::Serious, "lacks");
        Made::new(&[("log_bin", "OFF")]).fires(&CHECK, Severity::Warning, "no binary log");
        Made::new(&[("server_id", "0")]).fires(&CHECK, Severity::Warning, "server_id is 0");
        Made::new(&[("version", "8.0.11")]).fires(&CHECK, Severity::Warning, "8.0.23 and later");
    }
}
