//! `penstock copy --via`: by way of an archive on this host, into tablespaces, and continued wherever it was killed.

use crate::kit::fixtures::fixture;
use crate::kit::{Done, Pair, Tool, both, few, own_server};
use std::path::Path;
use testkit::Server;

/// Where the archive is.
fn place(pair: &Pair) -> String {
    pair.path("via").display().to_string()
}

fn copying(source: &Server, targets: &[&Server], via: &str, more: &[&str]) -> Tool {
    let uris = targets.iter().map(|t| t.uri());
    Tool::new(["copy".to_owned(), source.uri()])
        .args(uris)
        .args(["--via", via, "--skip-binlog"])
        .args(more.iter().copied())
}

fn copy(pair: &Pair, more: &[&str]) -> Done {
    copying(pair.source(), &[pair.target()], &place(pair), more).run()
}

/// A table that is imported as a tablespace, and some that are not.
fn rows(server: &Server) {
    let script = format!(
        "CREATE DATABASE big; CREATE TABLE big.t (id INT PRIMARY KEY, v VARCHAR(600), KEY (v(20))); \
         INSERT INTO big.t SELECT n, REPEAT(CHAR(97 + n % 26), 550) FROM {count}; \
         CREATE TABLE big.u (id INT PRIMARY KEY, v VARCHAR(400)); INSERT INTO big.u SELECT n, n FROM {count} WHERE n < 500; \
         CREATE TABLE big.empty (id INT PRIMARY KEY); ANALYZE TABLE big.t, big.u",
        count = crate::kit::COUNT
    );
    server.script(script.as_bytes()).expect("rows");
}

both!(a_copy_by_an_archive_is_equal);
fn a_copy_by_an_archive_is_equal(pair: &Pair) {
    pair.fill(&fixture!("rich_tables"));
    pair.fill(&fixture!("rich_objects"));
    rows(pair.source());
    let done = copy(pair, &[]).code(3).says(&[
        "Copy complete, with exceptions",
        "dumped in",
        "as tablespaces",
        "in the files that were built",
        "table `rich`.`plain` uses MyISAM",
    ]);
    assert!(!done.out.contains("--resume"), "{}", done.out);
    pair.same_checksums();
    for schema in ["rich", "odd `name", "big"] {
        pair.same_definitions(schema);
    }
    pair.verify_servers(&[]).ok();
    let journals =
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'";
    assert_eq!(pair.target().value(journals).expect("a count"), "0");
    assert!(!Path::new(&place(pair)).exists());
    // Once more, there is something, which is found before anything is dumped.
    copy(pair, &["--schemas", "big"])
        .code(10)
        .says(&["the target already holds", "nothing is ever overwritten"]);
    assert!(!Path::new(&place(pair)).exists());
    pair.target().client("DROP DATABASE big").expect("a drop");
    interrupted(pair, &["--schemas", "big"]);
    copy(pair, &["--schemas", "big"])
        .code(10)
        .says(&["is not empty", "--resume continues"]);
    copy(pair, &["--schemas", "rich", "--resume"])
        .code(10)
        .says(&["another part of the server"]);
    copy(pair, &["--schemas", "big", "--resume"])
        .ok()
        .says(&["is complete, of 20", "equal:"]);
    pair.same_checksums();
    // This one was there before this run.
    assert_eq!(
        std::fs::read_dir(place(pair)).expect("a directory").count(),
        0
    );
}

both!(killed_at_each_step);
fn killed_at_each_step(pair: &Pair) {
    rows(pair.source());
    let all = [
        "the snapshot is taken#1",
        "a task has ended#3",
        "the manifest is written#1",
        "a schema is created#1",
        "a file is announced#1",
        "empty files are discarded#1",
        "a file is built#1",
        "a file is in its place#1",
        "a file is imported#1",
        "a file is entered#1",
        "a chunk is committed#1",
        "the load is over#1",
    ];
    for at in few(pair.kind, 4, &all) {
        let tool = copying(
            pair.source(),
            &[pair.target()],
            &place(pair),
            &["--chunk-size", "256k"],
        );
        tool.env("PENSTOCK_KILL_AT", at).run().code(137);
        copy(pair, &[]).code(10).says(&["--resume continues"]);
        copy(pair, &["--resume"]).ok().says(&["equal:"]);
        pair.same_checksums();
        let built = "penstock-";
        let left = |dir: &Path| {
            let all = std::fs::read_dir(dir).expect("a directory").flatten();
            all.map(|e| e.file_name().to_string_lossy().into_owned())
                .filter(|n| n.starts_with(built))
                .collect::<Vec<_>>()
        };
        let datadir = pair
            .target()
            .value("SELECT @@datadir")
            .expect("a directory");
        assert_eq!(left(Path::new(&datadir)), Vec::<String>::new(), "{at}");
        assert_eq!(std::fs::read_dir(place(pair)).map_or(0, Iterator::count), 0);
        let _ = std::fs::remove_dir(place(pair));
        pair.target().client("DROP DATABASE big").expect("a drop");
    }
}

