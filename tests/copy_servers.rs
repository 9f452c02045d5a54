//! `penstock copy` from server to server: equal to its source, on both flavours and between them, and never half done
//! without a word.

use crate::kit::fixtures::fixture;
use crate::kit::waiting::until;
use crate::kit::{Done, Pair, Tool, both, own_server};
use rustix::process::Signal;
use testkit::{Kind, Server};

/// `penstock copy` of one server into others.
fn copying(source: &Server, targets: &[&Server], more: &[&str]) -> Tool {
    let uris = targets.iter().map(|t| t.uri());
    Tool::new(["copy".to_owned(), source.uri()])
        .args(uris)
        .args(more.iter().copied())
}

fn copy(source: &Server, targets: &[&Server], more: &[&str]) -> Done {
    copying(source, targets, more).run()
}

/// Rows enough for many chunks of the least size.
fn rows(server: &Server) {
    let script = format!(
        "CREATE DATABASE big; CREATE TABLE big.t (id INT PRIMARY KEY, v VARCHAR(400), KEY (v(20))); \
         INSERT INTO big.t SELECT n, REPEAT(CHAR(97 + n % 26), 300) FROM {}; \
         CREATE TABLE big.empty (id INT PRIMARY KEY); ANALYZE TABLE big.t",
        crate::kit::COUNT
    );
    server.script(script.as_bytes()).expect("rows");
}

const SMALL: [&str; 4] = ["--chunk-size", "64k", "--memory", "256k"];

both!(a_copy_is_equal);
fn a_copy_is_equal(pair: &Pair) {
    pair.fill(&fixture!("rich_tables"));
    pair.fill(&fixture!("rich_objects"));
    rows(pair.source());
    let done = copy(pair.source(), &[pair.target()], &SMALL)
        .code(3)
        .says(&[
            "Copy complete, with exceptions",
            "equal:",
            "have the source's digests",
        ]);
    let myisam = "table `rich`.`plain` uses MyISAM";
    let exceptions = done.out.split("exceptions:\n").nth(1).unwrap_or_default();
    assert!(
        exceptions.contains(myisam) && exceptions.trim().lines().count() == 1,
        "{exceptions}"
    );
    assert!(!done.said().contains("archive"), "{}", done.said());
    pair.same_checksums();
    for schema in ["rich", "odd `name", "big"] {
        pair.same_definitions(schema);
    }
    pair.verify_servers(&[]).ok();
    // Nothing of the copy itself is left.
    let journals =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";
    assert_eq!(pair.target().value(journals).expect("a count"), "0");
    // Once more, there is something.
    copy(pair.source(), &[pair.target()], &[])
        .code(10)
        .says(&["the target already holds", "nothing is ever overwritten"]);
    pair.same_checksums();
}

both!(many_tables_are_created_at_the_same_time);
/// Also by a load that is killed in the middle of it.
fn many_tables_are_created_at_the_same_time(pair: &Pair) {
    let mut script = "SET foreign_key_checks = 0; CREATE DATABASE many; USE many; ".to_owned();
    for n in 0..20 {
        // Each refers to the next one.
        let next = (n + 1) % 20;
        script += &format!(
            "CREATE TABLE t{n} (id INT PRIMARY KEY, v INT, KEY (v), FOREIGN KEY (v) REFERENCES t{next} (id)); \
             INSERT INTO t{n} VALUES ({n}, NULL), (100, NULL); "
        );
    }
    script += "CREATE TABLE m1 (a INT PRIMARY KEY) ENGINE=MyISAM; CREATE TABLE m2 LIKE m1; INSERT INTO m1 VALUES (1); \
        CREATE TABLE a_merge (a INT PRIMARY KEY) ENGINE=MERGE UNION=(m1, m2); ";
    if !pair.is_mysql() {
        script += "CREATE SEQUENCE numbers; CREATE TABLE z_numbered (id INT PRIMARY KEY DEFAULT NEXTVAL(numbers)); \
            INSERT INTO z_numbered VALUES (DEFAULT), (DEFAULT);";
    }
    pair.fill(&script);
    let equal = || {
        pair.same_definitions("many");
        pair.same_checksums();
    };
    copy(pair.source(), &[pair.target()], &["--threads", "4"]).code(3);
    equal();
    let drop = "SET foreign_key_checks = 0; DROP DATABASE many";
    pair.target().script(drop.as_bytes()).expect("dropped");
    pair.dump("a", &[]).code(3);
    let load = |more: &[&str]| {
        let tool = Tool::new(["load", "--threads", "4"]).arg(pair.path("a"));
        let tool = tool.arg("--into").arg(pair.target().uri());
        tool.args(more.iter().copied())
    };
    load(&[])
        .env("PENSTOCK_KILL_AT", "a table is created#10")
        .run()
        .code(137);
    load(&["--resume"]).run().ok();
    equal();
}

