//! What must hold after tables were imported as tablespaces: rows, indexes and definitions as if
//! they had been loaded by SQL, and nothing of the load left on the server or in its data
//! directory.

use super::Pair;
use std::path::PathBuf;
use testkit::Server;

/// Files of a load in the data directory.
pub fn leftovers(server: &Server) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for directory in [server.datadir(), server.datadir().join("f")] {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("penstock-") || name.ends_with(".cfg") {
                all.push(path);
            }
        }
    }
    all
}

const TABLES: &str = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'f' \
    AND table_type = 'BASE TABLE' AND engine = 'InnoDB'";

/// The schema `f` is equal in every row and definition; nothing is left; `CHECK TABLE` finds
/// nothing.
#[track_caller]
pub fn equal(pair: &Pair, target: &Server, when: &str) {
    let sums = testkit::checksum::compare(
        &pair.source().options(),
        &target.options(),
        &["f".to_owned()],
    );
    let sums = sums.expect("checksums");
    assert!(
        sums.differences.is_empty() && sums.compared > 0,
        "{when}: {:#?}",
        sums.differences
    );
    for row in target.client(TABLES).expect("tables") {
        let name = row[0].clone().expect("a name");
        let check = target.client(&format!("CHECK TABLE f.`{name}` EXTENDED"));
        let check = check.expect("a check");
        let last = check.last().expect("an answer");
        assert_eq!(
            last[3].as_deref(),
            Some("OK"),
            "{when}: {check:?}\n{}",
            target.log()
        );
    }
    assert_eq!(leftovers(target), Vec::<PathBuf>::new(), "{when}");
    let journal =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";
    assert_eq!(target.value(journal).expect("a count"), "0", "{when}");
}

/// The strings of a JSON list.
pub fn names(list: &serde_json::Value) -> Vec<String> {
    let list = list.as_array().expect("a list");
    let name = |v: &serde_json::Value| v.as_str().expect("a name").to_owned();
    list.iter().map(name).collect()
}
