//! What a load does at its end, if it is asked: statistics, and GTIDs by which a replica goes on.

use crate::kit::waiting::until;
use crate::kit::{Done, Pair, Tool, both, own_server};
use testkit::{Kind, Server};

both!(statistics_are_taken);
fn statistics_are_taken(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE st; USE st; CREATE TABLE a (id INT PRIMARY KEY, v INT, KEY (v)); \
        CREATE TABLE b (id INT PRIMARY KEY) STATS_AUTO_RECALC=0; CREATE VIEW w AS SELECT * FROM a",
    );
    pair.fill(&format!(
        "INSERT INTO st.a SELECT n, n FROM {0} WHERE n < 500; INSERT INTO st.b SELECT n FROM {0} WHERE n < 700",
        crate::kit::COUNT
    ));
    pair.dump("a", &["--schemas", "st"]).ok();
    let done = pair.load("a", &["--analyze", "--json"]).ok();
    assert_eq!(done.summary()["analyzed"], 2);
    // The server would not have counted the rows of this one by itself.
    let rows = "SELECT n_rows FROM mysql.innodb_table_stats WHERE database_name = 'st' AND table_name = 'b'";
    let counted: u64 = pair
        .target()
        .value(rows)
        .expect("statistics")
        .parse()
        .expect("a number");
    assert!(counted > 600, "{counted}");
    pair.verify_against("a", pair.target()).ok();
    std::fs::write(pair.path("d.sql"), "CREATE TABLE x (i INT);\n").expect("a script");
    pair.load("d.sql", &["--analyze"])
        .code(2)
        .says(&["--analyze", "ANALYZE TABLE"]);
}

/// A server of its own, and a load into it.
struct New {
    server: Server,
}

impl New {
    fn start(pair: &Pair) -> Option<New> {
        let kind = pair.source().kind();
        let gtid: &[&str] = match kind {
            Kind::MySql => &[
                "--server-id=97",
                "--gtid-mode=ON",
                "--enforce-gtid-consistency=ON",
            ],
            _ => &["--server-id=97"],
        };
        Some(New {
            server: own_server(kind, gtid)?,
        })
    }

    fn load(&self, pair: &Pair, name: &str, more: &[&str]) -> Done {
        Tool::new(["load"])
            .arg(pair.path(name))
            .args(["--into", &self.server.uri()])
            .args(more.iter().copied())
            .run()
    }

    /// Follows the source by GTID, until it has a row that was written after the dump.
    fn follow(&self, pair: &Pair) {
        let port = pair.source().port().expect("a port");
        let script = match pair.is_mysql() {
            true => format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, \
                SOURCE_USER='t_gt', SOURCE_PASSWORD='of-G1', GET_SOURCE_PUBLIC_KEY=1, \
                SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1; START REPLICA"
            ),
            false => format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='t_gt', \
                MASTER_PASSWORD='of-G1', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1; START SLAVE"
            ),
        };
        self.server.script(script.as_bytes()).expect("it follows");
        until("the row that came later", || {
            self.server.value("SELECT COUNT(*) FROM gt.t").as_deref() == Ok("4")
        });
    }
}

/// Three rows, and an account that may follow.
fn three_rows(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE gt; CREATE TABLE gt.t (id INT PRIMARY KEY, v VARCHAR(20)); \
        INSERT INTO gt.t VALUES (1, 'a'), (2, 'b'), (3, 'c'); \
        CREATE USER t_gt@'%' IDENTIFIED BY 'of-G1'; GRANT REPLICATION SLAVE ON *.* TO t_gt@'%'",
    );
}

