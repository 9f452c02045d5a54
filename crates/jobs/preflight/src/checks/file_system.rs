//! Which file system each directory is on.

use super::together;
use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known};
use base::units::bytes;
use run::places::{INNODB_TMPDIR, TMPDIR};

pub const CHECK: Check = Check {
    name: "file-system",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "a server's files need a file system that keeps what was synced: memory, the overlay of a container and a network file system do not, or only as well as another host does",
    source: "MySQL Reference Manual, \"Using NFS with MySQL\"; Linux kernel documentation, \"Tmpfs\" and \"Overlay Filesystem\"",
    look,
};

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    for (at, place) in together(facts.places(&mut seen)?) {
        let fs = &place.file_system;
        seen.saw(format!(
            "{at}: {fs}, {} free of {}",
            bytes(fs.free),
            bytes(fs.size)
        ));
        // Temporary files are in `tmpdir`: nothing of them has to survive.
        let temporary = [TMPDIR, INNODB_TMPDIR].contains(&place.use_);
        if let Some(remark) = fs.remark().filter(|_| !temporary) {
            let severity = match fs.kind.as_str() {
                "tmpfs" | "ramfs" => Severity::Serious,
                _ => Severity::Warning,
            };
            seen.found(severity, format!("{at} is on {}: {remark}", fs.kind))
                .todo("move it to a local file system, such as ext4 or XFS on a volume of its own");
        }
        if fs.read_only {
            seen.found(
                Severity::Serious,
                format!("{at}: its file system is mounted read only"),
            )
            .todo("look into the kernel's log (dmesg) for the error that made it so");
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::Made;

    #[test]
    fn it_fires_where_files_do_not_last() {
        Made::new(&[]).fine(&CHECK);
        let on = |kind: &str| Made::new(&[]).file_system("data", |f| kind.clone_into(&mut f.kind));
        on("tmpfs").fires(&CHECK, Severity::Serious, "memory, not a disk");
        on("nfs4").fires(&CHECK, Severity::Warning, "network file system");
        on("overlay").fires(&CHECK, Severity::Warning, "container");
        let read_only = Made::new(&[]).file_system("redo log", |f| f.read_only = true);
        read_only.fires(&CHECK, Severity::Serious, "read only");
        // Temporary files may be in memory.
        Made::new(&[])
            .file_system("tmpdir", |f| f.kind = "tmpfs".to_owned())
            .fine(&CHECK);
        Made::new(&[]).remote().unseen(&CHECK, "not on this host");
        let hidden = Made::new(&[]).but(|f| f.places_unseen = vec!["/srv/x: no".to_owned()]);
        hidden.unseen(&CHECK, "/srv/x: no");
    }
}
