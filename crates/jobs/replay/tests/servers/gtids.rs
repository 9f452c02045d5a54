//! Logs with GTIDs and without, and targets that have a part of them.

use crate::kit::{Log, Tool, each_kind, marks, start, tables};
use base::Kind as Failure;
use binlog::gtid::Executed;
use replay::{Options, Request};
use testkit::{Kind, Server, Setup};

const NONE: [&str; 2] = ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"];

fn some(source: &Server) -> Log {
    source
        .script(
            b"CREATE DATABASE shop; USE shop; CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT); \
            INSERT INTO t (n) VALUES (1), (2), (3); INSERT INTO t (n) SELECT n FROM t; UPDATE t SET n = n * 3; \
            DELETE FROM t WHERE id = 2; INSERT INTO t (n) VALUES (7); INSERT INTO t (n) SELECT n + 1 FROM t;",
        )
        .expect("rows");
    Log::of(source)
}

/// A log without GTIDs goes into servers of every mode that takes it; the one that takes none of it is refused.
#[test]
fn modes_of_mysql() {
    if !testkit::available(Kind::MySql) {
        return;
    }
    let source =
        Server::start(Kind::MySql, &[&NONE[..], &["--server-id=2"]].concat()).expect("a server");
    let anonymous = some(&source);
    let expected = tables(&source);
    let target =
        Server::start(Kind::MySql, &[&NONE[..], &["--server-id=3"]].concat()).expect("a server");
    let tool = Tool::new();
    let (first, last) = (anonymous.first(), anonymous.last());
    let half = anonymous.transactions[4].0;
    tool.replay(&target, &anonymous.files, first, half)
        .expect("the first half");
    target
        .script(b"SET GLOBAL gtid_mode = OFF_PERMISSIVE; SET GLOBAL enforce_gtid_consistency = ON; SET GLOBAL gtid_mode = ON_PERMISSIVE;")
        .expect("another mode");
    let before = marks(&target);
    let done = tool
        .replay(&target, &anonymous.files, half, last)
        .expect("the second half");
    assert_eq!(done.transactions as usize, anonymous.transactions.len() - 5);
    assert_eq!(tables(&target), expected);
    assert_eq!(marks(&target), before);
    target
        .client("SET GLOBAL gtid_mode = ON")
        .expect("another mode");
    let e = tool
        .replay(&target, &anonymous.files, first, last)
        .expect_err("no GTIDs");
    assert_eq!(e.kind, Failure::Target);
    assert!(e.what.contains("gtid_mode = ON") && e.hint.is_some(), "{e}");

    let source = start(Kind::MySql, &["--server-id=2"]);
    let named = some(&source);
    let target =
        Server::start(Kind::MySql, &[&NONE[..], &["--server-id=3"]].concat()).expect("a server");
    let e = tool
        .replay(&target, &named.files, named.first(), named.last())
        .expect_err("GTIDs");
    assert!(e.what.contains("gtid_mode = OFF"), "{e}");
    target
        .script(b"SET GLOBAL gtid_mode = OFF_PERMISSIVE")
        .expect("another mode");
    tool.replay(&target, &named.files, named.first(), named.last())
        .expect("a replay");
    assert_eq!(tables(&target), tables(&source));
}

/// What the target has is left out, wherever it is in the log.
fn what_the_target_has(kind: Kind) {
    let source = start(kind, &["--server-id=2"]);
    let log = some(&source);
    let args = [crate::kit::gtids(kind), &["--server-id=3"]].concat();
    let target = Setup::new(kind).expect("a set-up").tcp().args(args);
    let target = target.start().expect("a server");
    let tool = Tool::new();
    let half = log.transactions[4].0;
    let done = tool
        .replay(&target, &log.files, log.first(), half)
        .expect("the first half");
    let executed = Executed::parse(kind != Kind::MySql, &done.gtids).expect("GTIDs");
    // Over TCP, as to another host.
    let options = Options::new(target.tcp_options(), tool.state.path().to_owned());
    let request = |executed| Request {
        log: &log.files,
        from: log.first(),
        to: log.last(),
        executed,
    };
    let run = run::Run::new(tool.heard.clone(), tool.cancel.clone());
    let done = replay::replay(&run, &options, &request(Some(&executed))).expect("the rest");
    assert_eq!(done.skipped, 5);
    assert_eq!(done.transactions as usize, log.transactions.len() - 5);
    assert_eq!(tables(&target), tables(&source));
    // All of it is there.
    let executed = Executed::parse(kind != Kind::MySql, &done.gtids).expect("GTIDs");
    let done = replay::replay(&run, &options, &request(Some(&executed))).expect("nothing");
    assert_eq!(
        (done.skipped as usize, done.transactions),
        (log.transactions.len(), 0)
    );
    assert_eq!(tables(&target), tables(&source));
}
each_kind!(what_the_target_has; mysql, mariadb);