both!(gtids_let_a_replica_go_on);
fn gtids_let_a_replica_go_on(pair: &Pair) {
    three_rows(pair);
    pair.dump("a", &["--schemas", "gt"]).ok();
    pair.dump("none", &["--schemas", "gt", "--consistency", "none"])
        .code(3);
    pair.fill("INSERT INTO gt.t VALUES (4, 'later')");
    // A server that has executed something is not a new one.
    if pair.is_mysql() {
        pair.target()
            .client("CREATE DATABASE t_own")
            .expect("a transaction");
        let refused = pair.load("a", &["--gtid-purged", "set"]).code(10);
        refused.says(&["has executed nothing", "--gtid-purged append"]);
    }
    let Some(new) = New::start(pair) else { return };
    let word = if pair.is_mysql() {
        "gtid_purged"
    } else {
        "gtid_slave_pos"
    };
    // What cannot be done at the end is refused before the beginning.
    new.load(pair, "none", &["--gtid-purged", "set"])
        .code(2)
        .says(&["--consistency none"]);
    let renamed = ["--gtid-purged", "set", "--map-schema", "gt=other"];
    new.load(pair, "a", &renamed)
        .code(2)
        .says(&["--gtid-purged", "--map-schema"]);
    assert_eq!(crate::kit::pair::schemas(&new.server), Vec::<String>::new());
    let shown = new
        .load(pair, "a", &["--gtid-purged", "set", "--dry-run", "--json"])
        .ok()
        .summary();
    let statement = shown["gtids"].as_str().expect("a statement").to_owned();
    assert!(
        statement.starts_with(&format!("SET GLOBAL {word} = ")),
        "{statement}"
    );
    let done = new
        .load(
            pair,
            "a",
            &["--gtid-purged", "set", "--skip-binlog", "--json"],
        )
        .ok();
    assert_eq!(done.summary()["gtids"], statement);
    // It is an archive of one schema.
    let notes = done.summary()["notes"].to_string();
    assert!(notes.contains("a part of its data"), "{notes}");
    new.follow(pair);
    // Nothing is loaded twice.
    let again = new.load(pair, "a", &["--gtid-purged", "set", "--allow-same-server"]);
    again.code(10);
}

both!(gtids_are_added_and_not_set_after_exceptions);
fn gtids_are_added_and_not_set_after_exceptions(pair: &Pair) {
    three_rows(pair);
    pair.dump("a", &["--schemas", "gt"]).ok();
    pair.fill("INSERT INTO gt.t VALUES (4, 'later')");
    let Some(new) = New::start(pair) else { return };
    let chunk = std::fs::read_dir(pair.path("a"))
        .expect("an archive")
        .map(|f| f.expect("a file").path())
        .find(|f| f.to_string_lossy().ends_with("gt@t@@0.tsv.zst"))
        .expect("rows");
    let rows = std::fs::read(&chunk).expect("rows");
    std::fs::write(&chunk, b"x").expect("damage");
    let done = new
        .load(pair, "a", &["--gtid-purged", "append", "--skip-damaged"])
        .code(3);
    done.says(&["GTIDs are not set", "SET GLOBAL "]);
    let variable = if pair.is_mysql() {
        "gtid_purged"
    } else {
        "gtid_slave_pos"
    };
    let set = new.server.value(&format!("SELECT @@GLOBAL.{variable}"));
    assert_eq!(set.as_deref(), Ok(""));
    std::fs::write(&chunk, &rows).expect("mended");
    // Its own transactions, and those of the archive.
    new.server
        .script(b"CREATE DATABASE mine; CREATE TABLE mine.t (i INT PRIMARY KEY)")
        .expect("something of its own");
    new.load(pair, "a", &["--gtid-purged", "append"])
        .ok()
        .says(&["SET GLOBAL "]);
    new.follow(pair);
}

/// Definers of all objects of a schema, each with its object.
fn definers(server: &Server, schema: &str) -> Vec<Vec<Option<String>>> {
    let sql = format!(
        "SELECT table_name, definer FROM information_schema.views WHERE table_schema = '{schema}' \
        UNION ALL SELECT trigger_name, definer FROM information_schema.triggers WHERE trigger_schema = '{schema}' \
        UNION ALL SELECT routine_name, definer FROM information_schema.routines WHERE routine_schema = '{schema}' \
        UNION ALL SELECT event_name, definer FROM information_schema.events WHERE event_schema = '{schema}' ORDER BY 1"
    );
    server.client(&sql).expect("definers")
}

