//! Accounts: they come with a dump of everything, go into a server that lacks them, and change none that it has.

use crate::kit::{Done, Pair, Tool, both, few, own_server};
use std::path::Path;
use testkit::{Kind, Server};

/// Accounts with everything that one can have, and a view that has one as its definer.
fn fill(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE ac; USE ac; CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1); \
        CREATE DATABASE other; CREATE TABLE other.o (id INT PRIMARY KEY); \
        CREATE ROLE t_app; CREATE ROLE t_ro; \
        CREATE USER t_a@'10.0.0.%' IDENTIFIED BY 'Secret-1' REQUIRE SSL WITH MAX_QUERIES_PER_HOUR 5 PASSWORD EXPIRE INTERVAL 90 DAY; \
        CREATE USER 't_it''s'@localhost IDENTIFIED BY 'Secret-2'; \
        CREATE USER t_locked@'%' IDENTIFIED BY 'Secret-3' ACCOUNT LOCK; \
        CREATE USER t_def@localhost; \
        GRANT SELECT ON ac.* TO t_ro; GRANT t_ro TO t_app WITH ADMIN OPTION; \
        GRANT t_app TO t_a@'10.0.0.%'; \
        GRANT SELECT (id), INSERT ON ac.t TO 't_it''s'@localhost WITH GRANT OPTION; \
        GRANT PROCESS ON *.* TO 't_it''s'@localhost; GRANT SELECT ON ac.* TO t_def@localhost; \
        CREATE DEFINER = t_def@localhost VIEW ac.w AS SELECT * FROM t;",
    );
    let run = |sql: &str| pair.source().script(sql.as_bytes()).expect("done");
    if pair.is_mysql() {
        run("SET DEFAULT ROLE t_app TO t_a@'10.0.0.%'; \
            ALTER USER t_locked@'%' FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2 COMMENT 'it''s \"x\"'; \
            GRANT BACKUP_ADMIN ON *.* TO t_def@localhost");
    } else {
        run(
            "SET DEFAULT ROLE t_app FOR t_a@'10.0.0.%'; GRANT BINLOG MONITOR ON *.* TO t_def@localhost",
        );
    }
}

/// What a server says of the accounts of a test.
fn shown(server: &Server) -> Vec<String> {
    let list = match server.kind() {
        Kind::MySql => {
            "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)), 'N' FROM mysql.user WHERE user LIKE 't\\_%' ORDER BY 1"
        }
        _ => {
            "SELECT IF(is_role = 'Y', user, CONCAT(QUOTE(user), '@', QUOTE(host))), is_role FROM mysql.user WHERE user LIKE 't\\_%' ORDER BY 1"
        }
    };
    let ask = |sql: &str| server.client(sql).expect("an answer");
    let mut all = Vec::new();
    for row in ask(list) {
        let (name, role) = (row[0].clone().expect("a name"), row[1].clone());
        all.push(name.clone());
        if role.as_deref() == Some("N") {
            let rows = ask(&format!("SHOW CREATE USER {name}"));
            all.extend(rows.into_iter().flatten().flatten());
        }
        let mut grants: Vec<String> = ask(&format!("SHOW GRANTS FOR {name}"))
            .into_iter()
            .flatten()
            .flatten()
            .collect();
        grants.sort();
        all.extend(grants);
    }
    all
}

fn empty(pair: &Pair) {
    let accounts = match pair.kind {
        Kind::MySql => "DROP ROLE IF EXISTS t_app, t_ro",
        _ => "DROP ROLE IF EXISTS t_app; DROP ROLE IF EXISTS t_ro",
    };
    let script = format!(
        "DROP DATABASE IF EXISTS ac; DROP DATABASE IF EXISTS other; {accounts}; \
        DROP USER IF EXISTS t_a@'10.0.0.%', 't_it''s'@localhost, t_locked@'%', t_def@localhost"
    );
    pair.target().script(script.as_bytes()).expect("empty");
}

