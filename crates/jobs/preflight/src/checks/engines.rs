//! Tables without snapshots.

use crate::check::{Check, Group, Job, Seen, Severity, shown};
use crate::facts::{Facts, Known};
use server::catalog::TableKind;

pub const CHECK: Check = Check {
    name: "engines",
    group: Group::Jobs,
    job: Some(Job::Dump),
    needs: None,
    reason: "tables of MyISAM, Aria, MEMORY and their like have no snapshots: a dump reads them as they are at that time, and after a crash of the server they may have to be repaired",
    source: "MySQL Reference Manual, \"Alternative Storage Engines\"; MariaDB Knowledge Base, \"Choosing the Right Storage Engine\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let tables = facts.tables()?;
    // A sequence is written by the dump's own statement, whatever keeps it.
    let base = tables.iter().filter(|t| t.kind != TableKind::Sequence);
    let (mut without, mut broken) = (Vec::new(), Vec::new());
    for table in base {
        match &table.problem {
            Some(why) => broken.push(format!("{}: {why}", table.qualified())),
            None if !table.transactional => {
                without.push(format!("{} ({})", table.qualified(), table.engine))
            }
            None => {}
        }
    }
    let mut seen = Seen::fine(format!(
        "tables: {}, without snapshots: {}",
        tables.len(),
        without.len()
    ));
    if !without.is_empty() {
        without.sort();
        let what = format!(
            "{} without snapshots: {}",
            tables_of(without.len()),
            shown(&without)
        );
        seen.found(Severity::Warning, what).todo(
            "ALTER TABLE … ENGINE = InnoDB; or keep programs from writing to them during a dump",
        );
    }
    if !broken.is_empty() {
        broken.sort();
        let what = format!(
            "{} cannot be read: {}",
            tables_of(broken.len()),
            shown(&broken)
        );
        seen.found(Severity::Serious, what)
            .todo("CHECK TABLE, REPAIR TABLE; penstock rescue for InnoDB");
    }
    Ok(seen)
}

fn tables_of(n: usize) -> String {
    match n {
        1 => "1 table".to_owned(),
        n => format!("{n} tables"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{Made, table};
    use server::catalog::Table;

    #[test]
    fn it_fires_on_tables_without_snapshots() {
        Made::new(&[]).remote().fine(&CHECK);
        let myisam = |name: &str| Table {
            engine: "MyISAM".to_owned(),
            transactional: false,
            ..table(name, 1)
        };
        let made = Made::new(&[]).tables(vec![table("t", 1), myisam("m")]);
        made.fires(
            &CHECK,
            Severity::Warning,
            "1 table without snapshots: `shop`.`m` (MyISAM)",
        );
        let sequence = Table {
            kind: TableKind::Sequence,
            ..myisam("s")
        };
        Made::new(&[]).tables(vec![sequence]).fine(&CHECK);
        let broken = Table {
            problem: Some("no file".to_owned()),
            ..table("b", 1)
        };
        Made::new(&[])
            .tables(vec![broken])
            .fires(&CHECK, Severity::Serious, "`shop`.`b`: no file");
        Made::new(&[])
            .but(|f| f.catalog = Err("refused".to_owned()))
            .unseen(&CHECK, "refused");
    }
}
