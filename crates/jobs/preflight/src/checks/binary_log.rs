//! Whether the binary log is good for restoring to any moment, and for replicas.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "binary-log",
    group: Group::Server,
    job: None,
    needs: None,
    reason: "without a binary log there is no way to any moment after the backup, and no replica. Statements in it may do something else when they are applied; files that never expire fill the disk",
    source: "MySQL Reference Manual, \"The Binary Log\", \"Replication Formats\" and \"Binary Logging Options and Variables\" (binlog_expire_logs_seconds); MariaDB Knowledge Base, \"Binary Log Formats\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    if !facts.id.log_bin {
        seen.saw("log_bin is OFF");
        seen.found(Severity::Warning, "the server writes no binary log: it can be restored to its backups only, and nothing can follow it")
            .todo("log_bin and a server_id in its option file, and a restart");
        return Ok(seen);
    }
    for name in [
        "log_bin",
        "binlog_format",
        "binlog_row_image",
        "gtid_mode",
        "binlog_expire_logs_seconds",
        "expire_logs_days",
        "server_id",
    ] {
        if let Some(value) = facts.variable(name) {
            seen.saw(format!("{name} is {value}"));
        }
    }
    if let Some(format) = facts
        .variable("binlog_format")
        .filter(|f| f.eq_ignore_ascii_case("STATEMENT"))
    {
        seen.found(
            Severity::Warning,
            format!(
                "binlog_format is {format}: a statement may do something else when it is applied"
            ),
        )
        .todo("SET GLOBAL binlog_format = 'ROW'; and the same in its option file");
    }
    let never = match facts.number("binlog_expire_logs_seconds") {
        Some(seconds) => seconds == 0,
        None => {
            facts
                .variable("expire_logs_days")
                .and_then(|d| d.parse::<f64>().ok())
                == Some(0.0)
        }
    };
    if never {
        seen.found(
            Severity::Info,
            "files of the binary log never expire: they stay until they are removed",
        )
        .todo(match facts.variable("binlog_expire_logs_seconds") {
            Some(_) => {
                "SET GLOBAL binlog_expire_logs_seconds = 2592000; longer than backups are apart"
            }
            None => "SET GLOBAL expire_logs_days = 30; longer than backups are apart",
        });
    }
    if facts.id.server_id == 0 {
        seen.found(
            Severity::Warning,
            "server_id is 0: no replica can follow the server",
        );
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_where_the_log_is_off_or_weak() {
        Made::new(&[]).remote().fine(&CHECK);
        Made::new(&[("log_bin", "OFF")]).fires(&CHECK, Severity::Warning, "no binary log");
        Made::new(&[("binlog_format", "STATEMENT")]).fires(
            &CHECK,
            Severity::Warning,
            "something else",
        );
        Made::new(&[("binlog_expire_logs_seconds", "0")]).fires(
            &CHECK,
            Severity::Info,
            "never expire",
        );
        Made::new(&[("server_id", "0")]).fires(&CHECK, Severity::Warning, "server_id is 0");
    }
}