fn file(pair: &Pair, name: &str) -> String {
    std::fs::read_to_string(pair.path(name).join("@.users.sql")).expect("the file of accounts")
}

fn number(done: Done, key: &str) -> serde_json::Value {
    done.summary()[key].clone()
}

both!(accounts_come_with_a_dump_of_everything);
fn accounts_come_with_a_dump_of_everything(pair: &Pair) {
    fill(pair);
    let dumped = pair.dump("a", &[]).ok();
    dumped.says(&["accounts and roles, with the hashes"]);
    let text = file(pair, "a");
    for part in [
        "\n-- begin user 't_a'@'10.0.0.%'\nCREATE USER IF NOT EXISTS `t_a`@`10.0.0.%` IDENTIFIED ",
        "-- begin default role 't_a'@'10.0.0.%'\nSET DEFAULT ROLE `t_app`",
        "\nGRANT INSERT, SELECT (`id`)",
        "-- End of dumping user accounts\n",
    ] {
        let other = part.replace("INSERT, SELECT (`id`)", "SELECT (`id`), INSERT");
        assert!(
            text.contains(part) || text.contains(&other),
            "{part}\n{text}"
        );
    }
    assert!(!text.contains("Secret"), "a password");
    let users = text.matches("\n-- begin user ").count();
    let checked = Tool::new(["verify", "--json"])
        .arg(pair.path("a"))
        .run()
        .ok();
    assert!(number(checked, "accounts").as_u64().expect("a count") >= users as u64);

    // Without being asked for, they stay there, and what lacks them is named.
    pair.load("a", &[]).code(3).says(&[
        "not loaded",
        "--users makes them",
        "`t_def`@`localhost` does not exist",
        "load with --users",
    ]);
    assert!(shown(pair.target()).is_empty());

    empty(pair);
    let root = "SHOW CREATE USER root@localhost";
    let before = pair.target().value(root).expect("root");
    pair.load("a", &["--users"]).ok().says(&[
        "accounts",
        "made: 6 accounts",
        "left as they were",
        "'root'@'localhost'",
    ]);
    assert_eq!(shown(pair.source()), shown(pair.target()));
    assert_eq!(pair.target().value(root).expect("root"), before);
    let options = wire::Options {
        user: "t_it's".to_owned(),
        password: Some(base::Secret::new("Secret-2")),
        ..pair.target().options()
    };
    wire::Conn::connect(&options).expect("its password is the same");
    let rows = pair.target().value("SELECT COUNT(*) FROM ac.w");
    assert_eq!(rows.expect("the view works"), "1");
}

both!(a_part_of_the_accounts);
fn a_part_of_the_accounts(pair: &Pair) {
    fill(pair);
    // A part of the schemas has none, and says so.
    pair.dump("a", &["--schemas", "ac"])
        .ok()
        .says(&["not included", "accounts, roles and their grants"]);
    assert!(!pair.path("a").join("@.users.sql").exists());
    pair.load("a", &["--users"])
        .code(2)
        .says(&["the archive has no accounts"]);
    pair.dump("b", &["--no-users"])
        .ok()
        .says(&["accounts, roles and their grants"]);
    let some = [
        "--schemas",
        "ac",
        "--include-users",
        "t_a, 't_it''s'@localhost,t_app,t_ro",
    ];
    pair.dump("c", &some).ok().says(&["4 accounts and roles"]);
    pair.dump("d", &["--exclude-users", "t_none"])
        .code(2)
        .says(&["no account matches: t_none"]);
    let none = ["--include-users", "t_a*", "--exclude-users", "t_a,t_app"];
    pair.dump("d", &none).code(2).says(&["no account is left"]);
    if pair.is_mysql() {
        // What no statement shows is named, of the accounts that are wanted.
        let second = "ALTER USER t_locked@'%' IDENTIFIED BY 'Secret-4' RETAIN CURRENT PASSWORD";
        pair.source().script(second.as_bytes()).expect("a password");
        pair.dump("e", &some).ok();
        pair.dump("f", &[])
            .code(3)
            .says(&["'t_locked'@'%' has a second password"]);
    }
    pair.load("c", &["--include-users", "t_def"])
        .code(2)
        .says(&["no account matches: t_def"]);
    assert!(
        pair.target_schemas().is_empty(),
        "refused before anything is done"
    );
    let some = ["--exclude-users", "t_a@10.0.*", "--exclude-tables", "ac.w"];
    pair.load("c", &some).ok().says(&["made: 3 accounts"]);
    let there = shown(pair.target());
    assert!(
        there
            .iter()
            .any(|l| l.contains("it''s") || l.contains("it\\'s")),
        "{there:?}"
    );
    assert!(!there.iter().any(|l| l.contains("t_a'@")), "{there:?}");
}

