//! Whether the server's memory may be swapped, and is.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use base::units::bytes;

pub const CHECK: Check = Check {
    name: "swap",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "a page of the buffer pool that was swapped is read twice from a disk. A high swappiness swaps it while the kernel still keeps files in its cache",
    source: "Linux kernel documentation, \"Documentation for /proc/sys/vm/\" (swappiness); MariaDB Knowledge Base, \"Configuring Swappiness\"",
    look,
};

/// More than this is much: MariaDB's page says 1, and no kernel's default is below 60.
const MUCH: u64 = 10;

/// Less of the server than this in swap is what it does not need.
const SWAPPED: u64 = 64 << 20;

fn look(facts: &Facts) -> Known<Seen> {
    let host = facts.host()?;
    let (swappiness, swap) = (host.sysctl("vm/swappiness")?, host.memory("SwapTotal")?);
    let mut seen = Seen::fine(format!(
        "vm.swappiness is {swappiness}, swap is {}",
        bytes(swap)
    ));
    if swap > 0 && swappiness > MUCH {
        seen.found(
            Severity::Warning,
            format!(
                "vm.swappiness is {swappiness}, and there are {} of swap",
                bytes(swap)
            ),
        )
        .todo("sysctl -w vm.swappiness=1, and vm.swappiness = 1 in a file of /etc/sysctl.d");
    }
    let status = host.of_process("status")?;
    let own = status.lines().find_map(|l| l.strip_prefix("VmSwap:"));
    let own = own.and_then(|v| v.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    match own {
        None => seen.not_seen("how much of the server is in swap is not in its /proc/PID/status"),
        Some(kib) => {
            let swapped = kib.saturating_mul(1024);
            seen.saw(format!("{} of the server are in swap", bytes(swapped)));
            if swapped > SWAPPED {
                seen.found(
                    Severity::Warning,
                    format!("{} of the server's memory are in swap", bytes(swapped)),
                )
                .todo("lower innodb_buffer_pool_size, or give the host more memory");
            }
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{Made, PROCESS};

    #[test]
    fn it_fires_where_the_server_may_be_swapped() {
        Made::new(&[]).fine(&CHECK);
        let meminfo = "MemTotal: 67108864 kB\nSwapTotal: 8388608 kB\n";
        let with = |swappiness: &str| {
            Made::new(&[])
                .file("proc/meminfo", meminfo)
                .file("proc/sys/vm/swappiness", swappiness)
        };
        with("60\n").fires(&CHECK, Severity::Warning, "vm.swappiness is 60");
        with("1\n").fine(&CHECK);
        // Without swap it means little.
        Made::new(&[])
            .file("proc/sys/vm/swappiness", "60\n")
            .fine(&CHECK);
        let status = format!("proc/{PROCESS}/status");
        let swapped = Made::new(&[]).file(&status, "VmSwap:\t  900000 kB\n");
        swapped.fires(
            &CHECK,
            Severity::Warning,
            "921.60 MB of the server's memory",
        );
        Made::new(&[])
            .file(&status, "Name:\tx\n")
            .unseen(&CHECK, "/proc/PID/status");
    }
}