both!(killed_while_the_archive_is_removed);
fn killed_while_the_archive_is_removed(pair: &Pair) {
    rows(pair.source());
    let files = 12;
    for at in few(pair.kind, 2, &(1..files).collect::<Vec<u32>>()) {
        let tool = copying(pair.source(), &[pair.target()], &place(pair), &[]);
        let step = format!("a file of the archive is removed#{at}");
        let killed = tool.env("PENSTOCK_KILL_AT", &step).run().code(137);
        killed.says(&["Copy complete"]);
        copy(pair, &["--resume"])
            .ok()
            .says(&["nothing to do", "Copy complete"]);
        let left = std::fs::read_dir(place(pair)).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{at}");
        let _ = std::fs::remove_dir(place(pair));
        pair.same_checksums();
        pair.target().client("DROP DATABASE big").expect("a drop");
    }
}

both!(a_copy_that_was_complete_is_not_taken_for_another);
/// The rest of its archive is removed, and the other one begins.
fn a_copy_that_was_complete_is_not_taken_for_another(pair: &Pair) {
    let Some(other) = own_server(pair.kind, &[]) else {
        return;
    };
    rows(pair.source());
    let tool = copying(pair.source(), &[pair.target()], &place(pair), &[]);
    let tool = tool.env("PENSTOCK_KILL_AT", "a file of the archive is removed#3");
    tool.run().code(137);
    pair.fill("INSERT INTO big.u VALUES (1000, 'new')");
    let done = copying(pair.source(), &[&other], &place(pair), &["--resume"]);
    done.run().ok().says(&["dumped in", "equal:"]);
    let count = "SELECT COUNT(*) FROM big.u";
    assert_eq!(other.value(count).expect("a count"), "501");
}

both!(killed_between_two_schemas);
/// The table that becomes a tablespace is in the second one.
fn killed_between_two_schemas(pair: &Pair) {
    rows(pair.source());
    pair.fill("CREATE DATABASE a_first; CREATE TABLE a_first.x (id INT PRIMARY KEY); INSERT INTO a_first.x VALUES (1)");
    interrupted(pair, &[]);
    copy(pair, &["--resume"]).ok();
    pair.same_checksums();
}

both!(one_copy_at_a_time);
fn one_copy_at_a_time(pair: &Pair) {
    let Some(other) = own_server(pair.kind, &[]) else {
        return;
    };
    rows(pair.source());
    let first = copying(pair.source(), &[pair.target()], &place(pair), &[])
        .env("PENSTOCK_STOP_AT", "a file is built#1")
        .start();
    first.until_stopped();
    copying(pair.source(), &[&other], &place(pair), &["--resume"])
        .run()
        .code(10)
        .says(&["another copy is using the archive"]);
    first.signal(rustix::process::Signal::CONT);
    first.wait().ok();
    pair.same_checksums();
    // No place is in the directory of a server.
    for server in [pair.source(), &other] {
        let within = server.datadir().join("new").display().to_string();
        copying(pair.source(), &[&other], &within, &[])
            .run()
            .code(10)
            .says(&["is in the data directory of a server"]);
        assert!(!Path::new(&within).exists());
    }
}

both!(other_names_than_before_are_refused);
fn other_names_than_before_are_refused(pair: &Pair) {
    rows(pair.source());
    pair.fill("CREATE DATABASE a_first; CREATE TABLE a_first.x (id INT PRIMARY KEY); INSERT INTO a_first.x VALUES (1)");
    let names = ["--map-schema", "big=other", "--map-schema", "a_first=big"];
    let tool = copying(pair.source(), &[pair.target()], &place(pair), &names);
    let tool = tool.env("PENSTOCK_KILL_AT", "a file is built#1");
    tool.run().code(137);
    copy(pair, &["--resume"])
        .code(10)
        .says(&["penstock_load_journal", "--map-schema"]);
    copy(pair, &[&names[..], &["--resume"]].concat()).ok();
}