both!(an_account_that_is_there_is_left_as_it_is);
fn an_account_that_is_there_is_left_as_it_is(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    let theirs = "CREATE USER t_a@'10.0.0.%' IDENTIFIED BY 'Other-1'; GRANT SELECT ON mysql.* TO t_a@'10.0.0.%'";
    pair.target().script(theirs.as_bytes()).expect("an account");
    let of_it =
        |sql: &str| -> Vec<Vec<Option<String>>> { pair.target().client(sql).expect("an account") };
    let sql = [
        "SHOW CREATE USER t_a@'10.0.0.%'",
        "SHOW GRANTS FOR t_a@'10.0.0.%'",
    ];
    let before = sql.map(of_it);
    pair.load("a", &["--users"]).ok().says(&[
        "made: 5 accounts",
        "left as they were",
        "'t_a'@'10.0.0.%'",
    ]);
    assert_eq!(sql.map(of_it), before);
}

both!(a_grant_on_what_is_not_there_is_given_by_the_same_command_later);
fn a_grant_on_what_is_not_there_is_given_by_the_same_command_later(pair: &Pair) {
    fill(pair);
    pair.fill(
        "CREATE USER t_x@localhost; GRANT SELECT ON other.o TO t_x@localhost; GRANT UPDATE ON ac.t TO t_x@localhost",
    );
    pair.dump("a", &[]).ok();
    let load = || {
        Tool::new(["load", "--users", "--schemas", "ac"])
            .arg(pair.path("a"))
            .arg("--socket")
            .arg(pair.target().socket())
            .args(["--user", "root"])
            .env("PENSTOCK_STATE", pair.path("state").as_os_str())
            .run()
    };
    let lacks = "account 't_x'@'localhost' lacks SELECT on `other`.`o`";
    let first = load().code(3).says(&[lacks, "the same command"]);
    assert!(!first.said().contains("an earlier load of the archive:"));
    load().code(3).says(&[
        lacks,
        "made: none",
        "made by an earlier load of the archive: 7 accounts",
    ]);
    // What was done to it since stays.
    let run = |sql: &str| pair.target().script(sql.as_bytes()).expect("done");
    run(
        "REVOKE UPDATE ON ac.t FROM t_x@localhost; CREATE DATABASE other; CREATE TABLE other.o (id INT)",
    );
    load().ok();
    let grants = pair.target().client("SHOW GRANTS FOR t_x@localhost");
    let grants = format!("{:?}", grants.expect("grants"));
    assert!(
        grants.contains("`other`.`o`") && !grants.contains("UPDATE"),
        "{grants}"
    );
    load().code(10);
}

