//! What cannot be done is refused, with its exit code, a message that names the object, and no
//! change on either side.

use crate::kit::{Pair, Tool, both};
use testkit::Server;

fn shop(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v TEXT); \
        INSERT INTO shop.t VALUES (1, 'one'); CREATE VIEW shop.v AS SELECT 1 AS x;",
    );
}

/// A dump of `server` as this account, with the password in the environment.
fn dump_as(pair: &Pair, server: &Server, user: &str, password: &str) -> Tool {
    Tool::new(["dump", "-S"])
        .arg(server.socket())
        .args(["-u", user, "--to"])
        .arg(pair.path("no"))
        .env("PENSTOCK_PASSWORD", password)
}

#[track_caller]
fn nothing_written(pair: &Pair) {
    let path = pair.path("no");
    let left: Vec<_> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert!(left.is_empty(), "left over: {left:?}");
}

both!(definitions_that_a_server_shows_wrongly_are_named);
fn definitions_that_a_server_shows_wrongly_are_named(pair: &Pair) {
    pair.fill(
        "SET NAMES utf8mb4; CREATE DATABASE shop; \
        CREATE TABLE shop.t (id INT PRIMARY KEY, m ENUM('x', '😀') CHARACTER SET utf8mb4, \
          s SET('it''s', 'why?') CHARACTER SET utf8mb4, \
          v VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT '😀', old ENUM('why?') CHARACTER SET latin1, \
          plain ENUM('a', 'b') CHARACTER SET utf8mb4, \
          w VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT 'it''s' COMMENT 'why?');",
    );
    let done = pair.dump("a", &["-q"]).code(3);
    let named = |c: &str| {
        done.said().contains(&format!(
            "table `shop`.`t`, column {c}: the server shows a ?"
        ))
    };
    assert!(named("m") && named("s"), "{}", done.said());
    // MySQL shows it in another notation.
    assert_eq!(named("v"), !pair.is_mysql(), "{}", done.said());
    assert!(
        !named("old") && !named("plain") && !named("w"),
        "{}",
        done.said()
    );
}

both!(logins_that_fail);
fn logins_that_fail(pair: &Pair) {
    shop(pair);
    pair.fill("CREATE USER t_known@localhost IDENTIFIED BY 'Right-1-word';");
    dump_as(pair, pair.source(), "t_known", "wrong")
        .run()
        .code(6)
        .says(&["t_known", "1045"]);
    dump_as(pair, pair.source(), "t_unknown", "")
        .run()
        .code(6)
        .says(&["t_unknown"]);
    let dump = |args: &[&str]| {
        Tool::new(["dump", "--to"])
            .arg(pair.path("no"))
            .args(args.iter().copied())
            .run()
    };
    for args in [
        ["-psecret-word", "-hdb"],
        ["--password=secret-word", "-hdb"],
        ["mysql://root:secret-word@db/", "-q"],
    ] {
        let done = dump(&args).code(2).says(&["can be read by every user"]);
        assert!(!done.said().contains("secret-word"), "{}", done.said());
    }
    dump(&["-S", "/nonexistent/sock", "-u", "root"])
        .code(6)
        .says(&["/nonexistent/sock"]);
    dump(&[
        "-h",
        "127.0.0.1",
        "-P",
        "1",
        "-u",
        "root",
        "--connect-timeout",
        "2",
    ])
    .code(6)
    .says(&["127.0.0.1:1"]);
    dump(&[
        "-h",
        "no.such.host.invalid",
        "-u",
        "root",
        "--connect-timeout",
        "2",
    ])
    .code(6)
    .says(&["no.such.host.invalid"]);
    nothing_written(pair);
}

/// Runs the statements that a hint names.
#[track_caller]
fn run_the_hint(server: &Server, said: &str) {
    let lines = said.lines();
    let statements: Vec<&str> = lines
        .map(|l| l.trim_start_matches("HINT:").trim())
        .filter(|l| l.starts_with("GRANT ") || l.starts_with("SET GLOBAL "))
        .filter_map(|l| l.split(';').next())
        .collect();
    assert!(!statements.is_empty(), "{said}");
    for statement in statements {
        server
            .client(statement)
            .unwrap_or_else(|e| panic!("{statement}: {e:?}"));
    }
}