both!(definers_are_changed);
fn definers_are_changed(pair: &Pair) {
    pair.fill(
        "CREATE USER t_old@'%', t_other@localhost; GRANT ALL ON *.* TO t_old@'%'; GRANT ALL ON *.* TO t_other@localhost; \
        CREATE DATABASE df; USE df; CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE log (id INT); INSERT INTO t VALUES (1); \
        CREATE DEFINER=t_old@'%' VIEW v AS SELECT * FROM t; \
        CREATE DEFINER=t_old@'%' TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO log VALUES (NEW.id); \
        CREATE DEFINER=t_old@'%' PROCEDURE p() SELECT COUNT(*) FROM t; \
        CREATE DEFINER=t_other@localhost FUNCTION f() RETURNS INT DETERMINISTIC RETURN 7; \
        CREATE DEFINER=t_old@'%' EVENT e ON SCHEDULE EVERY 1 YEAR DISABLE DO SELECT 1",
    );
    pair.dump("a", &["--schemas", "df"]).ok();
    let target = pair.target();
    let drop = || target.client("DROP DATABASE df").expect("dropped");
    // As they were: named, because nobody of that name is there.
    pair.load("a", &[])
        .code(3)
        .says(&["`t_old`@`%`", "1449", "--definer"]);
    drop();
    let done = pair
        .load("a", &["--definer", "strip", "--json"])
        .ok()
        .summary();
    let adapted = done["adapted"].as_array().expect("a list");
    assert_eq!(adapted.len(), 2, "{adapted:?}");
    assert!(
        adapted
            .iter()
            .all(|a| a.as_str().is_some_and(|a| a.contains("'root'@'localhost'")))
    );
    let all = definers(target, "df");
    assert_eq!(all.len(), 5);
    assert!(
        all.iter()
            .all(|o| o[1].as_deref() == Some("root@localhost")),
        "{all:?}"
    );
    // They work.
    target
        .script(b"INSERT INTO df.t VALUES (2); CALL df.p(); SELECT * FROM df.v")
        .expect("they work");
    assert_eq!(
        target.value("SELECT COUNT(*) FROM df.log").as_deref(),
        Ok("1")
    );
    drop();
    // One account for another; the third keeps its own.
    target
        .script(b"CREATE USER t_new@'10.%', t_other@localhost; GRANT ALL ON df.* TO t_new@'10.%'")
        .expect("accounts");
    let map = ["--definer", "map='t_old'@'%'=t_new@10.%"];
    pair.load("a", &map)
        .ok()
        .says(&["have the definer `t_new`@`10.%` here, and had `t_old`@`%`"]);
    let all = definers(target, "df");
    let of = |name: &str| {
        all.iter()
            .find(|o| o[0].as_deref() == Some(name))
            .and_then(|o| o[1].clone())
    };
    assert_eq!(of("f").as_deref(), Some("t_other@localhost"));
    for name in ["v", "tr", "p", "e"] {
        assert_eq!(of(name).as_deref(), Some("t_new@10.%"), "{name}");
    }
    drop();
    // Nothing is changed by a name that defines nothing, or by what cannot be meant.
    for (more, says) in [
        (
            &["--definer", "map=t_nobody@%=t_new@%"][..],
            "`t_nobody`@`%`",
        ),
        (
            &["--definer", "strip", "--definer", "map=a@%=b@%"],
            "more than once",
        ),
        (&["--definer", "root"], "map=USER@HOST=USER@HOST"),
    ] {
        pair.load("a", more).code(2).says(&[says]);
        assert_eq!(pair.target_schemas(), Vec::<String>::new());
    }
}
