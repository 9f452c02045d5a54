//! How much the kernel reads ahead.

use super::layers;
use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "read-ahead",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "pages of indexes are read at random: what the kernel reads ahead of them through its cache is read for nothing, and takes the disk from others. InnoDB reads ahead by itself",
    source: "Linux kernel documentation, \"ABI stable symbols\" (sysfs-block, queue/read_ahead_kb); MySQL Reference Manual, \"Configuring InnoDB Buffer Pool Prefetching (Read-Ahead)\"",
    look,
};

/// More than this is a warning, in KiB; the kernel's default is 128.
const MUCH: u64 = 1024;

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    for (_, stack) in layers(facts, &mut seen)? {
        // That of the device on which the file system is counts.
        let Some(top) = stack.first() else { continue };
        let Some(kib) = top.read_ahead() else {
            seen.not_seen(format!("{} does not say how much is read ahead", top.name));
            continue;
        };
        let figures = format!("{}: {kib} KiB", top.name);
        if seen.evidence.contains(&figures) {
            continue;
        }
        seen.saw(figures);
        if kib > MUCH {
            seen.found(
                Severity::Info,
                format!("{} reads {kib} KiB ahead", top.name),
            )
            .todo(format!(
                "echo 128 > /sys/block/{}/queue/read_ahead_kb",
                top.name
            ));
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_on_much() {
        Made::new(&[]).fine(&CHECK);
        let with = |text: &str| Made::new(&[]).file("sys/block/nvme0n1/queue/read_ahead_kb", text);
        with("1024\n").fine(&CHECK);
        with("4096\n").fires(&CHECK, Severity::Info, "4096 KiB ahead");
    }
}