both!(what_a_load_lacks_is_named_at_once);
fn what_a_load_lacks_is_named_at_once(pair: &Pair) {
    shop(pair);
    pair.fill(
        "USE shop; CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW SET @a = 1; \
        CREATE PROCEDURE p() SELECT 1;",
    );
    pair.dump("a", &[]).ok();
    let target = pair.target();
    target
        .script(b"CREATE USER t_none@localhost; SET GLOBAL local_infile = OFF;")
        .expect("an account");
    let load = || {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .arg("-S")
            .arg(target.socket())
            .args(["-u", "t_none"])
            .run()
    };
    let first = load();
    let trust = "log_bin_trust_function_creators";
    let before = target.value(&format!("SELECT @@{trust}")).expect("a flag");
    run_the_hint(target, &first.said());
    let second = load();
    target
        .client(&format!("SET GLOBAL {trust} = {before}"))
        .expect("a setting");
    target
        .client("SET GLOBAL local_infile = ON")
        .expect("a setting");
    let definers = if pair.is_mysql() {
        "SET_ANY_DEFINER"
    } else {
        "SET USER"
    };
    let first = first
        .code(7)
        .says(&["local_infile = OFF", "lacks privileges", "CREATE", definers]);
    if pair.is_mysql() {
        let first = first
            .says(&["SET GLOBAL log_bin_trust_function_creators = ON; for trigger `shop`.`tr`:"]);
        assert!(!first.said().contains("SUPER"), "{}", first.said());
    }
    // On MySQL, root has SYSTEM_USER, which no table of needs can know of.
    assert!(matches!(second.code, 0 | 3), "{}", second.said());
    pair.same("SELECT * FROM shop.t");
}

both!(missing_privileges_are_named);
fn missing_privileges_are_named(pair: &Pair) {
    shop(pair);
    pair.fill("CREATE USER t_bare@localhost; GRANT SELECT ON shop.* TO t_bare@localhost;");
    let words: &[&str] = if pair.is_mysql() {
        &["GRANT", "BACKUP_ADMIN", "t_bare"]
    } else {
        &["GRANT", "RELOAD", "t_bare"]
    };
    let done = dump_as(pair, pair.source(), "t_bare", "")
        .args(["--consistency", "lock", "--schemas", "shop"])
        .run()
        .code(7)
        .says(words);
    nothing_written(pair);
    // The GRANTs in the hint are enough.
    run_the_hint(pair.source(), &done.said());
    dump_as(pair, pair.source(), "t_bare", "")
        .args(["--consistency", "lock", "--schemas", "shop"])
        .run()
        .ok();
    pair.verify("no").ok();
    pair.target()
        .script(b"CREATE USER t_bare@localhost; GRANT SELECT ON *.* TO t_bare@localhost;")
        .expect("an account");
    Tool::new(["load"])
        .arg(pair.path("no"))
        .arg("-S")
        .arg(pair.target().socket())
        .args(["-u", "t_bare"])
        .run()
        .code(7)
        .says(&["GRANT", "`shop`", "t_bare"]);
    assert_eq!(pair.target_schemas(), Vec::<String>::new());
}

both!(mistyped_arguments_are_named);
fn mistyped_arguments_are_named(pair: &Pair) {
    shop(pair);
    for args in [
        &["--schemas", "shpo"][..],
        &["--tables", "shop.tt"],
        &["--exclude-tables", "shop.x*"],
        &["--schemas", "shop,nothing"],
    ] {
        let done = pair
            .dump("no", args)
            .code(2)
            .says(&["no schema or table matches"]);
        assert!(
            done.err
                .contains(args[1].rsplit(',').next().unwrap_or_default()),
            "{}",
            done.err
        );
    }
    for option in [
        "--schemas",
        "--exclude-schemas",
        "--tables",
        "--exclude-tables",
    ] {
        pair.dump("no", &[option, ""])
            .code(2)
            .says(&["names nothing", "leave the option out"]);
    }
    pair.dump("no", &["--thraeds", "2"])
        .code(2)
        .says(&["--thraeds"]);
    pair.dump("no", &["--threads", "0"]).code(2);
    pair.dump("no", &["--compression", "lzma"])
        .code(2)
        .says(&["lzma"]);
    pair.dump("no", &["--compression", "zstd:99"])
        .code(2)
        .says(&["zstd:99"]);
    pair.dump("no", &["--chunk-size", "many"])
        .code(2)
        .says(&["many"]);
    pair.dump("no", &["--consistency", "maybe"])
        .code(2)
        .says(&["maybe"]);
    pair.dump("no", &["--defaults-file", "/nonexistent.cnf"])
        .code(2)
        .says(&["/nonexistent.cnf"]);
    Tool::new(["dmup"]).run().code(2);
    Tool::new(["dump", "nonsense", "--to"])
        .arg(pair.path("no"))
        .run()
        .code(2)
        .says(&["nonsense"]);
    Tool::new(["verify", "--server", "mysql://a/"])
        .run()
        .code(2);
    Tool::new([
        "verify",
        "--server",
        &pair.source().uri(),
        "--server",
        &pair.source().uri(),
    ])
    .run()
    .code(2)
    .says(&["same server"]);
    nothing_written(pair);
    pair.dump("a", &[]).ok();
    pair.load("a", &["--schemas", "shpo"])
        .code(2)
        .says(&["no schema or table matches", "shpo"]);
    assert_eq!(pair.target_schemas(), Vec::<String>::new());
}

