//! Whether the kernel makes huge pages of ordinary memory by itself.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};

pub const CHECK: Check = Check {
    name: "huge-pages",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "with transparent huge pages always on, the kernel stops a process to put pages together, and the memory of many connections grows; large_pages is the way to use huge pages on purpose",
    source: "Linux kernel documentation, \"Transparent Hugepage Support\"; MySQL Reference Manual, \"Enabling Large Page Support\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let host = facts.host()?;
    let Ok(text) = host.read("sys/kernel/mm/transparent_hugepage/enabled") else {
        return Ok(Seen::fine("this kernel has no transparent huge pages"));
    };
    let mut seen = Seen::fine(format!("transparent huge pages: {text}"));
    if text.contains("[always]") {
        seen.found(Severity::Warning, "transparent huge pages are always on")
            .todo("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, and transparent_hugepage=madvise on the kernel's command line");
    }
    if facts.on("large_pages") == Some(true) {
        let all = host.read("proc/meminfo")?;
        let total = all.lines().find_map(|l| l.strip_prefix("HugePages_Total:"));
        let total: u64 = total.and_then(|t| t.trim().parse().ok()).unwrap_or(0);
        seen.saw(format!(
            "large_pages is ON, and {total} huge pages are set aside"
        ));
        if total == 0 {
            seen.found(
                Severity::Warning,
                "large_pages is ON, and no huge pages are set aside: the server uses ordinary ones",
            )
            .todo("sysctl vm.nr_hugepages=N, enough for the buffer pool");
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_where_they_are_always_on() {
        Made::new(&[]).fine(&CHECK);
        const FILE: &str = "sys/kernel/mm/transparent_hugepage/enabled";
        let always = Made::new(&[]).file(FILE, "[always] madvise never\n");
        always.fires(&CHECK, Severity::Warning, "always on");
        Made::new(&[]).without(FILE).fine(&CHECK);
        let large = Made::new(&[("large_pages", "ON")]);
        large.fires(&CHECK, Severity::Warning, "no huge pages are set aside");
        let set =
            Made::new(&[("large_pages", "ON")]).file("proc/meminfo", "HugePages_Total: 900\n");
        set.fine(&CHECK);
    }
}
