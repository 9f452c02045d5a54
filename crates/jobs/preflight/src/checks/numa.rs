//! Whether the memory of the buffer pool is spread over the nodes of a NUMA machine.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use base::units::bytes;

pub const CHECK: Check = Check {
    name: "numa",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "a buffer pool that is larger than the memory of one node fills that node first: the kernel swaps or takes caches away there, while other nodes have memory left",
    source: "MySQL Reference Manual, \"InnoDB Startup Options and System Variables\" (innodb_numa_interleave); Linux kernel documentation, \"NUMA Memory Policy\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let host = facts.host()?;
    // Where the kernel knows no nodes, there is one.
    let online = host
        .read("sys/devices/system/node/online")
        .unwrap_or_else(|_| "0".to_owned());
    let nodes =
        count(&online).ok_or_else(|| format!("these nodes are not understood: {online}"))?;
    if nodes < 2 {
        return Ok(Seen::fine("one node"));
    }
    let pool = facts.number("innodb_buffer_pool_size");
    let pool = pool.ok_or("the server does not say its innodb_buffer_pool_size")?;
    let each = host.memory("MemTotal")? / nodes;
    let mut seen = Seen::fine(format!(
        "{nodes} nodes with about {} each, a buffer pool of {}",
        bytes(each),
        bytes(pool)
    ));
    if facts.on("innodb_numa_interleave") == Some(true) {
        seen.saw("innodb_numa_interleave is ON");
        return Ok(seen);
    }
    match host.of_process("numa_maps") {
        Ok(maps) if maps.contains(" interleave") => {
            seen.saw("memory of the process is interleaved");
            return Ok(seen);
        }
        Ok(_) => seen.saw("no memory of the process is interleaved"),
        Err(why) => seen.not_seen(format!(
            "whether its memory is interleaved by numactl: {why}"
        )),
    }
    // Half of a node is left for everything else.
    if pool > each / 2 {
        let what = format!(
            "the buffer pool ({}) does not fit well into one of {nodes} nodes ({}), and is not interleaved",
            bytes(pool),
            bytes(each)
        );
        let finding = seen.found(Severity::Warning, what);
        match facts.variable("innodb_numa_interleave") {
            Some(_) => {
                finding.todo("innodb_numa_interleave = ON in its option file, and a restart")
            }
            None => finding.todo("start the server by numactl --interleave=all"),
        };
    }
    Ok(seen)
}

/// How many numbers a list like `0-1,4` has.
fn count(list: &str) -> Option<u64> {
    let mut all = 0u64;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        all = all.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{Made, PROCESS};

    #[test]
    fn it_fires_where_the_pool_is_not_spread() {
        Made::new(&[]).fine(&CHECK);
        let two = |variables: &[(&str, &str)]| {
            Made::new(variables).file("sys/devices/system/node/online", "0-1\n")
        };
        two(&[]).fires(&CHECK, Severity::Warning, "not interleaved");
        two(&[("innodb_numa_interleave", "ON")]).fine(&CHECK);
        two(&[("innodb_buffer_pool_size", "1073741824")]).fine(&CHECK);
        let maps = "7f00 interleave:0-1 anon=1 N0=1\n";
        two(&[])
            .file(&format!("proc/{PROCESS}/numa_maps"), maps)
            .fine(&CHECK);
        two(&[])
            .without(&format!("proc/{PROCESS}/numa_maps"))
            .unseen(&CHECK, "whether its memory is interleaved");
        assert_eq!(
            (count("0-1,4"), count("3"), count("x"), count("3-1")),
            (Some(3), Some(1), None, None)
        );
    }
}
