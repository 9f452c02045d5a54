//! Whether a sync of the file system reaches the disk.

use super::together;
use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use run::places::{INNODB_TMPDIR, TMPDIR};

pub const CHECK: Check = Check {
    name: "barriers",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "without barriers a sync does not empty the disk's cache: a loss of power loses commits that were confirmed, and can damage the file system",
    source: "Linux kernel documentation, \"ext4 General Information\" (barrier, nobarrier); xfs(5) (nobarrier, removed in Linux 4.19)",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    for (at, place) in together(facts.places(&mut seen)?) {
        if [TMPDIR, INNODB_TMPDIR].contains(&place.use_) {
            continue;
        }
        let options = &place.file_system.options;
        seen.saw(format!("{at}: {options}"));
        let off = |o: &&str| ["nobarrier", "barrier=0", "barrier=off", "barrier=none"].contains(o);
        if let Some(option) = options.split(',').find(off) {
            let what = format!("{at}: its file system is mounted with {option}");
            seen.found(Severity::Serious, what)
                .todo("mount -o remount,barrier=1 of its mount point")
                .todo("remove the option from /etc/fstab");
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_where_barriers_are_off() {
        Made::new(&[]).fine(&CHECK);
        for option in ["nobarrier", "barrier=0"] {
            let made = Made::new(&[]).file_system("data", |f| f.options = format!("rw,{option}"));
            made.fires(&CHECK, Severity::Serious, option);
        }
        let on = Made::new(&[]).file_system("data", |f| f.options = "rw,barrier=1".to_owned());
        on.fine(&CHECK);
        // Nothing in a directory for temporary files has to last.
        let temporary =
            Made::new(&[]).file_system("tmpdir", |f| f.options = "nobarrier".to_owned());
        temporary.fine(&CHECK);
    }
}
