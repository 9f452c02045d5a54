//! Which scheduler orders the requests to each disk.

use super::layers;
use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "scheduler",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "bfq and cfq share a disk fairly between processes, and spend time on that which a server's commits wait for; none, mq-deadline and kyber do not",
    source: "Linux kernel documentation, \"BFQ (Budget Fair Queueing)\" and \"Switching Scheduler\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    for (_, stack) in layers(facts, &mut seen)? {
        for disk in stack.iter().filter(|d| d.parts().is_empty()) {
            let Some(scheduler) = disk.scheduler() else {
                seen.saw(format!("{}: has none of its own", disk.name));
                continue;
            };
            let figures = format!("{}: {scheduler}", disk.name);
            if seen.evidence.contains(&figures) {
                continue;
            }
            seen.saw(figures);
            if ["bfq", "cfq"].contains(&scheduler.as_str()) {
                let better = match disk.is_rotational() {
                    Some(true) => "mq-deadline",
                    _ => "none",
                };
                seen.found(Severity::Warning, format!("the scheduler of {} is {scheduler}", disk.name))
                    .todo(format!("echo {better} > /sys/block/{}/queue/scheduler, and a rule of udev that keeps it", disk.name));
            }
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_on_bfq() {
        Made::new(&[]).fine(&CHECK);
        let with = |text: &str| Made::new(&[]).file("sys/block/nvme0n1/queue/scheduler", text);
        with("none mq-deadline [bfq]\n").fires(&CHECK, Severity::Warning, "nvme0n1 is bfq");
        with("none [mq-deadline] bfq\n").fine(&CHECK);
        with("none\n").fine(&CHECK);
    }
}
