//! Tables without a key that tells their rows apart.

use crate::check::{Check, Group, Seen, Severity, shown};
use crate::facts::{Facts, Known, size};
use base::units::bytes;
use server::catalog::{Table, TableKind, chunk_key};

pub const CHECK: Check = Check {
    name: "keys",
    group: Group::Jobs,
    job: None,
    needs: None,
    reason: "a table without a primary key is dumped by one worker in one piece; a replica looks for each changed row by a scan of it; and no repair can name a row",
    source: "MySQL Reference Manual, \"Clustered and Secondary Indexes\" and \"Replication and Row Searches\"; penstock, docs/dump.md",
    look,
};

/// A table that is at least as large matters to a dump.
const LARGE: u64 = 1 << 30;

fn look(facts: &Facts) -> Known<Seen> {
    let tables = facts.tables()?;
    let without: Vec<&&Table> = tables
        .iter()
        .filter(|t| t.kind != TableKind::Sequence && t.problem.is_none() && chunk_key(t).is_none())
        .collect();
    let mut seen = Seen::fine(format!(
        "tables: {}, without a key for ranges of rows: {}",
        tables.len(),
        without.len()
    ));
    if without.is_empty() {
        return Ok(seen);
    }
    // The largest first, as they come.
    let names: Vec<String> = without
        .iter()
        .map(|t| format!("{} ({})", t.qualified(), bytes(size(t))))
        .collect();
    let large = without.iter().any(|t| size(t) >= LARGE);
    let severity = if large {
        Severity::Warning
    } else {
        Severity::Info
    };
    seen.found(severity, format!("no primary key and no other key for ranges of rows: {}", shown(&names)))
        .todo("ALTER TABLE … ADD COLUMN id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY; (invisible, if no program shall see it)");
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{GIB, Made, table};

    #[test]
    fn it_fires_on_tables_without_keys() {
        Made::new(&[]).remote().fine(&CHECK);
        let without = |bytes: u64| {
            let mut table = table("x", bytes);
            table.keys.clear();
            Made::new(&[]).tables(vec![table])
        };
        without(1000).fires(&CHECK, Severity::Info, "`shop`.`x` (1.00 kB)");
        without(2 * GIB).fires(&CHECK, Severity::Warning, "`shop`.`x`");
    }
}
