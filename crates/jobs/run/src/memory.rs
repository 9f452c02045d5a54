//! How much memory the server's host can spare for a larger buffer pool.
//!
//! There is an answer only where it can be known: over a unix socket, where the kernel names the
//! process at the other end, and with the limit of that process (cgroup) included. In doubt the answer
//! is `None`: a server that is killed because memory runs out while its redo log is off is lost.

use std::path::Path;
use wire::Conn;

/// Bytes that the server could still take, before any headroom.
pub fn spare(conn: &Conn) -> Option<u64> {
    let pid = conn.peer_process()?;
    let proc = Path::new("/proc").join(pid.to_string());
    // With a socket that systemd opened, the other end is not the server.
    if !is_server(&std::fs::read(proc.join("cmdline")).ok()?) {
        return None;
    }
    let host = available(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = std::fs::read_to_string(proc.join("cgroup")).ok()?;
    Some(host.min(limit(&groups, Path::new("/sys/fs/cgroup"))?))
}

/// Whether a command line is a server's; a dynamic loader may come before the program's name.
fn is_server(cmdline: &[u8]) -> bool {
    cmdline.split(|b| *b == 0).take(4).any(|arg| {
        let name = arg.rsplit(|b| *b == b'/').next().unwrap_or_default();
        [&b"mysqld"[..], b"mariadbd"].contains(&name)
    })
}

/// Bytes of memory available on the host, by `/proc/meminfo`.
pub fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// What the control groups still allow; `u64::MAX` without a limit, `None` if the limit cannot be read.
fn limit(groups: &str, root: &Path) -> Option<u64> {
    least(groups, root, |most, used| Some(most.saturating_sub(used?)))
}

/// What the control groups allow in all, with what is used already; `u64::MAX` without a limit, `None` if the limit
/// cannot be read. `groups` is a process's `/proc/PID/cgroup`, `root` is `/sys/fs/cgroup`.
pub fn allowed(groups: &str, root: &Path) -> Option<u64> {
    least(groups, root, |most, _| Some(most))
}

/// The least of a figure over all limits of all groups; it is made of a limit and of what is used.
fn least(
    groups: &str,
    root: &Path,
    figure: impl Fn(u64, Option<u64>) -> Option<u64>,
) -> Option<u64> {
    let mut least = u64::MAX;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (base, files) = if controllers.is_empty() {
            (
                root.to_owned(),
                [
                    ("memory.max", "memory.current"),
                    ("memory.high", "memory.current"),
                ],
            )
        } else if controllers.split(',').any(|c| c == "memory") {
            let files = ("memory.limit_in_bytes", "memory.usage_in_bytes");
            (root.join("memory"), [files, files])
        } else {
            continue;
        };
        // A group outside our own view has limits that we cannot read.
        if path.contains("..") {
            return None;
        }
        let mut at = base.join(path.trim_start_matches('/'));
        loop {
            for (most, used) in files {
                let read = |file| std::fs::read_to_string(at.join(file)).ok();
                let most = read(most).and_then(|t| t.trim().parse::<u64>().ok());
                let used = read(used).and_then(|t| t.trim().parse::<u64>().ok());
                if let Some(found) = most.and_then(|most| figure(most, used)) {
                    least = least.min(found);
                }
            }
            if at == base || !at.pop() || !at.starts_with(&base) {
                break;
            }
        }
    }
    Some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_all_parent_groups_counts() {
        let root = tempfile::tempdir().expect("a directory");
        let inner = root.path().join("system.slice/db.service");
        std::fs::create_dir_all(&inner).expect("directories");
        let write = |at: &Path, name: &str, text: &str| {
            std::fs::write(at.join(name), text).expect("written")
        };
        write(&inner, "memory.max", "max\n");
        write(&inner, "memory.current", "600\n");
        assert_eq!(
            limit("0::/system.slice/db.service\n", root.path()),
            Some(u64::MAX)
        );
        let outer = root.path().join("system.slice");
        write(&outer, "memory.max", "1000\n");
        write(&outer, "memory.current", "700\n");
        assert_eq!(
            limit("0::/system.slice/db.service\n", root.path()),
            Some(300)
        );
        assert_eq!(
            allowed("0::/system.slice/db.service\n", root.path()),
            Some(1000)
        );
        assert_eq!(limit("0::/../../other\n", root.path()), None);
    }

    #[test]
    fn a_server_is_known_by_its_command_line() {
        assert!(is_server(b"/usr/sbin/mariadbd\0--datadir=/d\0"));
        assert!(is_server(
            b"/lib/ld.so\0--library-path\0/lib\0/usr/sbin/mysqld\0"
        ));
        assert!(!is_server(b"/sbin/init\0"));
        assert!(!is_server(
            b"/usr/bin/docker-proxy\0-x\0/run/mysqld/mysqld.sock\0"
        ));
    }

    #[test]
    fn available_memory_is_read_in_kibibytes() {
        assert_eq!(
            available("MemTotal: 9 kB\nMemAvailable:    2 kB\n"),
            Some(2048)
        );
        assert_eq!(available("MemTotal: 9 kB\n"), None);
    }
}
