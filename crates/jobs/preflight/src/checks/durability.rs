//! Settings under which a crash loses commits that were confirmed, or the server.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "durability",
    group: Group::Server,
    job: None,
    needs: None,
    reason: "these settings make a load faster, and are often left behind after it: then a crash loses commits that were confirmed, or damages pages beyond repair",
    source: "MySQL Reference Manual, \"InnoDB Startup Options and System Variables\", \"Disabling Redo Logging\" and \"Binary Logging Options and Variables\"; MariaDB Knowledge Base, \"InnoDB System Variables\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    for one in [
        "innodb_flush_log_at_trx_commit",
        "sync_binlog",
        "innodb_doublewrite",
        "innodb_flush_method",
        "innodb_checksum_algorithm",
    ] {
        if let Some(value) = facts.variable(one).filter(|v| !v.is_empty()) {
            seen.saw(format!("{one} is {value}"));
        }
    }
    match facts.variable("innodb_flush_log_at_trx_commit") {
        None | Some("1" | "3") => {}
        Some(value) => {
            let lost = match value {
                "0" => "a crash of the server loses up to a second of commits",
                _ => "a crash of the host loses up to a second of commits",
            };
            let what = format!("innodb_flush_log_at_trx_commit is {value}: {lost}");
            set(
                &mut seen,
                Severity::Serious,
                what,
                "SET GLOBAL innodb_flush_log_at_trx_commit = 1;",
            );
        }
    }
    if facts.id.log_bin
        && let Some(value) = facts.variable("sync_binlog").filter(|v| *v != "1")
    {
        let what = format!(
            "sync_binlog is {value}: after a crash of the host the binary log may lack transactions that the server has; replicas then differ"
        );
        set(
            &mut seen,
            Severity::Warning,
            what,
            "SET GLOBAL sync_binlog = 1;",
        );
    }
    if let Some(value) = facts.variable("innodb_doublewrite")
        && ["OFF", "0", "DETECT_ONLY", "FALSE"]
            .iter()
            .any(|v| value.eq_ignore_ascii_case(v))
    {
        let what = format!(
            "innodb_doublewrite is {value}: a page that is half written when the power fails cannot be repaired, unless the device writes pages at once or not at all"
        );
        let how = match facts.id.mysql_at_least(8, 0, 30) {
            true if value.eq_ignore_ascii_case("DETECT_ONLY") => {
                "SET GLOBAL innodb_doublewrite = 'DETECT_AND_RECOVER';"
            }
            _ => "innodb_doublewrite = ON in its option file, and a restart",
        };
        set(&mut seen, Severity::Serious, what, how);
    }
    if facts.id.mysql_at_least(8, 0, 21) {
        let status = facts.status.as_ref().map_err(Clone::clone);
        match status.map(|s| s.get("innodb_redo_log_enabled").cloned()) {
            Ok(Some(value)) => {
                seen.saw(format!("Innodb_redo_log_enabled is {value}"));
                if value.eq_ignore_ascii_case("OFF") {
                    let what =
                        "the redo log is disabled: after a crash the server does not start again"
                            .to_owned();
                    set(
                        &mut seen,
                        Severity::Serious,
                        what,
                        "ALTER INSTANCE ENABLE INNODB REDO_LOG;",
                    );
                }
            }
            Ok(None) => {}
            Err(why) => seen.not_seen(format!("whether the redo log is enabled: {why}")),
        }
    }
    if let Some(value) = facts
        .variable("innodb_flush_method")
        .filter(|v| v.eq_ignore_ascii_case("nosync"))
    {
        let what = format!(
            "innodb_flush_method is {value}: nothing is synced, and a crash of the host damages tables"
        );
        set(
            &mut seen,
            Severity::Serious,
            what,
            "remove innodb_flush_method from its option file, and restart it",
        );
    }
    if let Some(value) = facts
        .variable("innodb_checksum_algorithm")
        .filter(|v| v.eq_ignore_ascii_case("none"))
    {
        let what = format!("innodb_checksum_algorithm is {value}: damaged pages are not noticed");
        set(
            &mut seen,
            Severity::Serious,
            what,
            "SET GLOBAL innodb_checksum_algorithm = 'crc32';",
        );
    }
    Ok(seen)
}

fn set(seen: &mut Seen, severity: Severity, what: String, how: &str) {
    seen.found(severity, what).todo(how);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_on_what_a_load_leaves_behind() {
        Made::new(&[]).remote().fine(&CHECK);
        for (name, value, severity, text) in [
            (
                "innodb_flush_log_at_trx_commit",
                "0",
                Severity::Serious,
                "crash of the server",
            ),
            (
                "innodb_flush_log_at_trx_commit",
                "2",
                Severity::Serious,
                "crash of the host",
            ),
            (
                "sync_binlog",
                "0",
                Severity::Warning,
                "replicas then differ",
            ),
            (
                "innodb_doublewrite",
                "OFF",
                Severity::Serious,
                "half written",
            ),
            (
                "innodb_doublewrite",
                "DETECT_ONLY",
                Severity::Serious,
                "half written",
            ),
            (
                "innodb_flush_method",
                "nosync",
                Severity::Serious,
                "nothing is synced",
            ),
            (
                "innodb_checksum_algorithm",
                "none",
                Severity::Serious,
                "not noticed",
            ),
        ] {
            let seen = Made::new(&[(name, value)]).fires(&CHECK, severity, text);
            assert_eq!(seen.findings[0].todo.len(), 1, "{name}");
        }
        Made::new(&[("sync_binlog", "0"), ("log_bin", "OFF")]).fine(&CHECK);
        Made::new(&[("innodb_doublewrite", "DETECT_AND_RECOVER")]).fine(&CHECK);
        let redo = |value: &str| Made::new(&[]).status(&[("innodb_redo_log_enabled", value)]);
        redo("ON").fine(&CHECK);
        redo("OFF").fires(&CHECK, Severity::Serious, "redo log is disabled");
        let unknown = Made::new(&[]).but(|f| f.status = Err("refused".to_owned()));
        unknown.unseen(&CHECK, "whether the redo log is enabled: refused");
    }
}
