//! The buffer pool against what is read from the disk.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known, size};
use base::units::{bytes, count};

pub const CHECK: Check = Check {
    name: "working-set",
    group: Group::Server,
    job: None,
    needs: None,
    reason: "each page that is not in the buffer pool is read from the disk. The default of 128 MiB is for a first try",
    source: "MySQL Reference Manual, \"Configuring InnoDB Buffer Pool Size\" and \"Server Status Variables\" (Innodb_buffer_pool_reads, Innodb_buffer_pool_read_requests)",
    look,
};

/// The size that a server has if none is set.
const DEFAULT: u64 = 128 << 20;

/// Requests from which on their outcome says something.
const ENOUGH: u64 = 1_000_000;

/// The part of requests that go to the disk that is much.
const MUCH: f64 = 0.01;

fn look(facts: &Facts) -> Known<Seen> {
    let pool = facts
        .number("innodb_buffer_pool_size")
        .ok_or("the server has no innodb_buffer_pool_size")?;
    let mut seen = Seen::new();
    let all: Option<u64> = match facts.tables() {
        Ok(tables) => {
            let of_innodb = tables
                .iter()
                .filter(|t| t.engine.eq_ignore_ascii_case("InnoDB"));
            Some(of_innodb.map(|t| size(t)).sum())
        }
        Err(why) => {
            seen.not_seen(format!("the size of its tables: {why}"));
            None
        }
    };
    if let Some(all) = all {
        seen.saw(format!(
            "innodb_buffer_pool_size is {}, tables and indexes are about {}",
            bytes(pool),
            bytes(all)
        ));
        if pool <= DEFAULT && all > pool * 4 {
            let what = format!(
                "innodb_buffer_pool_size is {}, the default or less, and tables are about {}",
                bytes(pool),
                bytes(all)
            );
            seen.found(Severity::Warning, what)
                .todo("innodb_buffer_pool_size of 50 to 70 % of the memory, where the server has the host for itself");
        }
    }
    let counters = [
        facts.counter("innodb_buffer_pool_reads")?,
        facts.counter("innodb_buffer_pool_read_requests")?,
    ];
    if let [Some(reads), Some(requests)] = counters {
        let part = reads as f64 / requests.max(1) as f64;
        let figures = format!(
            "{} of {} requests of pages read from the disk since its start ({:.2} %)",
            count(reads),
            count(requests),
            part * 100.0
        );
        seen.saw(&figures);
        if requests >= ENOUGH && part > MUCH && all.is_none_or(|all| all > pool) {
            seen.found(Severity::Info, format!("the working set is larger than the buffer pool, or the server has just started: {figures}"))
                .todo("a larger innodb_buffer_pool_size; after a start, penstock warm");
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{GIB, Made, table};

    #[test]
    fn it_fires_where_pages_come_from_the_disk() {
        Made::new(&[]).fine(&CHECK);
        let default = Made::new(&[("innodb_buffer_pool_size", "134217728")]);
        default.fires(&CHECK, Severity::Warning, "the default or less");
        let small = Made::new(&[("innodb_buffer_pool_size", "134217728")]);
        small.tables(vec![table("t", 1 << 20)]).fine(&CHECK);
        let reads = |requests: &str| {
            let status = [
                ("innodb_buffer_pool_reads", "50000"),
                ("innodb_buffer_pool_read_requests", requests),
            ];
            Made::new(&[])
                .tables(vec![table("t", 900 * GIB)])
                .status(&status)
        };
        reads("2000000").fires(&CHECK, Severity::Info, "(2.50 %)");
        reads("200000000").fine(&CHECK);
        reads("60000").fine(&CHECK);
    }
}
