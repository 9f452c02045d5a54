//! Thin pools: how full they are.

use super::layers;
use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "thin-pool",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "a thin volume promises more room than its pool may have. When the pool or its metadata are full, writes hang or fail, while the file system still says that there is room",
    source: "lvmthin(7); Linux kernel documentation, \"Thin provisioning\" (status of thin-pool)",
    look,
};

/// The parts in use that are a warning, and serious.
const FULL: (f64, f64) = (0.80, 0.95);

fn look(facts: &Facts) -> Known<Seen> {
    let host = facts.host()?;
    let mut seen = Seen::new();
    let mut asked = Vec::new();
    for (place, stack) in layers(facts, &mut seen)? {
        for (name, _) in stack.iter().filter_map(|d| d.mapped()) {
            if asked.contains(&name) {
                continue;
            }
            asked.push(name.clone());
            match host.ask("dmsetup", &["status", "--noflush", &name]) {
                Err(why) => seen.not_seen(format!(
                    "whether {name} is a thin pool, and how full, cannot be seen: {why}"
                )),
                Ok(status) => status
                    .lines()
                    .for_each(|line| pool(line, &name, place.use_, &mut seen)),
            }
        }
    }
    if seen.evidence.is_empty() && seen.unseen.is_empty() {
        seen.saw("no thin pool is below its directories");
    }
    Ok(seen)
}

/// A line as `0 209715200 thin-pool 1 137/4161600 10/1638400 - rw discard_passdown queue_if_no_space - 1024`.
fn pool(line: &str, name: &str, use_: &str, seen: &mut Seen) {
    let mut words = line.split_whitespace().skip(2);
    if words.next() != Some("thin-pool") {
        return;
    }
    let rest: Vec<&str> = words.collect();
    if matches!(rest.first(), Some(&"Fail" | &"Error")) {
        seen.saw(format!("{name}: {line}"));
        seen.found(
            Severity::Serious,
            format!("the thin pool {name} (below {use_}) has failed"),
        )
        .todo(format!(
            "lvconvert --repair of the pool: lvmthin(7); dmsetup status {name}"
        ));
        return;
    }
    let part = |at: usize| {
        let (used, all) = rest.get(at)?.split_once('/')?;
        let (used, all): (f64, f64) = (used.parse().ok()?, all.parse().ok()?);
        (all > 0.0).then_some(used / all)
    };
    let (Some(metadata), Some(data)) = (part(1), part(2)) else {
        seen.not_seen(format!(
            "the status of the thin pool {name} is not understood: {line}"
        ));
        return;
    };
    let when_full = match rest.contains(&"error_if_no_space") {
        true => "then writes fail",
        false => "then writes hang",
    };
    let figures = format!(
        "{name}: {:.1} % of the data and {:.1} % of the metadata are used; {when_full}",
        data * 100.0,
        metadata * 100.0
    );
    seen.saw(&figures);
    let stopped = rest
        .iter()
        .any(|w| ["ro", "out_of_data_space", "needs_check"].contains(w));
    let most = data.max(metadata);
    let severity = match most {
        _ if stopped => Severity::Serious,
        m if m >= FULL.1 => Severity::Serious,
        m if m >= FULL.0 => Severity::Warning,
        _ => return,
    };
    seen.found(severity, format!("the thin pool below {use_} fills: {figures}"))
        .todo("lvextend of the pool (and of its metadata: --poolmetadatasize), and thin_pool_autoextend_threshold in lvm.conf");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    fn with(data: u64, metadata: u64, mode: &str) -> Made {
        let status = format!(
            "0 209715200 thin-pool 1 {metadata}/1000 {data}/1000 - {mode} discard_passdown queue_if_no_space - 1024"
        );
        Made::new(&[])
            .disk("sda", (8, 0), false)
            .volume("vg-pool-tpool", (252, 1), &["sda"])
            .volume("vg-data", (252, 0), &["dm-1"])
            .place("data", (252, 0))
            .answer(
                "dmsetup status --noflush vg-data",
                "0 41934848 thin 20 41934847",
            )
            .answer("dmsetup status --noflush vg-pool-tpool", &status)
    }

    #[test]
    fn it_fires_when_a_pool_fills() {
        Made::new(&[]).fine(&CHECK);
        let seen = with(500, 100, "rw").fine(&CHECK);
        assert!(seen.evidence[0].contains("50.0 % of the data"), "{seen:?}");
        with(850, 100, "rw").fires(&CHECK, Severity::Warning, "85.0 % of the data");
        with(100, 960, "rw").fires(&CHECK, Severity::Serious, "96.0 % of the metadata");
        with(100, 100, "out_of_data_space").fires(&CHECK, Severity::Serious, "fills");
        with(1, 1, "rw")
            .answer(
                "dmsetup status --noflush vg-pool-tpool",
                "0 209715200 thin-pool Fail",
            )
            .fires(&CHECK, Severity::Serious, "has failed");
        let made = Made::new(&[]).disk("sda", (8, 0), false);
        let unseen = made
            .volume("vg-data", (252, 0), &["sda"])
            .place("data", (252, 0));
        unseen.unseen(&CHECK, "dmsetup is not installed");
    }
}
