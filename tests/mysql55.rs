//! A dump of MySQL 5.5 loads into current servers of both flavours.

use crate::kit::fixtures::fixture;
use crate::kit::{Pair, Tool, both, own_server};

both!(a_dump_of_mysql_5_5_loads);
fn a_dump_of_mysql_5_5_loads(pair: &Pair) {
    let Some(old) = own_server(testkit::Kind::MySql55, &[]) else {
        return;
    };
    old.script(fixture!("mysql55").as_bytes()).expect("tables");
    Tool::new(["dump", "--socket"])
        .arg(old.socket())
        .args(["-u", "root", "--to"])
        .arg(pair.path("a"))
        .run()
        .code(3)
        .says(&["`old`.`ft`", "MyISAM"]);
    pair.verify("a").ok();
    let load = pair.load("a", &[]);
    // What a current server cannot have is reported (YEAR(2), removed SQL modes); all rows are
    // there.
    assert!(load.code == 0 || load.code == 3, "{}", load.said());
    let load = load.says(&["equal:"]);
    assert!(
        load.said().contains("adapted")
            || load.said().contains("NO_AUTO_CREATE_USER")
            || !pair.is_mysql(),
        "{}",
        load.said()
    );
    let both = |sql: &str| {
        let (was, is) = (
            old.client(sql).expect("rows"),
            pair.target().client(sql).expect("rows"),
        );
        assert_eq!(was, is, "{sql}");
        assert!(!was.is_empty());
    };
    both("SELECT id, HEX(name), HEX(note), d, dt, ts, f * 1e0, HEX(e) FROM old.l ORDER BY id");
    both("SELECT id, t FROM old.ft ORDER BY id");
    both("SELECT id, y4 FROM old.y ORDER BY id");
    both("SELECT id, HEX(v) FROM old.v ORDER BY id");
    both("SELECT COUNT(*) FROM old.log");
    both("SELECT old.f(41)");
    assert_eq!(
        pair.target()
            .value("SELECT id FROM old.ft WHERE MATCH(t) AGAINST ('quick' IN BOOLEAN MODE)")
            .expect("a row"),
        "1"
    );
    pair.verify_against("a", &old).ok();
    Tool::new([
        "verify",
        "--server",
        &old.uri(),
        "--server",
        &pair.target().uri(),
    ])
    .run()
    .ok();
}
