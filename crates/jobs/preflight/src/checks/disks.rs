//! Which disks each directory is on.

use super::{layers, together};
use crate::check::{Check, Group, Seen, Severity};
use crate::device::Device;
use crate::facts::{Facts, Known};
use base::units::bytes;

pub const CHECK: Check = Check {
    name: "disks",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "what a commit waits for depends on the disk: one that turns syncs about a hundred times a second; a loop device is a file in another file system",
    source: "MySQL Reference Manual, \"Optimizing InnoDB Disk I/O\"; Linux kernel documentation, \"ABI stable symbols\" (sysfs-block)",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    let all = layers(facts, &mut seen)?;
    for (at, place) in together(facts.places(&mut seen)?) {
        let Some((_, stack)) = all.iter().find(|(p, _)| std::ptr::eq(*p, place)) else {
            continue;
        };
        let words: Vec<String> = stack.iter().map(described).collect();
        seen.saw(format!("{at}: {}", words.join(" on ")));
        if stack
            .iter()
            .any(|d| d.is_rotational() == Some(true) && d.parts().is_empty())
        {
            let what = format!(
                "{at} is on a disk that says it turns: {}",
                words.join(" on ")
            );
            seen.found(Severity::Info, what)
                .todo("penstock bench disk --of SERVER measures what a commit waits for; a virtual disk may say so without turning");
        }
        if let Some(device) = stack.iter().find(|d| d.name.starts_with("loop")) {
            let file = device.attribute("loop/backing_file").unwrap_or_default();
            let what = format!("{at} is on a loop device, a file in another file system: {file}");
            seen.found(Severity::Warning, what);
        }
    }
    Ok(seen)
}

fn described(device: &Device) -> String {
    let mut words = device.name.clone();
    if let Some((name, _)) = device.mapped() {
        words = format!("{words} {name}");
    }
    if let Some(model) = device.model() {
        words = format!("{words} {model}");
    }
    if device.parts().is_empty()
        && let Some(size) = device.size()
    {
        words = format!("{words}, {}", bytes(size));
    }
    match device.is_rotational() {
        Some(true) => words + ", turns",
        Some(false) | None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_on_disks_that_turn_and_on_files() {
        let seen = Made::new(&[]).fine(&CHECK);
        assert!(seen.evidence[0].contains("nvme0n1, 107.37 GB"), "{seen:?}");
        let turning = Made::new(&[])
            .disk("sda", (8, 0), true)
            .place("data", (8, 0));
        turning.fires(&CHECK, Severity::Info, "turns");
        // What is below a virtual disk is not known.
        let unknown = Made::new(&[]).disk("vda", (254, 0), true);
        unknown.place("data", (254, 0)).fine(&CHECK);
        let below = Made::new(&[])
            .disk("sda", (8, 0), true)
            .volume("vg-data", (252, 0), &["sda"])
            .place("data", (252, 0));
        below.fires(&CHECK, Severity::Info, "dm-0 vg-data on sda");
        let file = Made::new(&[])
            .disk("loop3", (7, 3), false)
            .file("sys/block/loop3/loop/backing_file", "/var/x.img\n")
            .place("data", (7, 3));
        file.fires(&CHECK, Severity::Warning, "/var/x.img");
        // btrfs and overlays give files numbers that no device has.
        Made::new(&[]).place("data", (0, 40)).unseen(&CHECK, "0:40");
        // Memory and what other hosts have has none here.
        for kind in ["tmpfs", "nfs4"] {
            let none = Made::new(&[]).place("data", (0, 40));
            none.file_system("data", |f| kind.clone_into(&mut f.kind))
                .fine(&CHECK);
        }
    }
}
