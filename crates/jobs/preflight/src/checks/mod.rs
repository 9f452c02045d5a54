//! All checks, one file each: why it is looked at, the source that says so, and a test of both sides with a host and a server
//! that are made up.

mod barriers;
mod binary_log;
mod binlog_archive;
mod dirty_pages;
mod disks;
mod dump;
mod dump_space;
mod durability;
mod engines;
mod file_system;
mod free_space;
mod huge_pages;
mod import_settings;
mod keys;
mod last_backup;
mod load;
mod log_places;
mod long_statements;
mod long_transactions;
mod memory;
mod numa;
mod open_files;
mod raid;
mod read_ahead;
mod replica;
mod replication;
mod scheduler;
mod settings_journal;
mod striping;
mod swap;
mod thin_pool;
mod tmpdir;
mod version;
mod working_set;

use crate::check::{Check, Seen};
use crate::device::Device;
use crate::facts::{Facts, Known, Place};

/// All checks, in the order in which they are shown.
static ALL: [Check; 34] = [
    file_system::CHECK,
    barriers::CHECK,
    free_space::CHECK,
    tmpdir::CHECK,
    disks::CHECK,
    log_places::CHECK,
    scheduler::CHECK,
    read_ahead::CHECK,
    raid::CHECK,
    striping::CHECK,
    thin_pool::CHECK,
    memory::CHECK,
    swap::CHECK,
    huge_pages::CHECK,
    numa::CHECK,
    dirty_pages::CHECK,
    open_files::CHECK,
    durability::CHECK,
    import_settings::CHECK,
    settings_journal::CHECK,
    last_backup::CHECK,
    binary_log::CHECK,
    working_set::CHECK,
    version::CHECK,
    dump::CHECK,
    dump_space::CHECK,
    engines::CHECK,
    keys::CHECK,
    long_statements::CHECK,
    long_transactions::CHECK,
    replication::CHECK,
    load::CHECK,
    replica::CHECK,
    binlog_archive::CHECK,
];

/// All checks, in the order in which they are shown.
pub fn all() -> impl Iterator<Item = &'static Check> {
    ALL.iter()
}

/// Directories with their uses in words; one that has several uses comes once, with the first of them.
fn together(places: &[Place]) -> Vec<(String, &Place)> {
    let mut all: Vec<(Vec<&str>, &Place)> = Vec::new();
    for place in places {
        match all.iter_mut().find(|(_, p)| p.path == place.path) {
            Some((uses, _)) => uses.push(place.use_),
            None => all.push((vec![place.use_], place)),
        }
    }
    let named = |(uses, place): (Vec<&str>, _)| -> (String, &Place) {
        let place: &Place = place;
        (
            format!("{} ({})", uses.join(", "), place.path.display()),
            place,
        )
    };
    all.into_iter().map(named).collect()
}

/// Each directory with its device and everything below that; what cannot be seen is said. Memory and what other hosts have
/// have no device here.
fn layers<'a>(facts: &'a Facts, seen: &mut Seen) -> Known<Vec<(&'a Place, Vec<Device>)>> {
    let host = facts.host()?;
    let mut all = Vec::new();
    for place in facts.places(seen)? {
        if place.file_system.has_no_device() {
            seen.saw(format!(
                "{} ({}): {}, no device of this host",
                place.use_,
                place.path.display(),
                place.file_system.kind
            ));
            continue;
        }
        match host.device(place.file_system.device) {
            Ok(device) => all.push((place, device.stack())),
            Err(why) => seen.not_seen(unseen(place, &why)),
        }
    }
    Ok(all)
}

/// The disks below a directory; none below memory and what other hosts have.
fn disks_of(facts: &Facts, place: &Place) -> Known<Vec<Device>> {
    if place.file_system.has_no_device() {
        return Ok(Vec::new());
    }
    let device = facts.host()?.device(place.file_system.device);
    device.map(|d| d.disks()).map_err(|why| unseen(place, &why))
}

fn unseen(place: &Place, why: &str) -> String {
    format!(
        "the device below {} ({}, {}): {why}",
        place.use_,
        place.path.display(),
        place.file_system.kind
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Group;
    use std::collections::BTreeSet;

    #[test]
    fn every_check_says_why_and_where_that_stands() {
        let names: BTreeSet<&str> = all().map(|c| c.name).collect();
        assert_eq!(names.len(), all().count(), "two checks have one name");
        for check in all() {
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(check.name.chars().all(plain), "{}", check.name);
            assert!(
                check.reason.len() > 40 && !check.reason.ends_with('.'),
                "{}",
                check.name
            );
            assert!(
                check.source.contains('"') || check.source.starts_with("penstock, docs/"),
                "{}",
                check.name
            );
            assert!(
                check.job.is_none() || check.group == Group::Jobs,
                "{}",
                check.name
            );
        }
    }

    /// Each is in a file of its name, which has its test.
    #[test]
    fn every_check_is_one_file_with_a_test() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/checks");
        let files: Vec<String> = std::fs::read_dir(&here)
            .expect("the checks")
            .map(|f| {
                f.expect("a file")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|f| f != "mod.rs")
            .collect();
        assert_eq!(files.len(), all().count());
        for check in all() {
            let file = here.join(format!("{}.rs", check.name.replace('-', "_")));
            let text = std::fs::read_to_string(&file).expect(check.name);
            assert!(
                text.contains(".fires("),
                "{}: no test that it fires",
                check.name
            );
            assert!(
                text.contains(".fine(&CHECK)"),
                "{}: no test that it does not",
                check.name
            );
        }
    }
}
