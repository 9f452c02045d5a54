//! How much written data the kernel may keep in memory.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use crate::host::Host;
use base::units::bytes;

pub const CHECK: Check = Check {
    name: "dirty-pages",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "what binary logs, dumps and sorts write stays in the kernel's memory up to these limits. Where they are high, gigabytes are written at once, and commits wait behind them",
    source: "Linux kernel documentation, \"Documentation for /proc/sys/vm/\" (dirty_background_ratio, dirty_ratio)",
    look,
};

/// Bytes at which writing begins that are much: seconds of a fast disk.
const BEGIN: u64 = 2 << 30;

/// Bytes at which writers have to wait that are much.
const WAIT: u64 = 8 << 30;

fn look(facts: &Facts) -> Known<Seen> {
    let host = facts.host()?;
    let begin = limit(host, "dirty_background")?;
    let wait = limit(host, "dirty")?;
    let figures = format!("writing begins at {begin}, and writers wait at {wait}");
    let mut seen = Seen::fine(&figures);
    let severity = match (begin.bytes > BEGIN, wait.bytes > WAIT) {
        (_, true) => Severity::Warning,
        (true, false) => Severity::Info,
        (false, false) => return Ok(seen),
    };
    seen.found(severity, format!("the kernel keeps much of what is written in memory: {figures}"))
        .todo("sysctl -w vm.dirty_background_bytes=268435456 vm.dirty_bytes=1073741824, and the same in a file of /etc/sysctl.d");
    Ok(seen)
}

/// A limit, and how it is set.
struct Limit {
    bytes: u64,
    set: String,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", bytes(self.bytes), self.set)
    }
}

/// One of the two is set, and the other is 0.
fn limit(host: &Host, name: &str) -> Known<Limit> {
    let fixed = host.sysctl(&format!("vm/{name}_bytes"))?;
    if fixed > 0 {
        return Ok(Limit {
            bytes: fixed,
            set: format!("vm.{name}_bytes"),
        });
    }
    let ratio = host.sysctl(&format!("vm/{name}_ratio"))?;
    // Of what is free or can be taken back.
    let available = host.memory("MemAvailable")?;
    Ok(Limit {
        bytes: available / 100 * ratio,
        set: format!("vm.{name}_ratio = {ratio} %"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    fn ratios(background: &str, all: &str) -> Made {
        Made::new(&[])
            .file("proc/sys/vm/dirty_bytes", "0\n")
            .file("proc/sys/vm/dirty_background_bytes", "0\n")
            .file("proc/sys/vm/dirty_ratio", all)
            .file("proc/sys/vm/dirty_background_ratio", background)
    }

    #[test]
    fn it_fires_where_much_is_kept() {
        Made::new(&[]).fine(&CHECK);
        // The kernel's defaults, on 64 GB.
        let seen = ratios("10\n", "20\n").fires(&CHECK, Severity::Warning, "12.29 GB");
        assert!(
            seen.evidence[0].contains("vm.dirty_ratio = 20 %"),
            "{seen:?}"
        );
        ratios("5\n", "10\n").fires(&CHECK, Severity::Info, "much of what is written");
        ratios("1\n", "2\n").fine(&CHECK);
    }
}
