//! Whether there is room for temporary files, and how fast it is.

use crate::check::{Check, Group, Seen, Severity};
use crate::facts::{Facts, Known, Place, size};
use base::units::bytes;
use run::places::{DATA, INNODB_TMPDIR, TMPDIR};

pub const CHECK: Check = Check {
    name: "tmpdir",
    group: Group::Host,
    job: None,
    needs: None,
    reason: "an index build (also those at the end of a load) sorts in innodb_tmpdir, or in tmpdir, and needs up to the size of the table; large queries sort there, too. In memory it takes that from the buffer pool",
    source: "MySQL Reference Manual, \"Online DDL Space Requirements\" and \"Where MySQL Stores Temporary Files\"; MariaDB Knowledge Base, \"InnoDB System Variables\" (innodb_tmpdir)",
    look,
};

/// Less room than this is too little for anything.
const LEAST: u64 = 256 << 20;

fn look(facts: &Facts) -> Known<Seen> {
    let mut seen = Seen::new();
    let places = facts.places(&mut seen)?;
    let of = |use_: &str| {
        places
            .iter()
            .filter(move |p| p.use_ == use_)
            .collect::<Vec<&Place>>()
    };
    let (usual, of_indexes) = (of(TMPDIR), of(INNODB_TMPDIR));
    let all: Vec<&Place> = usual.iter().chain(&of_indexes).copied().collect();
    if all.is_empty() {
        return Err("the directory of its tmpdir cannot be looked at".to_owned());
    }
    let largest = match facts.tables() {
        Ok(tables) => tables.first().map(|t| (t.qualified(), size(t))),
        Err(why) => {
            seen.not_seen(format!("the size of the largest table: {why}"));
            None
        }
    };
    if let Some((name, bytes_of_it)) = &largest {
        seen.saw(format!(
            "the largest table is {name} with about {}",
            bytes(*bytes_of_it)
        ));
    }
    // Where there are several for indexes or else for all, the server takes one after the other.
    let sorting = if of_indexes.is_empty() {
        &usual
    } else {
        &of_indexes
    };
    let data = places.iter().find(|p| p.use_ == DATA);
    for place in all {
        let fs = &place.file_system;
        let at = format!("{} ({})", place.use_, place.path.display());
        seen.saw(format!(
            "{at}: {}, {} free of {}",
            fs.kind,
            bytes(fs.free),
            bytes(fs.size)
        ));
        if fs.free < LEAST {
            seen.found(
                Severity::Serious,
                format!("{at} has {} left", bytes(fs.free)),
            );
        }
        let sorts = sorting.iter().any(|p| p.path == place.path);
        if let Some((name, needed)) = largest
            .as_ref()
            .filter(|(_, n)| sorts && fs.free < *n && fs.free >= LEAST)
        {
            let what = format!(
                "{at} has {} left: an index of table {name} (about {}) may not fit while it is built",
                bytes(fs.free),
                bytes(*needed)
            );
            let finding = seen.found(Severity::Warning, what);
            if facts.variable("innodb_tmpdir").is_some() {
                finding.todo(
                    "SET GLOBAL innodb_tmpdir = '/a/directory/with/room'; for index builds alone",
                );
            }
            finding.todo("tmpdir = /a/directory/with/room in its option file, and a restart");
        }
        if matches!(fs.kind.as_str(), "tmpfs" | "ramfs") {
            let what = format!(
                "{at} is memory ({}): what is sorted there takes up to {} from the buffer pool's host",
                fs.kind,
                bytes(fs.size)
            );
            seen.found(Severity::Info, what);
        }
        if slower(facts, place, data) {
            seen.found(
                Severity::Warning,
                format!("{at} is on a disk that turns, and the data are not"),
            )
            .todo("put it beside the data, or on another fast volume");
        }
    }
    Ok(seen)
}

/// Whether it turns and the data do not.
fn slower(facts: &Facts, place: &Place, data: Option<&Place>) -> bool {
    let turns = |p: &Place| {
        let device = facts.host().ok()?.device(p.file_system.device).ok()?;
        Some(
            device
                .disks()
                .iter()
                .any(|d| d.is_rotational() == Some(true)),
        )
    };
    turns(place) == Some(true) && data.and_then(turns) == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{GIB, Made, table};

    #[test]
    fn it_fires_where_it_is_small_or_slow() {
        Made::new(&[]).fine(&CHECK);
        let free = |bytes: u64| Made::new(&[]).file_system("tmpdir", |f| f.free = bytes);
        free(GIB / 2).fires(&CHECK, Severity::Warning, "`shop`.`t`");
        free(1 << 20).fires(&CHECK, Severity::Serious, "1.05 MB left");
        free(GIB / 2).tables(vec![table("t", 1 << 20)]).fine(&CHECK);
        let memory = Made::new(&[]).file_system("tmpdir", |f| f.kind = "tmpfs".to_owned());
        memory.fires(&CHECK, Severity::Info, "is memory");
        let slow = Made::new(&[])
            .disk("sda", (8, 0), true)
            .place("tmpdir", (8, 0));
        slow.fires(&CHECK, Severity::Warning, "a disk that turns");
        // Indexes are built in a directory of their own.
        let own = || free(GIB / 2).place("innodb_tmpdir", (259, 1));
        own().fine(&CHECK);
        own()
            .file_system("innodb_tmpdir", |f| f.free = GIB / 2)
            .fires(
                &CHECK,
                Severity::Warning,
                "innodb_tmpdir (/srv/innodb_tmpdir) has",
            );
        Made::new(&[])
            .but(|f| f.catalog = Err("no".to_owned()))
            .unseen(&CHECK, "the size of the largest table: no");
    }
}