both!(the_other_flavour_gets_what_it_can_take; both_flavours);
fn the_other_flavour_gets_what_it_can_take((pair, target): &mut (Pair, Server)) {
    fill(pair);
    pair.dump("a", &[]).ok();
    let load = Tool::new(["load", "--users", "--exclude-users", "root"])
        .arg(pair.path("a"))
        .arg("--socket")
        .arg(target.socket())
        .args(["--user", "root"])
        .run();
    let named = [
        "account 't_a'@'10.0.0.%' is locked",
        "give it a new password: ALTER USER `t_a`@`10.0.0.%`",
    ];
    let load = match pair.kind {
        Kind::MySql => load.code(3).says(&[
            "caching_sha2_password",
            "FAILED_LOGIN_ATTEMPTS",
            "BACKUP_ADMIN",
            // No statement of either flavour has it follow the source.
            "MariaDB does not apply all that is in a binary log of MySQL",
        ]),
        _ => load.code(3).says(&["mysql_native_password"]),
    };
    let said = load.says(&named).said();
    assert!(!said.contains("CHANGE "), "{said}");
    assert!(
        !said.contains("0x24") && !said.contains("'*"),
        "a hash: {said}"
    );
    let there = shown(target).join("\n");
    assert!(
        there.contains("t_app") && there.contains("SELECT ON `ac`.*"),
        "{there}"
    );
    assert!(there.contains("t_def"), "{there}");
    let rows = target.value("SELECT COUNT(*) FROM ac.w");
    assert_eq!(rows.expect("the view works: its definer is there"), "1");
    let default = target.value(match pair.kind {
        Kind::MySql => "SELECT default_role FROM mysql.user WHERE user = 't_a'",
        _ => "SELECT default_role_user FROM mysql.default_roles WHERE user = 't_a'",
    });
    assert_eq!(default.expect("a role"), "t_app");
}

fn both_flavours(kind: Kind) -> Option<(Pair, Server)> {
    let other = match kind {
        Kind::MySql => Kind::MariaDb,
        _ => Kind::MySql,
    };
    let pair = Pair::take(kind)?;
    Some((pair, own_server(other, &[])?))
}

both!(privileges_are_named_before_the_first_statement);
fn privileges_are_named_before_the_first_statement(pair: &Pair) {
    fill(pair);
    for server in [pair.source(), pair.target()] {
        let backup = if pair.is_mysql() {
            ", BACKUP_ADMIN"
        } else {
            ""
        };
        let sql = format!(
            "CREATE USER t_few@localhost; \
            GRANT RELOAD, REPLICATION CLIENT, PROCESS{backup} ON *.* TO t_few@localhost; \
            GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, CREATE, DROP, ALTER, INDEX, REFERENCES, INSERT, DELETE, \
            LOCK TABLES, CREATE VIEW ON ac.* TO t_few@localhost; \
            GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON other.* TO t_few@localhost"
        );
        server.script(sql.as_bytes()).expect("an account");
    }
    let dump = |name: &str, more: &[&str]| {
        Tool::new(["dump", "-u", "t_few", "--no-routines", "--to"])
            .arg(pair.path(name))
            .arg("-S")
            .arg(pair.source().socket())
            .args(more.iter().copied())
            .run()
    };
    let needs = "GRANT SELECT ON `mysql`.* TO 't_few'@'localhost'";
    dump("a", &[]).ok().says(&[
        "not seen",
        "accounts, roles and their grants are not in the archive",
        needs,
    ]);
    dump("b", &["--users"]).code(7).says(&[needs]);
    assert!(!pair.path("b").exists(), "nothing was written");
    pair.dump("c", &[]).ok();
    let load = |user: &str| {
        Tool::new(["load", "--users", "--schemas", "ac", "-u", user])
            .arg(pair.path("c"))
            .arg("-S")
            .arg(pair.target().socket())
            .run()
    };
    load("t_few").code(7).says(&[
        "CREATE USER",
        "ON *.* TO 't_few'@'localhost'",
        "GRANT SELECT ON `mysql`.`user` TO 't_few'@'localhost'",
    ]);
    assert!(pair.target_schemas().is_empty());
    // What it may not give is named too, and keeps nothing else from being done.
    let grants = "GRANT CREATE USER ON *.* TO t_few@localhost; GRANT SELECT ON mysql.user TO t_few@localhost";
    pair.target().script(grants.as_bytes()).expect("granted");
    load("t_few").code(3).says(&[
        "the target will refuse some grants",
        "PROCESS ON *.* TO 't_few'@'localhost' WITH GRANT OPTION",
        "account 't_it\\'s'@'localhost' lacks PROCESS on *.*",
        "made: 6 accounts",
    ]);
}

