//! Arrays of md: whether they are whole, and of which level.

use super::layers;
use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "raid",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "an array that lacks a disk may lose everything with the next one; level 0 does with any. Levels 5 and 6 read before each small write, which halves the rate of commits and of pages. Arrays of controllers cannot be seen here",
    source: "Linux kernel documentation, \"RAID arrays\"; md(4)",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    for (place, stack) in layers(facts, &mut seen)? {
        for device in &stack {
            let Some(array) = device.array() else {
                continue;
            };
            let figures = format!(
                "{}: {} of {} disks, {} missing, {}",
                device.name, array.level, array.disks, array.degraded, array.action
            );
            if seen.evidence.contains(&figures) {
                continue;
            }
            seen.saw(figures);
            let name = format!(
                "the array {} ({}, below {})",
                device.name, array.level, place.use_
            );
            if array.degraded > 0 {
                let what = format!(
                    "{name} lacks {} of its {} disks",
                    array.degraded, array.disks
                );
                seen.found(Severity::Serious, what)
                    .todo(format!("mdadm --detail /dev/{}", device.name));
            }
            match array.level.as_str() {
                "raid0" | "linear" => {
                    seen.found(
                        Severity::Warning,
                        format!("{name} is lost with any of its {} disks", array.disks),
                    );
                }
                "raid4" | "raid5" | "raid6" => {
                    seen.found(
                        Severity::Info,
                        format!("{name} reads before each small write"),
                    );
                }
                _ => {}
            }
            if array.degraded == 0 && !matches!(array.action.as_str(), "" | "idle" | "frozen") {
                seen.found(
                    Severity::Info,
                    format!("{name} is busy with itself: {}", array.action),
                );
            }
        }
    }
    if seen.evidence.is_empty() && seen.unseen.is_empty() {
        seen.saw("no array of md is below its directories");
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    fn array(level: &str, degraded: &str, action: &str) -> Made {
        Made::new(&[])
            .disk("sda", (8, 0), false)
            .disk("sdb", (8, 16), false)
            .made_of("md0", (9, 0), &["sda", "sdb"])
            .file("sys/block/md0/md/level", level)
            .file("sys/block/md0/md/raid_disks", "2\n")
            .file("sys/block/md0/md/degraded", degraded)
            .file("sys/block/md0/md/sync_action", action)
            .place("data", (9, 0))
    }

    #[test]
    fn it_fires_on_arrays_that_are_not_whole() {
        Made::new(&[]).fine(&CHECK);
        let seen = array("raid1\n", "0\n", "idle\n").fine(&CHECK);
        assert_eq!(seen.evidence, ["md0: raid1 of 2 disks, 0 missing, idle"]);
        array("raid1\n", "1\n", "recover\n").fires(
            &CHECK,
            Severity::Serious,
            "lacks 1 of its 2 disks",
        );
        array("raid0\n", "0\n", "idle\n").fires(&CHECK, Severity::Warning, "lost with any");
        array("raid5\n", "0\n", "idle\n").fires(&CHECK, Severity::Info, "before each small write");
        array("raid10\n", "0\n", "check\n").fires(
            &CHECK,
            Severity::Info,
            "busy with itself: check",
        );
    }
}
