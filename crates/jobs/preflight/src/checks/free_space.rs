//! How much room is left where the server writes.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use base::units::bytes;
use run::places::{INNODB_TMPDIR, TMPDIR};

pub const CHECK: Check = Check {
    name: "free-space",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "on a full file system statements fail or hang, and a binary log that cannot be written stops the server or the log",
    source: "MySQL Reference Manual, \"How MySQL Handles a Full Disk\"",
    look,
};

/// The part that is free below which it is a warning, and serious.
const LITTLE: (f64, f64) = (0.10, 0.03);

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    let mut devices = Vec::new();
    for place in facts.places(&mut seen)? {
        let fs = &place.file_system;
        // `tmpdir` has a check of its own. Some file systems do not say how large they are.
        if [TMPDIR, INNODB_TMPDIR].contains(&place.use_)
            || devices.contains(&fs.device)
            || fs.size == 0
        {
            continue;
        }
        devices.push(fs.device);
        let part = fs.free as f64 / fs.size as f64;
        let figures = format!(
            "{} ({}): {} free of {}, {:.0} %",
            place.use_,
            place.path.display(),
            bytes(fs.free),
            bytes(fs.size),
            part * 100.0
        );
        seen.saw(&figures);
        let severity = match part {
            p if p < LITTLE.1 => Severity::Serious,
            p if p < LITTLE.0 => Severity::Warning,
            _ => continue,
        };
        seen.found(severity, format!("little room is left: {figures}"));
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{GIB, Made};

    #[test]
    fn it_fires_when_little_is_left() {
        Made::new(&[]).fine(&CHECK);
        let left = |gib: u64| Made::new(&[]).file_system("data", |f| f.free = gib * GIB);
        left(101).fine(&CHECK);
        left(90).fires(&CHECK, Severity::Warning, "little room");
        left(20).fires(&CHECK, Severity::Serious, "little room");
        let unknown = Made::new(&[]).file_system("data", |f| (f.free, f.size) = (0, 0));
        unknown.fine(&CHECK);
    }
}
