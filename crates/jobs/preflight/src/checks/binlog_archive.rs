//! What archiving the binary log needs.

use crate::check::{Check, Group, Job, Seen};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "binlog-archive",
    group: Group::Jobs,
    job: Some(Job::Binlog),
    needs: None,
    reason: "penstock binlog archive reads the binary log as a replica does, and lists its files",
    source: "penstock, docs/binlog.md; MySQL Reference Manual, \"Privileges Provided by MySQL\" (REPLICATION SLAVE, REPLICATION CLIENT); MariaDB Knowledge Base, \"GRANT\" (BINLOG MONITOR)",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let privileges = facts.privileges.as_ref().map_err(Clone::clone)?;
    let severity = facts.lacking(Job::Binlog);
    let mut seen = Seen::new();
    if !facts.id.log_bin {
        seen.saw("log_bin is OFF");
        seen.found(
            severity,
            "the server writes no binary log: there is nothing to archive",
        )
        .todo("log_bin and a server_id in its option file, and a restart");
        return Ok(seen);
    }
    let missing = privileges.missing_for_binlog_archive(&facts.id);
    if missing.is_empty() {
        seen.saw("the account may read and list the binary log");
        return Ok(seen);
    }
    seen.saw("the account may not read the binary log");
    let what = format!(
        "account {} may not archive the binary log",
        privileges.account
    );
    let finding = seen.found(severity, what);
    for grant in missing {
        finding.todo(format!("{grant};"));
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Severity;
    use crate::made_up::Made;

    #[test]
    fn it_fires_on_what_an_archive_of_the_log_lacks() {
        Made::new(&[]).remote().fine(&CHECK);
        let few = |version: &str| {
            Made::new(&[("version", version)]).grants(&["GRANT SELECT ON *.* TO `u`@`%`"])
        };
        let seen = few("9.7.4").fires(&CHECK, Severity::Warning, "may not archive");
        assert_eq!(
            seen.findings[0].todo,
            ["GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'u'@'%';"]
        );
        let seen = few("10.11.1-MariaDB").fires(&CHECK, Severity::Warning, "may not archive");
        assert_eq!(
            seen.findings[0].todo,
            ["GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO 'u'@'%';"]
        );
        few("9.7.4").but(|f| f.asked = vec![Job::Binlog]).fires(
            &CHECK,
            Severity::Serious,
            "may not archive",
        );
        Made::new(&[("log_bin", "OFF")]).fires(&CHECK, Severity::Warning, "nothing to archive");
    }
}