both!(directories_and_targets_that_are_not_empty);
fn directories_and_targets_that_are_not_empty(pair: &Pair) {
    shop(pair);
    std::fs::create_dir(pair.path("full"))
        .and_then(|()| std::fs::write(pair.path("full").join("mine"), "mine"))
        .expect("a directory");
    pair.dump("full", &[]).code(10).says(&["not empty", "full"]);
    assert_eq!(
        std::fs::read_dir(pair.path("full"))
            .expect("a directory")
            .count(),
        1
    );
    pair.dump("full/mine", &[]).code(8);
    assert_eq!(
        std::fs::read_to_string(pair.path("full").join("mine")).expect("untouched"),
        "mine"
    );
    pair.dump("a", &[]).ok();
    pair.dump("a", &[]).code(10).says(&["not empty"]);
    pair.verify("a").ok();

    // The source itself, under any address.
    let into = |uri: &str| {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .args(["--into", uri])
            .run()
    };
    pair.source().client("DROP DATABASE shop").expect("dropped");
    into(&pair.source().uri())
        .code(10)
        .says(&["the server that the archive was taken from"]);
    into(&pair.source().tcp_uri())
        .code(10)
        .says(&["the server that the archive was taken from"]);
    assert_eq!(
        pair.source()
            .value("SHOW DATABASES LIKE 'shop'")
            .expect("an answer"),
        ""
    );

    pair.target()
        .script(
            b"CREATE DATABASE shop; CREATE TABLE shop.t (id INT); INSERT INTO shop.t VALUES (9);",
        )
        .expect("a table");
    pair.load("a", &[])
        .code(10)
        .says(&["`shop`.`t`", "already"]);
    assert_eq!(
        pair.target().value("SELECT id FROM shop.t").expect("a row"),
        "9"
    );
    assert_eq!(
        pair.target()
            .value("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'shop'")
            .expect("a count"),
        "1"
    );
    pair.target()
        .script(
            b"DROP TABLE shop.t; CREATE TABLE shop.other (id INT); \
            CREATE VIEW shop.v AS SELECT 5 AS five;",
        )
        .expect("a view");
    pair.load("a", &[])
        .code(10)
        .says(&["already holds view `shop`.`v`"]);
    pair.target().client("DROP VIEW shop.v").expect("dropped");
    pair.load("a", &[]).ok();
    assert_eq!(
        pair.target()
            .value(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'shop' \
                AND table_name = 'other'"
            )
            .expect("a count"),
        "1",
        "what was there stays"
    );
    // The same load again meets its own tables.
    pair.load("a", &[]).code(10);
}

