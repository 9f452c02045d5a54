//! The buffer pool against the memory of the host, or of the server's control group.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use base::units::bytes;

pub const CHECK: Check = Check {
    name: "memory",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "beside the buffer pool a server needs memory for connections, caches and itself. When the host or the control group has none left, the kernel kills the server",
    source: "MySQL Reference Manual, \"How MySQL Uses Memory\" and \"Configuring InnoDB Buffer Pool Size\"; Linux kernel documentation, \"Control Group v2\" (memory.max)",
    look,
};

/// The parts of the memory that are much, and too much.
const MUCH: (f64, f64) = (0.85, 1.0);

fn look(facts: &Facts) -> Known<Seen> {
    let host = facts.host()?;
    let pool = facts
        .number("innodb_buffer_pool_size")
        .ok_or("the server has no innodb_buffer_pool_size")?;
    let (memory, of_group) = host.memory_of_server()?;
    let of = if of_group {
        "its control group allows"
    } else {
        "the host has"
    };
    let part = pool as f64 / memory.max(1) as f64;
    let figures = format!(
        "innodb_buffer_pool_size is {}, {:.0} % of the {} that {of}",
        bytes(pool),
        part * 100.0,
        bytes(memory)
    );
    let mut seen = Seen::fine(&figures);
    let severity = match part {
        p if p >= MUCH.1 => Severity::Serious,
        p if p > MUCH.0 => Severity::Warning,
        _ => return Ok(seen),
    };
    let less = ((memory / 10 * 7) >> 27) << 27;
    seen.found(severity, figures).todo(format!(
        "SET GLOBAL innodb_buffer_pool_size = {less}; and the same in its option file"
    ));
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{Made, PROCESS};

    #[test]
    fn it_fires_where_the_pool_is_too_large() {
        Made::new(&[]).fine(&CHECK);
        let pool = |gib: u64| Made::new(&[("innodb_buffer_pool_size", &(gib << 30).to_string())]);
        pool(60).fires(
            &CHECK,
            Severity::Warning,
            "94 % of the 68.72 GB that the host has",
        );
        pool(64).fires(&CHECK, Severity::Serious, "100 %");
        let group = |most: &str| {
            Made::new(&[])
                .file(&format!("proc/{PROCESS}/cgroup"), "0::/db.service\n")
                .file("sys/fs/cgroup/db.service/memory.max", most)
        };
        group("max\n").fine(&CHECK);
        group("34359738368\n").fires(&CHECK, Severity::Serious, "its control group allows");
    }
}
