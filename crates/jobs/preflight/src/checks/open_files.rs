//! How many files the server's process may open, against what its settings need.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use base::units::count;

pub const CHECK: Check = Check {
    name: "open-files",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "a server that may open fewer files than its settings need lowers table_open_cache and max_connections by itself, or refuses tables and connections (errno 24)",
    source: "MySQL Reference Manual, \"How MySQL Opens and Closes Tables\" and \"File Not Found and Similar Errors\"; proc_pid_limits(5)",
    look,
};

/// The part of the limit in use that is much.
const MUCH: f64 = 0.8;

fn look(facts: &Facts) -> Known<Seen> {
    let host = facts.host()?;
    let limits = host.of_process("limits")?;
    let line = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max open files"));
    let soft = line.and_then(|l| l.split_whitespace().next());
    let soft = soft.ok_or("/proc/PID/limits has no line for open files")?;
    let limit = match soft {
        "unlimited" => u64::MAX,
        n => n
            .parse()
            .map_err(|_| format!("this limit of open files is not understood: {n}"))?,
    };
    let number = |name: &str| {
        let found = facts.number(name);
        found.ok_or_else(|| format!("the server does not say its {name}"))
    };
    let (connections, tables) = (number("max_connections")?, number("table_open_cache")?);
    // By the manual: two descriptors for each entry of the cache, for MyISAM.
    let needed = 10 + connections + 2 * tables;
    let mut seen = Seen::fine(format!(
        "the process may open {soft} files; open_files_limit {}, max_connections {connections}, table_open_cache {tables} need {}",
        number("open_files_limit")?,
        count(needed)
    ));
    if limit < needed {
        let what = format!(
            "the server may open {} files, and its settings need {}",
            count(limit),
            count(needed)
        );
        seen.found(Severity::Warning, what).todo(format!(
            "LimitNOFILE={needed} in a drop-in of its service (systemctl edit), and a restart"
        ));
    }
    match std::fs::read_dir(host.path(format!("proc/{}/fd", host.process))) {
        Err(e) => seen.not_seen(format!("how many it has open: {e}")),
        Ok(list) => {
            let open = list.count() as u64;
            seen.saw(format!("{} are open", count(open)));
            if limit != u64::MAX && open as f64 > limit as f64 * MUCH {
                let what = format!(
                    "the server has {} files open, and may open {}",
                    count(open),
                    count(limit)
                );
                seen.found(Severity::Serious, what)
                    .todo("raise LimitNOFILE of its service, or lower table_open_cache");
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
    fn it_fires_where_the_limit_is_low() {
        Made::new(&[]).fine(&CHECK);
        Made::new(&[]).limits("unlimited").fine(&CHECK);
        let low = Made::new(&[]).limits("1024");
        low.fires(
            &CHECK,
            Severity::Warning,
            "1,024 files, and its settings need 8,161",
        );
        let mut full =
            Made::new(&[("table_open_cache", "1"), ("max_connections", "1")]).limits("20");
        for fd in 0..19 {
            full = full.file(&format!("proc/{PROCESS}/fd/{fd}"), "");
        }
        full.fires(&CHECK, Severity::Serious, "19 files open, and may open 20");
        Made::new(&[])
            .without(&format!("proc/{PROCESS}/limits"))
            .unseen(&CHECK, "cannot be read");
        Made::new(&[])
            .without(&format!("proc/{PROCESS}/fd"))
            .unseen(&CHECK, "how many it has open");
    }
}
