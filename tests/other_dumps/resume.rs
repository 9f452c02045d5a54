//! A load of a script that was killed at any failpoint resumes.

use super::*;
use crate::kit::fixtures::fixture;
use crate::kit::{few, thorough};

const JOURNAL: &str =
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";

both!(killed_at_any_failpoint);
fn killed_at_any_failpoint(pair: &Pair) {
    pair.fill(&fixture!("other_dumps_resume"));
    let mut text = dumped(pair, &["--routines", "--databases", "a1", "b2"]);
    // Written by hand: rows with expressions, alone and among others, and an INSERT of another
    // form.
    let plain = String::from_utf8(text).expect("text");
    let (at, end) = (plain.find("INSERT INTO `f`").expect("rows"), ";\n");
    let after = at + plain[at..].find(end).expect("an end") + 1;
    let by_hand = "INSERT INTO `f` VALUES (1,SHA2('x', 256));\nINSERT INTO `f` \
        VALUES (2,'plain');\nINSERT INTO `f` VALUES (3,SHA2('y', 256));";
    let other = plain[after..].replace("INSERT INTO `i` VALUES", "INSERT IGNORE INTO `i` VALUES");
    text = format!("{}{by_hand}{other}", &plain[..at]).into_bytes();
    let script = file(pair, "d.sql", &text);
    let load = || loading(pair, &script, &["--defer-indexes", "all"]);
    let list = pair.path("places");
    load().env("PENSTOCK_PLACES", &list).run().ok();
    let count = std::fs::read_to_string(list)
        .expect("names")
        .lines()
        .count();
    assert!(count > 30, "there are more failpoints than {count}");
    forget(pair, &["a1", "b2"]);
    load().env("PENSTOCK_KILL_AT", "20").run().code(137);
    // Without --resume nothing is touched; another dump is another load.
    load().run().code(10).says(&["interrupted", "--resume"]);
    let changed = file(pair, "d.sql", [&text[..], b"-- more\n"].concat());
    loading(pair, &changed, &["--resume", "--defer-indexes", "all"])
        .run()
        .code(10)
        .says(&["another load"]);
    file(pair, "d.sql", &text);
    for at in few(pair.kind, 8, &(1..=count + 2).collect::<Vec<_>>()) {
        forget(pair, &["a1", "b2"]);
        let done = load().env("PENSTOCK_KILL_AT", at.to_string()).run();
        if done.code == 0 {
            // This run passed fewer.
            continue;
        }
        done.code(137);
        let complete = pair.target().value(JOURNAL).expect("a count") == "0"
            && pair.target_schemas().contains(&"b2".to_owned());
        if complete {
            loading(pair, &script, &["--resume", "--defer-indexes", "all"])
                .run()
                .code(10)
                .says(&["already holds"]);
        } else {
            loading(pair, &script, &["--resume", "--defer-indexes", "all"])
                .run()
                .ok();
        }
        pair.same_checksums();
        if at % 5 == 0 || complete || !thorough() {
            pair.same_definitions("a1");
            pair.same_definitions("b2");
        }
        assert_eq!(
            pair.target().value(JOURNAL).expect("a count"),
            "0",
            "killed at {at}"
        );
    }
}
