//! `warm save --pages` and `warm load --pages`: the server's own list, on a physical copy of its files and nowhere else.

use super::scene::{COLD, HOT, Scene};
use crate::kit::{Tool, both};
use std::fs;
use std::path::Path;
use testkit::Setup;

/// A server on a copy of the files of the scene's, which is stopped for that.
fn copied(scene: &mut Scene) -> Scene {
    scene.server.stop().expect("it stops");
    let directory = tempfile::tempdir().expect("a directory");
    let datadir = directory.path().join("data");
    let from = scene.server.datadir();
    let mut cp = std::process::Command::new("cp");
    let done = cp.arg("-a").arg(&from).arg(&datadir).status();
    assert!(done.expect("cp runs").success());
    // Another server: MySQL takes another UUID.
    let _ = fs::remove_file(datadir.join("auto.cnf"));
    scene.server.restart().expect("it starts");
    let server = Setup::new(scene.server.kind())
        .expect("a set-up")
        .over(&datadir)
        .args([
            "--innodb-buffer-pool-size=48M",
            "--innodb-buffer-pool-load-at-startup=OFF",
            "--innodb-buffer-pool-dump-at-shutdown=ON",
        ])
        .start()
        .expect("a server");
    Scene { server, directory }
}

fn load(scene: &Scene, file: &Path) -> Tool {
    let args = [
        "warm",
        "load",
        "--no-defaults",
        "--json",
        "--pages",
        "--from",
    ];
    scene.tool(Tool::new(args).arg(file).arg(scene.server.uri()))
}

/// Names of files in the data directory that have to do with lists.
fn lists(scene: &Scene) -> Vec<String> {
    let entries = fs::read_dir(scene.server.datadir()).expect("a directory");
    let names = entries.map(|e| {
        e.expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    let mut lists: Vec<String> = names.filter(|n| n.contains("pool")).collect();
    lists.sort();
    lists
}

fn own_list(scene: &Scene) -> Vec<u8> {
    fs::read(scene.server.datadir().join("ib_buffer_pool")).unwrap_or_default()
}

both!(a_list_fits_a_physical_copy_only; Scene::new);
fn a_list_fits_a_physical_copy_only(scene: &mut Scene) {
    let mut copy = copied(scene);
    scene.open_tables();
    for sql in HOT {
        scene.ask(sql);
    }
    let settings = scene.settings();
    let saved = scene
        .save()
        .args(["--pages", "--json"])
        .run()
        .ok()
        .summary();
    assert_eq!(scene.settings(), settings);
    assert!(saved["pages"].as_u64() > Some(150), "{saved}");
    assert!(saved["file_bytes"].as_u64() < Some(100_000), "{saved}");

    copy.chill();
    assert!(COLD.iter().all(|sql| copy.reads_of(sql) > 0));
    copy.chill();
    let (settings, list) = (copy.settings(), own_list(&copy));
    let loaded = load(&copy, &scene.file()).run().ok().summary();
    assert_eq!(loaded["marks"], loaded["marks_equal"], "{loaded}");
    // MariaDB keeps pages free, for which it would evict others.
    let pages = |of: &serde_json::Value, key: &str| of[key].as_u64().expect("pages");
    let all = pages(&loaded, "pages") + pages(&loaded, "no_room_pages");
    assert_eq!(all, pages(&saved, "pages"), "{loaded}");
    let misses: u64 = HOT.iter().map(|sql| copy.reads_of(sql)).sum();
    assert_eq!(misses, 0, "{loaded}");
    assert!(COLD.iter().any(|sql| copy.reads_of(sql) > 0));
    assert_eq!(copy.settings(), settings);
    assert!(own_list(&copy) == list, "the server's own list");
    let named: Vec<String> = lists(&copy)
        .into_iter()
        .filter(|n| n.contains("penstock"))
        .collect();
    assert!(named.is_empty(), "{named:?}");

    // A table that was made again since is left out by name; what does not fit is counted.
    copy.ask("ALTER TABLE longs ENGINE = InnoDB");
    let done = load(&copy, &scene.file())
        .args(["--budget", "2%"])
        .run()
        .code(3);
    let summary = done.summary();
    let exceptions = summary["exceptions"].to_string();
    assert!(
        exceptions.contains("odd`s/longs") && !exceptions.contains("digits"),
        "{exceptions}"
    );
    assert!(summary["no_room_pages"].as_u64() > Some(0), "{summary}");

    // A server with the same rows and other files is refused, whatever its tablespaces are called.
    // Two servers that were never asked anything else can come to the same pages: this one writes a row more.
    const ROW: &str = "INSERT INTO mysql.innodb_table_stats (database_name, table_name, last_update, n_rows, \
        clustered_index_size, sum_of_other_index_sizes) VALUES ('elsewhere', 't', NOW(), 1, 1, 1)";
    let other = Scene::behind(scene.server.kind(), ROW).expect("a server");
    let before = (other.settings(), lists(&other));
    let done = load(&other, &scene.file()).run().code(10);
    done.says(&[
        "the server's files are not those of the list",
        "without --pages",
    ]);
    assert_eq!((other.settings(), lists(&other)), before);
    // As is a file of the other kind, in both directions.
    let ranges = Tool::new(["warm", "load", "--no-defaults", "--from"]);
    ranges
        .arg(scene.file())
        .arg(other.server.uri())
        .run()
        .code(5);
    scene.save().run().code(3);
    load(&copy, &scene.file())
        .run()
        .code(5)
        .says(&["without --pages"]);
}

both!(a_load_of_a_list_is_aborted_or_put_back; Scene::new);
fn a_load_of_a_list_is_aborted_or_put_back(scene: &mut Scene) {
    scene.fill();
    scene.save().arg("--pages").run().ok();
    scene.chill();
    let (settings, list) = (scene.settings(), own_list(scene));
    // A kill: the server's own list is put back by the next run, or was not touched.
    let killed = load(scene, &scene.file()).env("PENSTOCK_KILL_AT", "a list of pages is there#1");
    killed.run().code(137);
    assert_eq!(scene.settings(), settings);
    load(scene, &scene.file()).run().ok();
    assert_eq!(scene.settings(), settings);
    assert!(own_list(scene) == list, "the server's own list");

    // A stop: the server aborts what it has not loaded by then.
    let stopped = load(scene, &scene.file()).interrupted_at("a load of a list has begun#1");
    stopped.code(9).says(&["the server no longer loads"]);
    let sql = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_load_status'";
    let said = scene
        .server
        .field(sql, "Value")
        .expect("a status")
        .expect("a value");
    assert!(
        said.contains("aborted") || said.contains("completed"),
        "{said}"
    );
    assert_eq!(scene.settings(), settings);
    assert!(own_list(scene) == list, "the server's own list");
}
