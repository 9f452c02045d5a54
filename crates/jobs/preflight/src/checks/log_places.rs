//! Whether redo log and binary log are beside the data.

use super::disks_of;
use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use run::places::{BINARY_LOG, DATA, REDO_LOG};

pub const CHECK: Check = Check {
    name: "log-places",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "logs are written in order and synced at each commit; on one disk that turns, its head moves between them and the data. A binary log on the file system of the data is lost, and full, with them",
    source: "MySQL Reference Manual, \"Optimizing InnoDB Disk I/O\" and \"Point-in-Time (Incremental) Recovery\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    let data = facts.place(DATA)?;
    let of_data = disks_of(facts, data)?;
    for use_ in [REDO_LOG, BINARY_LOG] {
        if use_ == BINARY_LOG && !facts.id.log_bin {
            seen.saw("it has no binary log");
            continue;
        }
        let place = match facts.place(use_) {
            Ok(place) => place,
            Err(why) => {
                seen.not_seen(why);
                continue;
            }
        };
        let disks = match disks_of(facts, place) {
            Ok(disks) => disks,
            Err(why) => {
                seen.not_seen(why);
                continue;
            }
        };
        let names: Vec<&str> = disks.iter().map(|d| d.name.as_str()).collect();
        let on = match names.is_empty() {
            true => place.file_system.kind.clone(),
            false => names.join(", "),
        };
        seen.saw(format!("{use_} ({}): {on}", place.path.display()));
        let shared: Vec<&str> = disks
            .iter()
            .filter(|d| of_data.contains(d))
            .map(|d| d.name.as_str())
            .collect();
        if shared.is_empty() {
            continue;
        }
        let turns = disks
            .iter()
            .any(|d| of_data.contains(d) && d.is_rotational() == Some(true));
        if turns {
            let what = format!(
                "{use_} and data are on one disk that turns: {}",
                shared.join(", ")
            );
            seen.found(Severity::Warning, what).todo(
                "move the log to a disk of its own; penstock bench disk shows what each can do",
            );
        }
        if use_ == BINARY_LOG && place.file_system.device == data.file_system.device {
            let what = format!(
                "the binary log is on the file system of the data ({}): who loses one loses both",
                data.path.display()
            );
            seen.found(Severity::Info, what)
                .todo("penstock binlog archive keeps it elsewhere");
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_where_logs_are_beside_the_data() {
        Made::new(&[]).fine(&CHECK);
        let beside = || Made::new(&[]).place("binary log", (259, 0));
        beside().fires(&CHECK, Severity::Info, "who loses one loses both");
        let redo = Made::new(&[]).place("redo log", (259, 0));
        redo.fine(&CHECK);
        let turning = Made::new(&[]).disk("sda", (8, 0), true);
        let turning = turning.place("data", (8, 0)).place("redo log", (8, 0));
        turning.fires(
            &CHECK,
            Severity::Warning,
            "redo log and data are on one disk that turns: sda",
        );
        let none = Made::new(&[("log_bin", "OFF")]).place("binary log", (259, 0));
        none.fine(&CHECK);
        beside().place("data", (0, 9)).unseen(&CHECK, "0:9");
        let memory = beside().place("data", (0, 9));
        memory
            .file_system("data", |f| f.kind = "tmpfs".to_owned())
            .fine(&CHECK);
    }
}
