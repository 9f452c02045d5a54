//! What a data directory was made with, and settings that are not the temporary server's.

use super::{HISTORY, Scene, state};
use crate::kit::{Tool, each_kind, few};
use testkit::{Kind, Setup, available};

impl Scene {
    fn with_pages(kind: Kind, bytes: u32) -> Scene {
        let setup = Setup::new(kind).expect("a set-up").page_size(bytes);
        Scene::of(setup.args(["--server-id=1"]).start().expect("a server"))
    }
}

each_kind!(pages_of_any_size_are_read; mysql, mariadb, mariadb118);
fn pages_of_any_size_are_read(kind: Kind) {
    if !available(kind) {
        return;
    }
    for bytes in few(kind, 1, &[4096, 8192, 32768, 65536]) {
        let mut scene = Scene::with_pages(kind, bytes);
        // Compressed pages are at most of 8 KiB, and only in pages of at most 16 KiB; a key has at most 768 bytes in 4 KiB.
        let (history, packed) = match bytes {
            4096 => {
                let short = HISTORY.replace("KEY_BLOCK_SIZE=8", "KEY_BLOCK_SIZE=4");
                (short.replace("KEY (v)", "KEY (v(100))"), 1)
            }
            8192 => (HISTORY.to_owned(), 1),
            _ => {
                let parts: Vec<&str> = HISTORY.split_inclusive(";\n").collect();
                let kept = parts.iter().filter(|p| !p.contains("packed"));
                (kept.copied().collect(), 0)
            }
        };
        scene.fill(&history);
        scene.by_sql("sql").code(3);
        // A server whose pages are of another size does not take files that are built here.
        let target = Setup::new(kind).expect("a set-up").page_size(bytes);
        let target = target.start().expect("a server");
        scene.server.stop().expect("it shuts down");
        let before = state(&scene.server.datadir());
        let done = scene.dump_files("files", &[]).ok();
        assert_eq!(state(&scene.server.datadir()), before, "{bytes}");
        scene.nothing_is_left();
        assert_eq!(scene.digests("files"), scene.digests("sql"), "{bytes}");
        let summary = done.summary();
        let by_sql = summary["read_by_sql"].as_array().expect("a list").len();
        assert_eq!(by_sql, 1 + packed, "{bytes}: {summary:#}");
        Tool::new(["load", "--user", "root", "--socket"])
            .arg(target.socket())
            .arg(scene.path("files"))
            .run()
            .ok()
            .says(&["verified", "equal"]);

        // Whatever the server was doing when it was killed.
        scene.server.restart().expect("it starts");
        scene.fill("UPDATE h.changed SET t = REPEAT('k', 20000) WHERE id % 31 = 0; DELETE FROM h.words WHERE n > 9000");
        scene.by_sql("late").code(3);
        scene.server.kill9().expect("it is killed");
        scene.dump_files("recovered", &["--recover"]).ok();
        assert_eq!(scene.digests("recovered"), scene.digests("late"), "{bytes}");

        // Its files, restored as a whole.
        scene.server.restart().expect("it starts");
        scene.server.stop().expect("it shuts down");
        scene.copy_files(&scene.path("copied")).ok();
        let back = scene.path("back");
        scene.files_restore("copied", &back).run().ok();
        let setup = Setup::new(kind).expect("a set-up").over(&back);
        let again = setup.page_size(bytes).start().expect("a server");
        Tool::new(["verify"])
            .arg(scene.path("late"))
            .args(["--user", "root", "--socket"])
            .arg(again.socket())
            .run()
            .ok();
    }
}

each_kind!(settings_of_others_do_not_reach_the_temporary_server; mysql, mariadb);
/// Option files of the host and of the account, and settings that MySQL keeps in the data directory, may name logs of the
/// original, or what would not let a server start at all.
fn settings_of_others_do_not_reach_the_temporary_server(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill(
        "CREATE DATABASE h; CREATE TABLE h.t (a INT PRIMARY KEY); INSERT INTO h.t VALUES (1), (2)",
    );
    let log = scene.path("statements-of-the-original");
    if kind == Kind::MySql {
        scene.fill(&format!(
            "SET PERSIST_ONLY general_log_file = '{}'; SET PERSIST_ONLY general_log = ON; SET PERSIST_ONLY max_connections = 1; \
            SET PERSIST_ONLY innodb_buffer_pool_size = 70368744177664",
            log.display()
        ));
    }
    scene.by_sql("sql").ok();
    scene.fill("INSERT INTO h.t VALUES (3)");
    scene.server.stop().expect("it shuts down");
    let home = scene.path("home");
    std::fs::create_dir(&home).expect("a directory");
    let file = format!(
        "[mysqld]\ngeneral-log\ngeneral-log-file={}\n[server]\nno-such-option=1\n",
        log.display()
    );
    std::fs::write(home.join(".my.cnf"), file).expect("an option file");
    let _ = std::fs::remove_file(&log);
    let before = state(&scene.server.datadir());
    for (name, how) in [("files", &[][..]), ("recovered", &["--recover"])] {
        scene
            .files_dump(scene.directory.path(), name, how)
            .env("HOME", &home)
            .run()
            .ok();
        assert_eq!(scene.digests(name)["h.t"].0, 3, "{name}");
        assert!(!log.exists(), "{name}");
        assert_eq!(state(&scene.server.datadir()), before, "{name}");
    }
    // Its files are restored as they were; the server that proves them heeds none of it either.
    scene.copy_files(&scene.path("copied")).ok();
    scene
        .files_restore("copied", &scene.path("back"))
        .env("HOME", &home)
        .run()
        .ok();
    assert!(!log.exists());
    let kept = scene.path("back").join("mysqld-auto.cnf");
    assert_eq!(kept.exists(), kind == Kind::MySql);
}