both!(a_load_that_is_killed_among_accounts_is_resumed);
fn a_load_that_is_killed_among_accounts_is_resumed(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    let load = |more: &[&str]| {
        Tool::new(["load", "--users", "--user", "root"])
            .arg(pair.path("a"))
            .arg("--socket")
            .arg(pair.target().socket())
            .args(more.iter().copied())
            .env("PENSTOCK_STATE", pair.path("state").as_os_str())
    };
    let places = [
        "an account is about to be made#1",
        "an account is about to be made#3",
        "an account is made#2",
        "an account is made#6",
        "accounts are about to get their privileges#1",
    ];
    for place in few(pair.kind, 2, &places) {
        empty(pair);
        load(&[]).env("PENSTOCK_KILL_AT", place).run().code(137);
        load(&["--resume"]).run().ok().says(&["made: 6 accounts"]);
        assert_eq!(shown(pair.source()), shown(pair.target()), "{place}");
    }
}

both!(a_file_of_accounts_cannot_change_those_that_are_there);
fn a_file_of_accounts_cannot_change_those_that_are_there(pair: &Pair) {
    fill(pair);
    pair.dump("a", &[]).ok();
    as_mysql_shell(&pair.path("a"));
    let users = pair.path("a").join("@.users.sql");
    let text = file(pair, "a");
    let before = shown(pair.target());
    for statement in [
        "GRANT ALL ON *.* TO 't_other'@'%';",
        "ALTER USER 'root'@'localhost' IDENTIFIED BY 'Mine-1';",
        "CREATE USER t_new@'%', root@localhost;",
        "SET GLOBAL local_infile = OFF;",
    ] {
        std::fs::write(&users, format!("{text}{statement}\n")).expect("written");
        let done = pair
            .load("a", &["--users"])
            .code(5)
            .says(&["@.users.sql, line"]);
        assert!(!done.said().contains("Mine-1"));
        assert!(pair.target_schemas().is_empty() && shown(pair.target()) == before);
    }
    // As it was it loads, also without digests.
    std::fs::write(&users, &text).expect("written");
    pair.load("a", &["--users"])
        .ok()
        .says(&["made: 6 accounts"]);
    assert_eq!(shown(pair.source()), shown(pair.target()));
}

/// Makes an archive look as if MySQL Shell had written it.
fn as_mysql_shell(archive: &Path) {
    std::fs::remove_file(archive.join("penstock.json")).expect("a manifest");
    let root = archive.join("@.json");
    let text = std::fs::read_to_string(&root).expect("metadata");
    let from = text.find("\"dumper\": \"penstock").expect("its tool");
    let text = text.replacen("\"dumper\": \"penstock ", "\"dumper\": \"mysqlsh ", 1);
    assert!(from > 0);
    std::fs::write(root, text).expect("written");
}

both!(an_encrypted_archive_shows_no_account);
fn an_encrypted_archive_shows_no_account(pair: &Pair) {
    fill(pair);
    let passphrase = pair.path("passphrase");
    std::fs::write(&passphrase, "correct horse\n").expect("written");
    let key = ["--passphrase-file", passphrase.to_str().expect("a path")];
    pair.dump("a", &key).ok();
    for entry in std::fs::read_dir(pair.path("a")).expect("files") {
        let path = entry.expect("a file").path();
        let bytes = std::fs::read(&path).expect("bytes");
        let has = |text: &[u8]| bytes.windows(text.len()).any(|w| w == text);
        assert!(!has(b"t_locked"), "{}", path.display());
    }
    let more = [key.as_slice(), &["--users"]].concat();
    pair.load("a", &more).ok().says(&["made: 6 accounts"]);
    assert_eq!(shown(pair.source()), shown(pair.target()));
}
