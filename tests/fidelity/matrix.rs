//! Everything that a server holds, case by case (`testkit::matrix`), and what of it is another on a copy: by import mode, as the
//! servers see it. `./dev bench matrix` makes docs/matrix.md of the same cases.

use crate::kit::{Pair, Tool, both};
use testkit::matrix::{Case, cases};
use testkit::{Install, Kind};

/// What came of each case: the same, or what differs. Whatever is another is named by the load or the dump.
fn by_mode(pair: &Pair, mode: &str) {
    let all = cases(pair.kind);
    let clear = |server: &testkit::Server| {
        let drop = all
            .iter()
            .map(|c| format!("DROP DATABASE IF EXISTS {}; ", c.schema()));
        server
            .script(drop.collect::<String>().as_bytes())
            .expect("an empty server");
        if server.kind() == Kind::MySql {
            // It may be there from the other mode.
            let _ = server.script(b"DROP TABLESPACE mx_space");
        }
    };
    clear(pair.source());
    clear(pair.target());
    let install = Install::find(pair.kind).expect("a server");
    for case in &all {
        case.fill(&install, &pair.source().socket())
            .unwrap_or_else(|e| panic!("{e}"));
    }
    let dump = Tool::new([
        "dump",
        "--user",
        "root",
        "--json",
        "--schemas",
        "mx_*",
        "--socket",
    ])
    .arg(pair.source().socket())
    .arg("--to")
    .arg(pair.path("a"))
    .run()
    .code(3);
    let load = Tool::new([
        "load",
        "--user",
        "root",
        "--json",
        "--skip-binlog",
        "--import-mode",
        mode,
        "--socket",
    ])
    .arg(pair.target().socket())
    .arg(pair.path("a"))
    .run()
    .code(3);
    // A table whose rows were refused keeps the journal there, for --resume.
    pair.target()
        .script(b"DROP TABLE IF EXISTS mx_01.penstock_load_journal")
        .expect("dropped");
    // What the archive lacks is said by the load again.
    let mut named = Vec::new();
    for (done, keys) in [
        (&dump, &["exceptions"][..]),
        (&load, &["exceptions", "dumped_with"]),
    ] {
        let summary = done.summary();
        for key in keys {
            let list = summary[*key].as_array().cloned().unwrap_or_default();
            named.extend(
                list.iter()
                    .map(|text| text.as_str().unwrap_or_default().to_owned()),
            );
        }
    }
    let is_named = |case: &Case| named.iter().any(|text| text.contains(&case.schema()));
    let mut wrong = Vec::new();
    let mut exact = 0;
    for case in &all {
        let difference = case.difference(&pair.source().options(), &pair.target().options());
        match difference.unwrap_or_else(|e| panic!("{}: {e}", case.name)) {
            None => exact += 1,
            Some(_) if is_named(case) => {}
            Some(what) => wrong.push(format!("{}: {what}", case.name)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{mode}: {} of {} are another, and nothing was said:\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n")
    );
    assert!(
        exact * 10 > all.len() * 8,
        "{mode}: {exact} of {}",
        all.len()
    );
    clear(pair.source());
    clear(pair.target());
}

both!(by_sql);
fn by_sql(pair: &Pair) {
    by_mode(pair, "sql");
}

both!(as_tablespaces);
fn as_tablespaces(pair: &Pair) {
    by_mode(pair, "tablespace");
}
