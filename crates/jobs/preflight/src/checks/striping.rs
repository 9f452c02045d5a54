//! Volumes of LVM over several disks: striped, or one disk after the other.

use super::layers;
use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use base::units::bytes;

pub const CHECK: Check = Check {
    name: "striping",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "a striped volume has the reads and writes of all its disks; one that only continues on the next disk has those of one at a time. A stripe that is smaller than a page needs two disks for one page",
    source: "lvmraid(7) and lvcreate(8) (--stripes, --stripesize); Linux kernel documentation, \"dm-stripe\" and \"dm-linear\"",
    look,
};

/// InnoDB's largest page that is usual.
const PAGE: u64 = 16 << 10;

fn look(facts: &Facts) -> Known<Seen> {
    let host = facts.host()?;
    let mut seen = Seen::new();
    for (place, stack) in layers(facts, &mut seen)? {
        for device in &stack {
            let Some((name, uuid)) = device.mapped() else {
                continue;
            };
            if !uuid.starts_with("LVM-")
                || seen
                    .evidence
                    .iter()
                    .any(|e| e.starts_with(&format!("{name}: ")))
            {
                continue;
            }
            let table = match host.ask("dmsetup", &["table", &name]) {
                Ok(table) => table,
                Err(why) => {
                    seen.not_seen(format!(
                        "how the volume {name} lies on its disks cannot be seen: {why}"
                    ));
                    continue;
                }
            };
            let segments = segments(&table);
            let words: Vec<String> = segments.iter().map(ToString::to_string).collect();
            seen.saw(format!("{name}: {}", words.join("; ")));
            let below: Vec<String> = device.parts().iter().map(|d| d.whole().name).collect();
            let mut disks = below.clone();
            disks.sort();
            disks.dedup();
            let striped = segments
                .iter()
                .any(|s| matches!(s, Segment::Striped { .. }));
            let linear = segments.iter().filter(|s| **s == Segment::Linear).count();
            if linear > 0 && !striped && disks.len() > 1 {
                let what = format!(
                    "the volume {name} ({}) continues from one disk to the next ({}): each table has the speed of one",
                    place.use_,
                    disks.join(", ")
                );
                seen.found(Severity::Info, what).todo(
                    "penstock preflight --stripe DEVICE,… prints how a striped volume is made",
                );
            }
            for segment in &segments {
                if let Segment::Striped { chunk, .. } = segment
                    && *chunk < PAGE
                {
                    let what = format!(
                        "the stripes of the volume {name} ({}) are {}, and a page is 16 KiB",
                        place.use_,
                        bytes(*chunk)
                    );
                    seen.found(Severity::Warning, what)
                        .todo("a volume with stripes of 64 KiB or more: lvcreate -I 256k");
                }
            }
        }
    }
    if seen.evidence.is_empty() && seen.unseen.is_empty() {
        seen.saw("no volume of LVM is below its directories");
    }
    Ok(seen)
}

/// A part of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// On one disk.
    Linear,
    /// Over several.
    Striped {
        /// How many.
        disks: u64,
        /// Bytes on each before the next one.
        chunk: u64,
    },
    /// Anything else, by the kernel's name.
    Other(String),
}

impl std::fmt::Display for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Segment::Linear => f.write_str("linear"),
            Segment::Striped { disks, chunk } => {
                write!(f, "striped over {disks}, {} KiB each", chunk / 1024)
            }
            Segment::Other(name) => f.write_str(name),
        }
    }
}

/// Lines as `0 41934848 striped 2 128 8:0 2048 8:16 2048`: begin, length, target, and what the target needs.
fn segments(table: &str) -> Vec<Segment> {
    let one = |line: &str| {
        let mut words = line.split_whitespace().skip(2);
        let target = words.next()?;
        Some(match target {
            "linear" => Segment::Linear,
            "striped" => Segment::Striped {
                disks: words.next()?.parse().ok()?,
                chunk: words.next()?.parse::<u64>().ok()?.saturating_mul(512),
            },
            other => Segment::Other(other.to_owned()),
        })
    };
    table.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    fn volume(table: Option<&str>) -> Made {
        let made = Made::new(&[])
            .disk("sda", (8, 0), false)
            .disk("sdb", (8, 16), false)
            .volume("vg-data", (252, 0), &["sda", "sdb"])
            .place("data", (252, 0));
        match table {
            Some(table) => made.answer("dmsetup table vg-data", table),
            None => made,
        }
    }

    #[test]
    fn it_fires_on_volumes_that_are_not_striped_well() {
        Made::new(&[]).fine(&CHECK);
        let seen = volume(Some("0 41934848 striped 2 128 8:0 2048 8:16 2048")).fine(&CHECK);
        assert_eq!(seen.evidence, ["vg-data: striped over 2, 64 KiB each"]);
        let linear = "0 41934848 linear 8:0 2048\n41934848 41934848 linear 8:16 2048";
        volume(Some(linear)).fires(
            &CHECK,
            Severity::Info,
            "(sda, sdb): each table has the speed of one",
        );
        let small = "0 41934848 striped 2 8 8:0 2048 8:16 2048";
        volume(Some(small)).fires(&CHECK, Severity::Warning, "a page is 16 KiB");
        volume(Some("0 1 thin 252:9 1")).fine(&CHECK);
        volume(None).unseen(&CHECK, "dmsetup is not installed");
    }
}