/// Nobody reads rows of a sequence, so nobody says that they are complete.
#[test]
fn a_sequence_does_not_wait_for_rows() {
    let Some(pair) = Pair::take(Kind::MariaDb) else {
        return;
    };
    pair.fill(
        "CREATE DATABASE sq; CREATE SEQUENCE sq.s START WITH 7; SELECT NEXTVAL(sq.s); \
        CREATE TABLE sq.t (id INT PRIMARY KEY); INSERT INTO sq.t VALUES (1), (2)",
    );
    copy(pair.source(), &[pair.target()], &["--schemas", "sq"]).ok();
    let next = "SELECT NEXTVAL(sq.s)";
    let of = |server: &Server| server.value(next).expect("a number");
    assert_eq!(of(pair.target()), of(pair.source()));
}

both!(into_two_servers_one_of_another_flavour);
fn into_two_servers_one_of_another_flavour(pair: &Pair) {
    let other = match pair.kind {
        Kind::MySql => Kind::MariaDb,
        _ => Kind::MySql,
    };
    let Some(second) = own_server(other, &[]) else {
        return;
    };
    rows(pair.source());
    let targets = [pair.target(), &second];
    let done = copy(
        pair.source(),
        &targets,
        &["--json", "--schemas", "big", "--verify", "sql"],
    )
    .ok();
    let summary = done.summary();
    let all = summary["targets"].as_array().expect("targets");
    assert_eq!(all.len(), 2, "{summary}");
    for target in all {
        assert_eq!(target["verified"]["rows"], 10_000, "{summary}");
    }
    let sum = "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(CRC32(v))) FROM big.t";
    let wanted = pair.source().value(sum).expect("a sum");
    for target in targets {
        assert_eq!(target.value(sum).expect("a sum"), wanted);
    }
}

both!(a_target_that_fails_does_not_keep_the_other_from_its_copy);
fn a_target_that_fails_does_not_keep_the_other_from_its_copy(pair: &Pair) {
    let Some(mut second) = own_server(pair.kind, &[]) else {
        return;
    };
    rows(pair.source());
    let run = copying(pair.source(), &[pair.target(), &second], &SMALL)
        // One target is ahead of the other by what --memory holds at most, which is less than half of these: both have
        // stored some chunks.
        .env("PENSTOCK_STOP_AT", "a chunk is committed#20")
        .start();
    run.until_stopped();
    second.kill9().expect("a kill");
    run.signal(Signal::CONT);
    let done = run.wait();
    assert!([6, 9].contains(&done.code), "{}", done.said());
    let complete = format!("at {}", pair.target().socket().display());
    done.says(&["complete and compared", &complete]);
    pair.same_checksums();
    // The target comes back, and says what it holds.
    second.restart().expect("a start");
    copy(pair.source(), &[&second], &SMALL).code(10).says(&[
        "a part of a copy that was interrupted",
        "drop what it created (it created `big`)",
    ]);
    second.client("DROP DATABASE big").expect("a drop");
    copy(pair.source(), &[&second], &SMALL).ok();
}

both!(a_source_that_fails_leaves_what_is_named);
fn a_source_that_fails_leaves_what_is_named(pair: &Pair) {
    let Some(mut source) = own_server(pair.kind, &[]) else {
        return;
    };
    rows(&source);
    let run = copying(&source, &[pair.target()], &SMALL)
        .env("PENSTOCK_STOP_AT", "a chunk is committed#5")
        .start();
    run.until_stopped();
    source.kill9().expect("a kill");
    run.signal(Signal::CONT);
    let done = run.wait();
    assert!([6, 9].contains(&done.code), "{}", done.said());
    let error = done
        .err
        .lines()
        .find(|l| l.contains("ERROR: "))
        .unwrap_or_default();
    let socket = source.socket().display().to_string();
    assert!(
        error.contains("`big`.`t`") || error.contains(&socket),
        "{error}"
    );
    source.restart().expect("a start");
    copy(&source, &[pair.target()], &SMALL)
        .code(10)
        .says(&["a part of a copy that was interrupted", "`big`"]);
}