both!(tables_that_an_account_may_not_see_are_not_called_missing);
fn tables_that_an_account_may_not_see_are_not_called_missing(pair: &Pair) {
    shop(pair);
    pair.dump("a", &[]).ok();
    pair.load("a", &[]).ok();
    let target = pair.target();
    target
        .script(
            b"CREATE USER t_blind@localhost; CREATE TABLE shop.seen (id INT); \
            GRANT SELECT ON shop.seen TO t_blind@localhost;",
        )
        .expect("an account");
    let blind = target.uri().replace("root", "t_blind");
    let archive = || {
        Tool::new(["verify"])
            .arg(pair.path("a"))
            .args(["--against", &blind])
            .run()
    };
    let servers = || {
        let source = pair.source().uri();
        let args = ["verify", "--server", &source, "--server", &blind];
        Tool::new(args).args(["--tables", "shop.t"]).run()
    };
    let grant = "GRANT SELECT ON `shop`.`t` TO 't_blind'@'localhost';";
    let archive_said = archive().code(7);
    archive_said.says(&["may not see `shop`.`t`", grant]);
    servers().code(7).says(&["may not see `shop`.`t`", grant]);
    target
        .client(grant.trim_end_matches(';'))
        .expect("a privilege");
    archive().ok();
    servers().ok();
    // What it may read and is not there differs.
    target.client("DROP TABLE shop.t").expect("no table");
    target
        .client("GRANT SELECT ON *.* TO t_blind@localhost")
        .expect("a privilege");
    archive().code(4).says(&["`shop`.`t`: not on the server"]);
}

both!(targets_without_local_infile_or_read_only);
fn targets_without_local_infile_or_read_only(pair: &Pair) {
    shop(pair);
    pair.dump("a", &[]).ok();
    let with = |set: &str, unset: &str, test: &dyn Fn()| {
        pair.target().client(set).expect("a setting");
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        pair.target().client(unset).expect("a setting");
        outcome.unwrap_or_else(|e| std::panic::resume_unwind(e));
        assert_eq!(pair.target_schemas(), Vec::<String>::new(), "{set}");
    };
    with(
        "SET GLOBAL local_infile = OFF",
        "SET GLOBAL local_infile = ON",
        &|| {
            pair.load("a", &[]).code(7).says(&["local_infile"]);
        },
    );
    pair.target()
        .script(
            b"CREATE USER t_plain@localhost; \
            GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, REFERENCES, INDEX, ALTER, \
              CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EVENT, TRIGGER, \
              LOCK TABLES ON *.* TO t_plain@localhost;",
        )
        .expect("an account");
    if !pair.is_mysql() {
        // From 10.11 on, that does not pass read_only.
        let grant = "GRANT SUPER ON *.* TO t_plain@localhost";
        pair.target().client(grant).expect("a privilege");
    }
    with(
        "SET GLOBAL read_only = ON",
        "SET GLOBAL read_only = OFF",
        &|| {
            Tool::new(["load"])
                .arg(pair.path("a"))
                .arg("-S")
                .arg(pair.target().socket())
                .args(["-u", "t_plain"])
                .run()
                .code(10)
                .says(&["read only", "SET GLOBAL read_only = OFF"]);
        },
    );
    if pair.is_mysql() {
        with(
            "SET GLOBAL super_read_only = ON",
            "SET GLOBAL super_read_only = OFF",
            &|| {
                pair.load("a", &[]).code(10).says(&["read only"]);
            },
        );
        pair.target()
            .client("SET GLOBAL read_only = OFF")
            .expect("a setting");
    }
}

both!(of_two_dumps_into_one_directory_one_is_refused);
fn of_two_dumps_into_one_directory_one_is_refused(pair: &Pair) {
    shop(pair);
    for round in 0..3 {
        let name = format!("same{round}");
        let both = [
            pair.dumping(&name, &[]).start(),
            pair.dumping(&name, &[]).start(),
        ]
        .map(crate::kit::binary::Running::wait);
        let lost: Vec<_> = both.iter().filter(|d| d.code != 0).collect();
        // The second dump may look so late that the first has finished; it then says "is not
        // empty".
        assert_eq!(lost.len(), 1, "{both:?}");
        assert_eq!(lost[0].code, 10, "{lost:?}");
        assert!(
            [
                "another dump is writing",
                "holds a dump that began",
                "is not empty"
            ]
            .iter()
            .any(|w| lost[0].err.contains(w)),
            "{lost:?}"
        );
        assert!(lost[0].err.contains("HINT"), "{lost:?}");
        pair.verify(&name).ok();
    }
}

both!(verify_ca_without_a_ca_names_the_option);
fn verify_ca_without_a_ca_names_the_option(pair: &Pair) {
    if pair.is_mysql() {
        for mode in ["VERIFY_CA", "VERIFY_IDENTITY"] {
            dump_as(pair, pair.source(), "root", "")
                .arg("--ssl-mode")
                .arg(mode)
                .run()
                .code(6)
                .says(&["HINT", "--ssl-ca"]);
        }
        nothing_written(pair);
    }
}
