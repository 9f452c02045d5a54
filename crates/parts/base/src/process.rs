//! Which process it is, so that another one can tell later whether it is gone.

/// The boot and the process namespace: only there the number of a process means anything. Empty if that is not known.
pub fn namespace() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let space = std::fs::read_link("/proc/self/ns/pid");
    match (boot, space) {
        (Ok(boot), Ok(space)) => format!("{} {}", boot.trim(), space.display()),
        _ => String::new(),
    }
}

/// When a process began, in ticks since the boot; `None` if there is none of that number.
pub fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // A process that has ended, and whose parent has not asked for it yet, does nothing any more.
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    fields.get(19)?.parse().ok()
}

/// Whether the process of this number, which began then in that namespace, is gone; `None` where that cannot be known, as on another host.
pub fn is_gone(pid: u32, began: u64, in_namespace: &str) -> Option<bool> {
    let here = namespace();
    let known = !here.is_empty() && in_namespace == here;
    known.then(|| started(pid) != Some(began))
}
