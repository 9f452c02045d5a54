//! Schemas that tests fill a server with, as SQL scripts in `fixtures/`.
//!
//! In a script `{COUNT}` stands for a derived table that counts (see [`COUNT`]). What only one
//! flavour has is in a separate script.

use super::{COUNT, Pair};
use testkit::Kind;

/// A script of `fixtures/`, by its name without the extension.
macro_rules! fixture {
    ($name:literal) => {
        $crate::kit::fixtures::script(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/fixtures/",
            $name,
            ".sql"
        )))
    };
}
pub(crate) use fixture;

/// Fills in what a script leaves open.
pub fn script(text: &str) -> String {
    text.replace("{COUNT}", COUNT)
}

/// A schema `f` with every sort of table that matters to tablespaces. Some can only be imported by
/// SQL: see [`imported_as_tablespaces`] for the others.
pub fn all_tables(pair: &Pair) {
    for text in all_tables_scripts(pair.kind) {
        pair.fill(&text);
    }
}

/// The scripts that make the schema of [`all_tables`].
pub fn all_tables_scripts(kind: Kind) -> [String; 2] {
    // More members than a row of a result has columns.
    let members: Vec<String> = (0..5000).map(|n| format!("'mä{n}'")).collect();
    let all = fixture!("all_tables").replace("{MEMBERS}", &members.join(","));
    let own = match kind.flavour() {
        Kind::MySql => fixture!("all_tables_mysql"),
        _ => fixture!("all_tables_mariadb"),
    };
    [all, format!("USE f; {own}")]
}

/// Those of [`all_tables`] that are imported as tablespaces.
pub fn imported_as_tablespaces(pair: &Pair) -> Vec<&'static str> {
    let mut all = vec![
        "`f`.`beginning`",
        "`f`.`child`",
        "`f`.`con`",
        "`f`.`down`",
        "`f`.`down_all`",
        "`f`.`filled`",
        "`f`.`keyed`",
        "`f`.`latin`",
        "`f`.`many`",
        "`f`.`no_key`",
        "`f`.`no_primary`",
        "`f`.`odd name-#.$`",
        "`f`.`parts`",
        "`f`.`scripts`",
        "`f`.`sorted_elsewhere`",
        "`f`.`wide_set`",
        "`f`.`worded`",
        "`f`.`worked_out`",
        "`f`.`öd`",
        "`f`.`受注`",
    ];
    if pair.is_mysql() {
        all.extend(["`f`.`documents`", "`f`.`functional`"]);
    } else {
        all.push("`f`.`of_mariadb`");
    }
    all.sort_unstable();
    all
}

/// An archive `a` of three tables in a schema `f`, which is enough for everything to overlap, and
/// of one that is imported by SQL. The schema before them, `a-f`, has another name in file names
/// and gets the load journal.
pub fn three_tables(pair: &Pair) {
    pair.fill(&fixture!("three_tables"));
    pair.dump("a", &["--chunk-size", "256k"]).ok();
}