both!(of_two_targets_one_goes_on);
fn of_two_targets_one_goes_on(pair: &Pair) {
    let Some(second) = own_server(pair.kind, &[]) else {
        return;
    };
    rows(pair.source());
    // Tables are looked for before the dump, and routines by the load.
    pair.fill("CREATE PROCEDURE big.p() DO 1");
    second
        .script(b"CREATE DATABASE big; CREATE PROCEDURE big.p() DO 2")
        .expect("in the way");
    let targets = [pair.target(), &second];
    let done = copying(pair.source(), &targets, &place(pair), &[]).run();
    done.code(10)
        .says(&["complete and compared", "already holds"]);
    pair.same_checksums();
    second.client("DROP DATABASE big").expect("a drop");
    let targets = [pair.target(), &second];
    let done = copying(pair.source(), &targets, &place(pair), &["--resume"]).run();
    done.ok().says(&["equal:"]);
    let sum = "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(CRC32(v))) FROM big.t";
    let of = |server: &Server| server.value(sum).expect("a sum");
    assert_eq!(of(pair.source()), of(&second));
    assert_eq!(of(pair.source()), of(pair.target()));
}

both!(an_archive_of_somebody_is_neither_taken_nor_removed);
fn an_archive_of_somebody_is_neither_taken_nor_removed(pair: &Pair) {
    rows(pair.source());
    let via = place(pair);
    pair.dump("via", &["--schemas", "big", "--no-users"]).ok();
    let before = std::fs::read_dir(&via).expect("files").count();
    let more = ["--schemas", "big", "--resume"];
    copy(pair, &more).code(10).says(&["was made for keeps"]);
    copy(pair, &more[..2]).code(10).says(&["is not empty"]);
    assert_eq!(std::fs::read_dir(&via).expect("files").count(), before);
    pair.load("via", &[]).ok();
    pair.same_checksums();
}

/// A copy whose archive is complete, and nothing loaded.
fn interrupted(pair: &Pair, more: &[&str]) {
    let tool = copying(pair.source(), &[pair.target()], &place(pair), more);
    let tool = tool.env("PENSTOCK_KILL_AT", "a schema is created#1");
    tool.run().code(137);
}

both!(an_archive_of_another_server_is_not_taken);
fn an_archive_of_another_server_is_not_taken(pair: &Pair) {
    let Some(other) = own_server(pair.kind, &[]) else {
        return;
    };
    rows(pair.source());
    rows(&other);
    let via = place(pair);
    let more = ["--schemas", "big"];
    interrupted(pair, &more);
    let resumed = ["--schemas", "big", "--resume"];
    copying(&other, &[pair.target()], &via, &resumed)
        .run()
        .code(10)
        .says(&["of another server"]);
    // A file of somebody else stays.
    std::fs::write(Path::new(&via).join("notes"), "mine").expect("a file");
    let done = copy(pair, &resumed).ok();
    done.says(&["an archive that an earlier run had made at 20"]);
    let left = std::fs::read_dir(&via).expect("files").flatten();
    let names: Vec<_> = left.map(|e| e.file_name()).collect();
    assert_eq!(names, ["notes"]);
}

both!(what_was_left_out_is_left_out_when_it_is_resumed);
fn what_was_left_out_is_left_out_when_it_is_resumed(pair: &Pair) {
    rows(pair.source());
    pair.fill("CREATE EVENT big.e ON SCHEDULE EVERY 1 DAY DO DO 1; CREATE PROCEDURE big.p() DO 1;");
    let more = [
        "--exclude-tables",
        "big.u",
        "--no-events",
        "--exclude-routines",
        "big.p",
    ];
    interrupted(pair, &more);
    copy(pair, &[&more[..], &["--resume"]].concat()).ok();
    let tables = "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'big'";
    assert_eq!(pair.target().value(tables).expect("names"), "empty,t");
}

both!(a_target_that_is_complete_stays_so_without_comparison);
fn a_target_that_is_complete_stays_so_without_comparison(pair: &Pair) {
    rows(pair.source());
    let tool = copying(
        pair.source(),
        &[pair.target()],
        &place(pair),
        &["--verify", "none"],
    );
    let tool = tool.env("PENSTOCK_KILL_AT", "the load is over#1");
    tool.run().code(137);
    copy(pair, &["--verify", "none", "--resume"]).ok();
    pair.same_checksums();
}

/// What is refused before anything happens.
#[test]
fn wrong_commands_are_refused() {
    let (a, b) = ("mysql://root@localhost/?socket=/nowhere/a", "mysql://h/");
    for (args, says) in [
        (
            vec![a, b, "--resume"],
            "--resume continues a copy with --via",
        ),
        (vec![a, b, "--via", "-"], "--via -"),
        (vec![a, b, "--via", "x", "--memory", "9M"], "--memory"),
        (vec!["/a", "/b", "--via", "x"], "--via"),
        (vec!["/a", "/b", "--resume"], "--resume"),
        (
            vec![a, b, "--via", "x", "--resume", "--consistency", "none"],
            "--consistency none",
        ),
    ] {
        let tool = Tool::new(["copy"]).args(args.iter().copied());
        tool.run().code(2).says(&[says]);
    }
}
