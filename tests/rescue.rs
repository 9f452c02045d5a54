//! Tables out of files without a server: what the server had, whole or damaged, and nothing else.

mod damage;
mod scene;

use crate::kit::each_kind;
use crate::kit::fixtures::{all_tables_scripts, fixture};
use crate::kit::{Tool, own_server};
use scene::{Scene, definitions, state};
use testkit::Kind;

/// What rows may go through, on both flavours.
const HISTORY: &str = "
CREATE DATABASE h DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci; USE h;
CREATE TABLE changed (id INT PRIMARY KEY, gone VARCHAR(20) DEFAULT 'gone', v VARCHAR(200), t LONGTEXT, KEY (v));
INSERT INTO changed (id, v, t) SELECT n, CONCAT('v', n), IF(n % 7 = 0, REPEAT('long ', n), 'short') FROM {COUNT} WHERE n < 3000;
DELETE FROM changed WHERE id % 3 = 0;
ALTER TABLE changed ADD COLUMN added INT NOT NULL DEFAULT 42, ALGORITHM=INSTANT;
INSERT INTO changed VALUES (1000000, 'g', 'after', 'x', 7);
ALTER TABLE changed DROP COLUMN gone, ALGORITHM=INSTANT;
UPDATE changed SET added = 9 WHERE id % 23 = 0;
CREATE TABLE old (a INT PRIMARY KEY, b CHAR(10) CHARACTER SET utf8mb4, c TEXT) ROW_FORMAT=REDUNDANT;
INSERT INTO old SELECT id, 'å', REPEAT('z', id % 10000) FROM changed;
CREATE TABLE counted (a INT AUTO_INCREMENT PRIMARY KEY); INSERT INTO counted VALUES (5), (70);
CREATE TABLE packed (a INT PRIMARY KEY) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;
CREATE TABLE other (a INT) ENGINE=MyISAM;
CREATE TABLE Twin (a INT PRIMARY KEY); CREATE TABLE twin (a INT PRIMARY KEY); INSERT INTO twin VALUES (1), (2);
CREATE TABLE of_twin (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES twin (a)); INSERT INTO of_twin VALUES (2);
";

