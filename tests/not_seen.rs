//! An account that sees only a part of the server: what it cannot see is said, and `--require-all` makes it an
//! error.

use crate::kit::{Done, Pair, Tool, both};

fn dump(pair: &Pair, to: &str, more: &[&str]) -> Done {
    Tool::new(["dump", "--user", "t_part", "--to"])
        .arg(pair.path(to))
        .arg("--socket")
        .arg(pair.source().socket())
        .args(["--threads", "1", "--no-routines"])
        .args(more.iter().copied())
        .env("PENSTOCK_PASSWORD", "Part-1-word")
        .run()
}

both!(what_an_account_cannot_see_is_said);
fn what_an_account_cannot_see_is_said(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE shop; CREATE TABLE shop.a (id INT PRIMARY KEY); \
        CREATE TABLE shop.b (id INT PRIMARY KEY); INSERT INTO shop.a VALUES (1); \
        CREATE DATABASE hidden; CREATE TABLE hidden.h (id INT PRIMARY KEY); \
        CREATE USER t_part@localhost IDENTIFIED BY 'Part-1-word'; \
        GRANT RELOAD, REPLICATION CLIENT ON *.* TO t_part@localhost; \
        GRANT SELECT, TRIGGER, EVENT ON shop.* TO t_part@localhost;",
    );
    let root = |sql: &str| pair.source().client(sql).expect("a statement");
    if pair.is_mysql() {
        root("GRANT BACKUP_ADMIN ON *.* TO t_part@localhost");
    }
    let unknown = ["not seen", "whether there are any cannot be known"];
    let said = dump(pair, "a", &[]).ok().says(&unknown);
    assert!(
        said.said().contains("GRANT SHOW DATABASES"),
        "{}",
        said.said()
    );
    dump(pair, "b", &["--require-all"])
        .code(7)
        .says(&["--require-all", "cannot be known"]);
    assert!(
        !pair.path("b").exists(),
        "it is refused before anything is written"
    );
    // InnoDB's list of tables is there for an account that may see it.
    root("GRANT PROCESS ON *.* TO t_part@localhost");
    dump(pair, "c", &[])
        .ok()
        .says(&["at least 1 that is not in the archive"]);
    // What is named is all that is wanted.
    let named = dump(pair, "d", &["--require-all", "--include-schemas", "shop"]).ok();
    assert!(!named.said().contains("not seen"), "{}", named.said());
    // Single tables of a schema.
    root("REVOKE SELECT, TRIGGER, EVENT ON shop.* FROM t_part@localhost");
    root("GRANT SELECT, TRIGGER ON shop.a TO t_part@localhost");
    let single = ["--include-tables", "shop.*"];
    dump(pair, "e", &single)
        .ok()
        .says(&["hidden tables of schema `shop`"]);
    dump(pair, "f", &["--include-tables", "shop.*", "--require-all"]).code(7);
    dump(pair, "g", &["--include-tables", "shop.a", "--require-all"]).ok();
    // Everything is seen.
    let all = pair.dump("h", &["--require-all"]).ok();
    assert!(!all.said().contains("not seen"), "{}", all.said());
}
