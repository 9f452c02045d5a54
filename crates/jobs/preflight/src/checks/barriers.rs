//! Whether a sync of the file system reaches the disk.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use run::places::{INNODB_TMPDIR, TMPDIR};

pub const CHECK: Check = Check {
    name: "barriers",
    group: Group::Host,
    job: None,
    reason: "without barriers a sync does not empty the disk's cache: a loss of power loses commits that were confirmed, and can damage the file system",
    source: "Linux kernel documentation, \"ext4 General Information\" (barrier, nobarrier); xfs(5) (nobarrier, removed in Linux 4.19)",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    for place in facts.places()? {
        if [TMPDIR, INNODB_TMPDIR].contains(&place.use_) {
            continue;
        }
        let fs = &place.file_system;
        let off = |o: &&str| ["nobarrier", "barrier=0", "barrier=off", "barrier=none"].contains(o);
        match fs.options.split(',').find(off) {
            None => seen.saw(format!("{}: {}", fs.mount, fs.options)),
            Some(option) => {
                seen.saw(format!("{}: {}", fs.mount, fs.options));
                let what = format!("{}: {} is mounted with {option}", place.use_, fs.mount);
                if !seen.findings.iter().any(|f| {
                    f.what
                        .ends_with(&format!("{} is mounted with {option}", fs.mount))
                }) {
                    seen.found(Severity::Serious, what)
                        .todo(format!("mount -o remount,barrier=1 {}", fs.mount))
                        .todo("remove the option from /etc/fstab");
                }
            }
        }
    }
    facts
        .places_unseen
        .iter()
        .for_each(|why| seen.not_seen(why));
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