each_kind!(files_alone_have_what_the_server_had; mysql, mariadb, mariadb118);
fn files_alone_have_what_the_server_had(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    for script in all_tables_scripts(kind) {
        scene.fill(&script);
    }
    scene.fill(&crate::kit::fixtures::script(HISTORY));
    scene.fill(&fixture!("rich_tables"));
    match kind.flavour() {
        Kind::MySql => scene.fill(&fixture!("rescue_mysql")),
        _ => scene.fill(&fixture!("definitions_mariadb")),
    }
    scene.by_sql("sql");
    let shown = definitions(&scene.server, kind);
    assert!(shown.len() > 50, "{}", shown.len());
    // In use.
    scene
        .rescue(&[&scene.server.datadir()], "busy", &[])
        .code(11)
        .says(&["a server uses"]);
    scene.server.stop().expect("it shuts down");

    // What has rows and is not InnoDB's is named.
    scene
        .rescue(&[&scene.server.datadir().join("h")], "schema", &[])
        .code(3)
        .says(&["h/other.MYD", "MyISAM"]);

    // The files of tables alone: no system tablespace, no dictionary, no log.
    let files = scene.only_tables();
    let before = state(&files);
    let done = scene.rescue(&[&files], "files", &[]).code(3);
    assert_eq!(state(&files), before);
    let summary = done.summary();
    let exceptions: Vec<&str> = summary["exceptions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|e| e.as_str())
        .collect();
    // All that is not read is named, with the reason.
    for e in &exceptions {
        let is_known = ["is not supported", "general tablespace"]
            .iter()
            .any(|w| e.contains(w));
        assert!(is_known, "{e}");
    }
    assert!(
        exceptions.iter().any(|e| e.contains("packed.ibd")),
        "{exceptions:#?}"
    );
    let mut wanted = scene.digests("sql");
    let unread = [
        "h.packed",
        "h.other",
        "f.isam",
        "rich.plain",
        "r.zip",
        "r.pgc",
        "defs.zipped",
        "defs.paged",
        "defs.compressed",
        "defs.not_innodb",
    ];
    wanted.retain(|name, _| !unread.contains(&name.as_str()));
    assert_eq!(scene.digests("files"), wanted);
    Tool::new(["verify"]).arg(scene.archive("files")).run().ok();

    // An empty server gets them.
    let target = own_server(kind, &[]).expect("a server");
    scene
        .load("files", &target)
        .ok()
        .says(&["verified", "equal"]);
    let loaded = definitions(&target, kind);
    for (name, create) in &loaded {
        assert_eq!(Some(create), shown.get(name), "{name}");
    }
    let counted = target.field("SHOW CREATE TABLE h.counted", "Create Table");
    let counted = counted.expect("a definition").expect("a text");
    assert!(counted.contains("AUTO_INCREMENT=71"), "{counted}");
    let lacking: Vec<_> = shown
        .keys()
        .filter(|n| !loaded.contains_key(*n) && !unread.contains(&n.as_str()))
        .collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}

each_kind!(one_file_without_a_description_needs_one; mysql, mariadb);
fn one_file_without_a_description_needs_one(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    let create = "CREATE TABLE `t` (`a` int NOT NULL, `v` varchar(90) DEFAULT NULL, `n` decimal(9,2), `e` enum('x','y') NOT NULL, \
        `g` int AS (a + 1) STORED, `c` char(5), `d` datetime(3) NULL, PRIMARY KEY (`v`(7), `a`)) DEFAULT CHARSET=utf8mb4";
    scene.fill(&crate::kit::fixtures::script(&format!(
        "CREATE DATABASE d; USE d; {create}; \
        INSERT INTO t (a, v, n, e, c, d) SELECT n, CONCAT('vä', n), n / 3, 1 + n % 2, 'c', '2026-01-02 03:04:05.678' FROM {{COUNT}};"
    ).replace("`v` varchar(90) DEFAULT NULL", "`v` varchar(90) NOT NULL")));
    scene.by_sql("sql");
    scene.server.stop().expect("it shuts down");
    let file = scene.path("t.ibd");
    std::fs::copy(scene.server.datadir().join("d/t.ibd"), &file).expect("a copy");
    if kind == Kind::MySql {
        // Its dictionary information is on page 3.
        let mut bytes = std::fs::read(&file).expect("bytes");
        bytes[3 * 16384 + 200..3 * 16384 + 300].fill(7);
        std::fs::write(&file, bytes).expect("it is written");
    }
    scene
        .rescue(&[&file], "never", &[])
        .code(5)
        .says(&["--definition", "t.ibd"]);
    assert!(!scene.path("never").exists());
    let script = scene.path("t.sql");
    std::fs::write(&script, "CREATE TABLE x (a INT").expect("a script");
    let given = ["--definition", script.to_str().expect("text")];
    scene
        .rescue(&[&file], "never", &given)
        .code(2)
        .says(&["t.sql"]);
    std::fs::write(
        &script,
        format!(
            "-- mine\n{};\n",
            create.replace("`v` varchar(90) DEFAULT NULL", "`v` varchar(90) NOT NULL")
        ),
    )
    .expect("a script");
    // Where nothing says the schema, it is the directory's name.
    scene
        .rescue(
            &[&file],
            "given",
            &[&given[..], &["--schema", "d"]].concat(),
        )
        .ok();
    assert_eq!(scene.digests("given"), scene.digests("sql"));
    // A definition that does not fit: named, and no row is made up.
    std::fs::write(
        &script,
        "CREATE TABLE t (a INT PRIMARY KEY, b DATE NOT NULL, c DATETIME NOT NULL)",
    )
    .expect("a script");
    let wrong = scene
        .rescue(
            &[&file],
            "wrong",
            &[&given[..], &["--schema", "d"]].concat(),
        )
        .code(3);
    assert_eq!(wrong.summary()["rows"], 0);
    // Nothing is written where data is rescued from.
    let inside = scene.directory().to_owned();
    Tool::new(["rescue"])
        .arg(&inside)
        .arg("--to")
        .arg(inside.join("x"))
        .run()
        .code(2)
        .says(&["is inside"]);
    // What lies beside a single file is not read, unless that is a server's data directory.
    let beside = file.parent().expect("a directory").join("beside");
    Tool::new(["rescue", "--definition"])
        .arg(&script)
        .args(["--schema", "d"])
        .arg(&file)
        .arg("--to")
        .arg(&beside)
        .run()
        .code(3);
    std::fs::write(beside.with_file_name("ibdata1"), "").expect("a file");
    Tool::new(["rescue", "--definition"])
        .arg(&script)
        .args(["--schema", "d"])
        .arg(&file)
        .arg("--to")
        .arg(beside.join("again"))
        .run()
        .code(2)
        .says(&["is inside", "whose files are rescued"]);
    std::fs::remove_file(beside.with_file_name("ibdata1")).expect("a file");
    scene
        .rescue(&[&scene.path("missing.ibd")], "never", &[])
        .code(8)
        .says(&["missing.ibd"]);
    scene
        .rescue(
            &[&file],
            "never",
            &[&given[..], &["--tables", "a.b"]].concat(),
        )
        .code(2)
        .says(&["no schema or table matches"]);
}

each_kind!(deleted_rows_are_kept_apart; mysql, mariadb);
fn deleted_rows_are_kept_apart(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill(&crate::kit::fixtures::script(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300) NOT NULL UNIQUE, t__deleted INT); \
        CREATE TABLE t__deleted (a INT); \
        INSERT INTO t SELECT n, CONCAT(n, REPEAT('x', 200)), 0 FROM {COUNT} WHERE n < 3000;",
    ));
    // As long as another session may see them, deleted rows are not purged; a server that shuts down does not wait for that.
    let mut other = scene.server.conn().expect("a connection");
    other
        .execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .expect("it sets");
    other
        .execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        .expect("it begins");
    other.execute("SELECT COUNT(*) FROM d.t").expect("it reads");
    scene.fill("USE d; DELETE FROM t WHERE id % 10 = 3; DELETE FROM t WHERE id = 2999;");
    scene.server.stop().expect("it shuts down");
    drop(other);
    let file = scene.server.datadir().join("d/t.ibd");
    scene
        .rescue(&[&file], "plain", &["--compression", "none"])
        .ok();
    let wanted: Vec<u64> = (0..2999).filter(|n| n % 10 != 3).collect();
    assert_eq!(scene.ids("plain", "t"), wanted);
    assert_eq!(scene.digests("plain").len(), 1);
    let both = [&file, &scene.server.datadir().join("d/t__deleted.ibd")];
    let done = scene
        .rescue(
            &both,
            "deleted",
            &["--compression", "none", "--deleted", "--old-pages"],
        )
        .ok();
    assert_eq!(scene.ids("deleted", "t"), wanted);
    // How many of them a server has overwritten by then is its own affair. Another table has the name already.
    let gone = |id: &u64| id % 10 == 3 || *id == 2999;
    let found = scene.ids("deleted", "t__deleted1");
    assert!(found.len() > 50 && found.iter().all(gone), "{found:?}");
    assert_eq!(done.summary()["deleted_rows"], found.len());
    let target = own_server(kind, &[]).expect("a server");
    scene.load("deleted", &target).ok();
    let count = target.value("SELECT COUNT(*) FROM d.t__deleted1 WHERE v LIKE '%xx'");
    assert_eq!(count.expect("a count"), found.len().to_string());
}