both!(it_is_one_moment_of_a_source_that_is_written_to);
fn it_is_one_moment_of_a_source_that_is_written_to(pair: &Pair) {
    rows(pair.source());
    pair.fill("CREATE TABLE big.account (id INT PRIMARY KEY, amount INT NOT NULL); INSERT INTO big.account SELECT n, 100 FROM (SELECT 1 n UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) c");
    let source = pair.source().options();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let moved = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut conn = wire::Conn::connect(&source).expect("a session");
            let mut i = 0u64;
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                i += 1;
                let (from, to) = (i % 4 + 1, (i + 1) % 4 + 1);
                for sql in [
                    "BEGIN".to_owned(),
                    format!("UPDATE big.account SET amount = amount - 7 WHERE id = {from}"),
                    format!(
                        "UPDATE big.t SET v = CONCAT('x', {i}) WHERE id = {}",
                        i * 37 % 10_000
                    ),
                    format!("UPDATE big.account SET amount = amount + 7 WHERE id = {to}"),
                    "COMMIT".to_owned(),
                ] {
                    conn.execute(&sql).expect("a write");
                }
                moved.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        });
        until("writes", || {
            moved.load(std::sync::atomic::Ordering::SeqCst) > 20
        });
        let done = copy(pair.source(), &[pair.target()], &SMALL);
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        done.ok().says(&["equal:"]);
    });
    // The rows were compared with what was read; this says that it was read at one moment.
    let sum = pair.target().value("SELECT SUM(amount) FROM big.account");
    assert_eq!(sum.expect("a sum"), "400");
}

/// MariaDB has no lock for definitions: a table that disappears while they are read is no error.
#[test]
fn a_table_that_is_dropped_while_definitions_are_read() {
    let Some(pair) = Pair::take(Kind::MariaDb) else {
        return;
    };
    rows(pair.source());
    let run = copying(pair.source(), &[pair.target()], &SMALL)
        .env("PENSTOCK_STOP_AT", "the snapshot is taken#1")
        .start();
    run.until_stopped();
    pair.source()
        .client("DROP TABLE big.empty")
        .expect("a table less");
    run.signal(Signal::CONT);
    let done = run.wait().ok();
    done.says(&["was dropped while definitions were read", "equal:"]);
    pair.same_checksums();
}

/// What is refused before anything happens.
#[test]
fn wrong_commands_are_refused() {
    let uri = "mysql://root@localhost/?socket=/nowhere/a";
    for (args, says) in [
        (vec![uri, uri], "would be copied onto itself"),
        (vec![uri, "/backup"], "that is a dump"),
        (vec!["/backup", uri], "that is a load"),
        (vec!["/a", "/b", "/c"], "copied to one place"),
        (vec!["/a", "/b", "--memory", "9M"], "--memory is for"),
        (
            vec![uri, "mysql://h/", "--max-rate-disk", "9M"],
            "--max-rate-disk",
        ),
        (
            vec![uri, "mysql://h/", "--verify", "files"],
            "--verify files",
        ),
        (vec![uri, "mysql://h/", "mysql://h/"], "named twice"),
        (vec![uri, "mysql://h/", "--memory", "0"], "--memory 0"),
    ] {
        let tool = Tool::new(["copy"]).args(args.iter().copied());
        tool.run().code(2).says(&[says]);
    }
}

/// The targets' account may be another one, from a file.
#[test]
fn targets_have_an_account_of_their_own() {
    let Some(pair) = Pair::take(Kind::MariaDb) else {
        return;
    };
    rows(pair.source());
    pair.target()
        .script(b"CREATE USER t_copy@localhost IDENTIFIED BY 'for the target'; GRANT ALL ON *.* TO t_copy@localhost")
        .expect("an account");
    let file = pair.path("target.cnf");
    std::fs::write(
        &file,
        "[client]\nuser=t_copy\npassword=\"for the target\"\n",
    )
    .expect("a file");
    let target = pair.target().uri().replace("root@", "");
    let copy = || Tool::new(["copy", &pair.source().uri(), &target, "--no-defaults"]);
    copy().run().code(6);
    copy()
        .arg("--target-defaults-file")
        .arg(&file)
        .run()
        .ok()
        .says(&["equal:"]);
    pair.same_checksums();
}
