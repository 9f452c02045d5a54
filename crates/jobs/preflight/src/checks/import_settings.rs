//! Settings that switch checks of rows off, for all sessions.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "import-settings",
    group: Group::Server,
    job: None,
    needs: None,
    reason: "an import switches these off for its own session; where they are off for all, every new session writes rows that break foreign keys and unique keys, or truncates values",
    source: "MySQL Reference Manual, \"Server System Variables\" (foreign_key_checks, unique_checks, sql_mode) and \"Security Considerations for LOAD DATA LOCAL\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    for (name, what) in [
        (
            "foreign_key_checks",
            "rows without the row that they refer to are accepted",
        ),
        (
            "unique_checks",
            "InnoDB may accept duplicates in secondary indexes",
        ),
    ] {
        let Some(value) = facts.variable(name) else {
            continue;
        };
        seen.saw(format!("{name} is {value}"));
        if facts.on(name) == Some(false) {
            seen.found(
                Severity::Serious,
                format!("{name} is {value} for all new sessions: {what}"),
            )
            .todo(format!("SET GLOBAL {name} = ON;"));
        }
    }
    let mode = &facts.id.sql_mode;
    seen.saw(format!(
        "sql_mode is {}",
        if mode.is_empty() { "empty" } else { mode }
    ));
    if !mode.contains("STRICT_TRANS_TABLES")
        && !mode.contains("STRICT_ALL_TABLES")
        && !mode.contains("TRADITIONAL")
    {
        seen.found(
            Severity::Info,
            "sql_mode has no strict mode: values that do not fit are changed without an error",
        );
    }
    if let Some(value) = facts.number("innodb_force_recovery") {
        seen.saw(format!("innodb_force_recovery is {value}"));
        if value > 0 {
            seen.found(Severity::Serious, format!("innodb_force_recovery is {value}: the server is in an emergency, and may not be written to"))
                .todo("dump it, and load the dump into a new server");
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    fn strict(more: &[(&str, &str)]) -> Made {
        Made::new(
            &[
                &[
                    ("sql_mode", "STRICT_TRANS_TABLES"),
                    ("foreign_key_checks", "ON"),
                ][..],
                more,
            ]
            .concat(),
        )
    }

    #[test]
    fn it_fires_where_checks_are_off_for_all() {
        strict(&[]).remote().fine(&CHECK);
        strict(&[("foreign_key_checks", "OFF")]).fires(
            &CHECK,
            Severity::Serious,
            "foreign_key_checks is OFF",
        );
        strict(&[("unique_checks", "0")]).fires(&CHECK, Severity::Serious, "unique_checks is 0");
        strict(&[("innodb_force_recovery", "1")]).fires(&CHECK, Severity::Serious, "emergency");
        strict(&[("innodb_force_recovery", "0")]).fine(&CHECK);
        strict(&[("sql_mode", "")]).fires(&CHECK, Severity::Info, "no strict mode");
    }
}
