//! A server of another series than the one that all tests run against, for what depends on the
//! series: tablespaces and data directories.

use crate::kit::fixtures::{all_tables, imported_as_tablespaces};
use crate::kit::imported::{equal, names};
use crate::kit::{Pair, Tool, own_server};
use testkit::{Install, Kind, Server, Setup};

fn change(server: &Server) {
    for change in [
        "INSERT INTO f.keyed (u) VALUES ('new')",
        "UPDATE f.keyed SET v = CONCAT('zz', LEFT(v, 100)), n = n + 1 WHERE id % 3 = 0",
        "DELETE FROM f.keyed WHERE id % 17 = 0 AND id > 3000",
        "UPDATE f.worded SET b = NULL WHERE id % 50 = 0",
        "UPDATE f.filled SET v = REVERSE(v) WHERE code > 'm'",
        "INSERT INTO f.no_key SELECT a + 10, v FROM f.no_key WHERE a = 1",
        "UPDATE f.of_mariadb SET l = CONCAT('x', l) WHERE a IS NOT NULL",
        "UPDATE f.worked_out SET a = REVERSE(CONCAT(LEFT(a, 60), 'y')) WHERE id % 3 = 0",
    ] {
        let done = server.client(change);
        done.unwrap_or_else(|e| panic!("{change}: {e:?}"));
    }
}

#[test]
fn tablespaces_and_data_directories_of_mariadb_11_8() {
    let Some(mut target) = own_server(Kind::MariaDb118, &["--server-id=82"]) else {
        return;
    };
    let Some(pair) = Pair::take(Kind::MariaDb) else {
        return;
    };
    all_tables(&pair);
    pair.dump("a", &["--chunk-size", "256k"]).code(3);
    let load = || {
        Tool::new(["load"])
            .arg(pair.path("a"))
            .args(["--threads", "2", "--json"])
    };
    let as_files = |done: crate::kit::Done| {
        let mut files = names(&done.summary()["import"]["tables"]);
        files.sort();
        assert_eq!(files, imported_as_tablespaces(&pair));
    };
    let done = load()
        .arg("--socket")
        .arg(target.socket())
        .args([
            "--user",
            "root",
            "--import-mode",
            "tablespace",
            "--skip-binlog",
        ])
        .run();
    as_files(done.ok());
    equal(&pair, &target, "imported");
    // The same archive again, before the source and the first copy are changed.
    let program = Install::find(Kind::MariaDb118).expect("a server");
    let program = program
        .one_program(&pair.path("mariadbd"))
        .expect("a program");
    let done = load()
        .arg("--datadir")
        .arg(pair.path("d"))
        .arg("--mysqld")
        .arg(program)
        .args(["--import-mode", "offline"])
        .run();
    as_files(done.ok());
    let setup = Setup::new(Kind::MariaDb118).expect("a set-up");
    let mut made = setup.over(&pair.path("d")).start().expect("a server");
    equal(&pair, &made, "made");
    for server in [pair.source(), &target, &made] {
        change(server);
    }
    for (server, when) in [(&mut target, "imported"), (&mut made, "made")] {
        server.kill9().expect("killed");
        server.restart().expect("a server again");
        equal(&pair, server, &format!("{when}, changed and killed"));
    }
}
