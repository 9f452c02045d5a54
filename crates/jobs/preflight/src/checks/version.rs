//! Flavour and version, and what penstock does with them.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "version",
    group: Group::Jobs,
    job: None,
    needs: None,
    reason: "penstock dumps servers from 5.5 on; what it does beyond that is tested on MySQL 9.7 and MariaDB 10.11 and 11.8, and meant for those from MySQL 8.4 and MariaDB 10.6 on",
    source: "penstock, docs/support.md",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let id = &facts.id;
    let mut seen = Seen::fine(format!("{id} ({})", id.version_text));
    let supported = id.mysql_at_least(8, 4, 0) || id.mariadb_at_least(10, 6, 0);
    if !supported {
        seen.found(Severity::Info, format!("{id} is an old server: dump, copy and verify read it; replicas, snapshots and loads into it are not tested"));
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_on_old_servers() {
        Made::new(&[]).remote().fine(&CHECK);
        Made::new(&[("version", "10.11.19-MariaDB")]).fine(&CHECK);
        Made::new(&[("version", "5.5.9")]).fires(
            &CHECK,
            Severity::Info,
            "MySQL 5.5.9 is an old server",
        );
        Made::new(&[("version", "10.5.1-MariaDB")]).fires(&CHECK, Severity::Info, "old server");
    }
}