each_kind!(a_killed_server_leaves_rows_that_load; mysql, mariadb);
fn a_killed_server_leaves_rows_that_load(kind: Kind) {
    // Memory for a part of the pages, so that others are written while the server runs.
    let Some(mut scene) = Scene::with(kind, &["--innodb-buffer-pool-size=8M"]) else {
        return;
    };
    scene.fill(&crate::kit::fixtures::script(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300) NOT NULL, KEY v (v(30)));",
    ));
    for factor in [7919, 104_729, 15_485_863] {
        scene.fill(&crate::kit::fixtures::script(&format!(
            "USE d; INSERT IGNORE INTO t SELECT n * {factor} % 1000003, CONCAT(n * {factor} % 1000003, REPEAT('x', 200)) FROM {{COUNT}}; \
            DELETE FROM t WHERE id % 19 = {};",
            factor % 19
        )));
    }
    scene.server.kill9().expect("it is killed");
    let files = scene.server.datadir();
    let before = state(&files);
    let done = scene.rescue(&[&files], "killed", &["--compression", "none"]);
    assert_eq!(state(&files), before);
    assert!(matches!(done.code, 0 | 3), "{}{}", done.out, done.err);
    let ids = scene.ids("killed", "t");
    assert!(
        ids.len() > 1000 && ids.windows(2).all(|w| w[0] != w[1]),
        "{}",
        ids.len()
    );
    let target = own_server(kind, &[]).expect("a server");
    scene.load("killed", &target).ok();
    let wrong = "SELECT COUNT(*) FROM d.t WHERE v <> CONCAT(id, REPEAT('x', 200))";
    assert_eq!(target.value(wrong).expect("a count"), "0");
}

