//! Backups that take rows over from each other: each is of its own moment, also under writes, and when the older ones are gone.

use super::{Scene, filled, later};
use crate::kit::waiting::{Ends, until};
use crate::kit::{Pair, both, each_kind, own_server, thorough};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use testkit::Kind;

each_kind!(a_chain_of_backups; mysql, mariadb);
fn a_chain_of_backups(kind: Kind) {
    let logged = ["--server-id=7", "--log-bin=binlog"];
    let Some(server) = own_server(kind, &logged) else {
        return;
    };
    filled(&server);
    let scene = Scene::new(&server);
    let sums = || -> Vec<Option<String>> {
        let tables = "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables \
            WHERE table_schema = 'shop' AND table_type = 'BASE TABLE' ORDER BY 1";
        let tables = server.client(tables).expect("tables");
        let sum = |table: String| server.field(&format!("CHECKSUM TABLE {table}"), "Checksum");
        let all = tables.into_iter().flatten().flatten();
        all.map(|table| sum(table).expect("a checksum")).collect()
    };
    let changes = [
        "INSERT INTO shop.a (v) SELECT v FROM shop.a LIMIT 500",
        "UPDATE shop.parts SET v = v + 1 WHERE id % 7 = 0",
        "DELETE FROM shop.b WHERE id % 50 = 3",
        "UPDATE shop.kept SET v = v + 1",
        "INSERT INTO shop.noted (v) VALUES (1), (2)",
        "UPDATE shop.`odd-name` SET v = v + 1",
        "ALTER TABLE shop.parts REBUILD PARTITION ALL",
        "INSERT INTO shop.old SELECT MAX(id) + 1 FROM (SELECT id FROM shop.old) AS o",
    ];
    let length = if thorough() { 20 } else { 6 };
    let mut made = Vec::new();
    for n in 0..length {
        let (id, summary) = scene.incremental(&[]);
        if n > 0 {
            let tables = summary["taken_over"]["tables"].as_u64();
            assert!(tables >= Some(6), "{summary}");
        }
        made.push((id, sums()));
        later();
        for k in [n, n * 3 + 1] {
            server.client(changes[k % changes.len()]).expect("a change");
        }
        later();
    }
    let target = own_server(kind, &[]).expect("a server");
    let restored = |id: &str, wanted: &[Option<String>]| {
        let _ = target.script(b"DROP DATABASE IF EXISTS shop");
        let to = target.uri();
        let done = scene.verb(&["restore", id, "--into", &to]).run();
        assert!([0, 3].contains(&done.code), "{done:?}");
        let tables = target
            .client("SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables \
                WHERE table_schema = 'shop' AND table_type = 'BASE TABLE' ORDER BY 1")
            .expect("tables");
        for (table, sum) in tables.into_iter().flatten().flatten().zip(wanted) {
            let found = target.field(&format!("CHECKSUM TABLE {table}"), "Checksum");
            assert_eq!(&found.expect("a checksum"), sum, "{table} of {id}");
        }
    };
    for (id, wanted) in &made {
        restored(id, wanted);
    }
    // The older ones go, one after the other, and the others stay what they are.
    for gone in 1..made.len() {
        let keep = (made.len() - gone).to_string();
        let pruned = scene
            .verb(&["prune", "--keep-last", &keep, "--force"])
            .run();
        pruned.ok().says(&["removed", &made[gone - 1].0]);
        let left = &made[gone..];
        scene.verb(&["check"]).run().ok();
        let (id, wanted) = &left[(gone * 5) % left.len()];
        restored(id, wanted);
    }
}

both!(under_writes);
fn under_writes(pair: &Pair) {
    filled(pair.source());
    let scene = Scene::new(pair.source());
    scene.incremental(&[]);
    let stop = AtomicBool::new(false);
    let (rounds, mut taken) = (if thorough() { 20 } else { 3 }, 0);
    for round in 0..rounds {
        let done = AtomicU64::new(0);
        stop.store(false, Ordering::SeqCst);
        let summary = std::thread::scope(|scope| {
            let _ends = Ends(&stop);
            scope.spawn(|| {
                let mut conn = pair.source().conn().expect("a session");
                while !stop.load(Ordering::SeqCst) {
                    let i = done.fetch_add(1, Ordering::SeqCst);
                    for sql in [
                        format!("INSERT INTO shop.a (v) VALUES ('{round} {i}')"),
                        format!("UPDATE shop.counted SET n = n + 1 WHERE id = {}", i % 2),
                    ] {
                        conn.execute(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
                    }
                }
            });
            until("writes", || done.load(Ordering::SeqCst) > 20);
            let (_, summary) = scene.incremental(&[]);
            let from = done.load(Ordering::SeqCst);
            until("writes", || done.load(Ordering::SeqCst) > from + 20);
            summary
        });
        taken += summary["taken_over"]["tables"].as_u64().unwrap_or(0);
        let id = summary["backup"]["id"].as_str().expect("an id");
        let _ = pair.target().script(b"DROP DATABASE IF EXISTS shop");
        let to = pair.target().uri();
        let restored = scene.verb(&["restore", id, "--into", &to]).run();
        assert!([0, 3].contains(&restored.code), "{restored:?}");
        let file = summary["binlog_file"].as_str().expect("a file");
        let at = summary["binlog_position"].as_u64().expect("a position");
        pair.apply_log(file, at);
        pair.same_checksums();
    }
    assert!(taken >= 5 * rounds, "{taken}");
}
