//! A dump of files that ends early leaves the files as they were, no archive that looks complete, and nothing that the next one
//! does not remove.

use super::{HISTORY, Scene, state};
use crate::kit::{Tool, each_kind, few};
use testkit::Kind;

/// Where one can end.
const PLACES: [&str; 5] = [
    "a data directory is copied#1",
    "a server recovers the copy#1",
    "the catalog is read#1",
    "a task is taken#3",
    "the manifest is written#1",
];

each_kind!(a_dump_of_files_that_ends_early_looks_like_none; mysql, mariadb);
fn a_dump_of_files_that_ends_early_looks_like_none(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill(HISTORY);
    scene.by_sql("sql").code(3);
    scene.server.kill9().expect("it is killed");
    let datadir = scene.server.datadir();
    let before = state(&datadir);
    let dump = |name: &str| {
        scene
            .files_dump(scene.directory.path(), name, &["--recover"])
            .env("PENSTOCK_STATE", scene.path("state"))
    };
    for place in few(kind, 2, &PLACES) {
        let killed = dump("killed").env("PENSTOCK_KILL_AT", place).run();
        assert_eq!(killed.code, 137, "{place}: {}", killed.said());
        assert_eq!(state(&datadir), before, "{place}");
        let complete = place.starts_with("the manifest is written");
        // Before any row is read there is no archive.
        let begun = complete || place.starts_with("a task is taken");
        assert_eq!(scene.path("killed").exists(), begun, "{place}");
        if begun {
            let verify = Tool::new(["verify"]).arg(scene.path("killed"));
            verify.run().code(5).says(&["incomplete"]);
            std::fs::remove_dir_all(scene.path("killed")).expect("removed");
        }
        // What is complete when the signal comes is kept.
        let done = dump("stopped").interrupted_at(place);
        assert_eq!(
            done.code,
            if complete { 0 } else { 9 },
            "{place}: {}",
            done.said()
        );
        assert_eq!(scene.path("stopped").exists(), complete, "{place}");
        let _ = std::fs::remove_dir_all(scene.path("stopped"));
        assert_eq!(state(&datadir), before, "{place}");
        // What the killed one left, its server too, went with the next one.
        scene.nothing_is_left();
    }
    dump("whole").run().ok();
    assert_eq!(scene.digests("whole"), scene.digests("sql"));
    scene.nothing_is_left();
}