each_kind!(files_of_old_servers_are_read_with_a_definition; mysql55);
fn files_of_old_servers_are_read_with_a_definition(kind: Kind) {
    let Some(mut scene) = Scene::with(kind, &["--innodb-file-per-table=1"]) else {
        return;
    };
    let create = |old: &str| {
        format!(
            "CREATE TABLE t (id INT NOT NULL, v VARCHAR(90) NOT NULL, d DATETIME{old}, ts TIMESTAMP{old} NULL, ti TIME{old}, \
            n DECIMAL(8,2), tx TEXT, c CHAR(5) NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB DEFAULT CHARSET=latin1"
        )
    };
    scene.fill(&crate::kit::fixtures::script(&format!(
        "CREATE DATABASE d; USE d; {}; INSERT INTO t SELECT n, CONCAT('v', n), '2020-01-02 03:04:05', '2021-01-01 00:00:00', \
        '-10:11:12', n / 7, IF(n % 90 = 0, REPEAT('x', 20000), NULL), n % 9 FROM {{COUNT}} WHERE n < 3000;",
        create("")
    )));
    scene.by_sql("sql");
    scene.server.stop().expect("it shuts down");
    let file = scene.server.datadir().join("d/t.ibd");
    let refused = scene.rescue(&[&file], "never", &[]).code(5);
    refused.says(&["a .frm file of version 5.5", "--definition"]);
    let script = scene.path("t.sql");
    std::fs::write(&script, create(" /* 5.5 binary format */")).expect("a script");
    scene
        .rescue(
            &[&file],
            "files",
            &["--definition", script.to_str().expect("text")],
        )
        .ok();
    assert_eq!(scene.digests("files"), scene.digests("sql"));
}

each_kind!(a_rescue_that_ends_early_looks_like_none; mysql, mariadb);
/// Killed or stopped: the files are as they were, and no archive looks complete.
fn a_rescue_that_ends_early_looks_like_none(kind: Kind) {
    let Some(mut scene) = Scene::new(kind) else {
        return;
    };
    scene.fill(&crate::kit::fixtures::script(HISTORY));
    let target = own_server(kind, &[]).expect("a server");
    scene.server.stop().expect("it shuts down");
    let datadir = scene.server.datadir();
    let before = state(&datadir);
    let rescue = |name: &str| {
        let to = scene.archive(name);
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        Tool::new(["rescue", "--to"]).arg(to).arg(datadir.join("h"))
    };
    for place in ["a table is about to be rescued#3", "all rows are rescued#1"] {
        let killed = rescue("killed").env("PENSTOCK_KILL_AT", place).run();
        assert_eq!(killed.code, 137, "{place}: {}", killed.said());
        scene.load("killed", &target).code(5).says(&["incomplete"]);
        // And the directory is not overwritten.
        rescue("killed").run().code(10);
        scene.remove("killed");
        rescue("stopped").interrupted_at(place).code(9);
        assert!(!scene.archive("stopped").exists(), "{place}");
        assert_eq!(state(&datadir), before, "{place}");
    }
    rescue("whole").run().code(3).says(&["h/other.MYD"]);
    assert_eq!(state(&datadir), before);
}
