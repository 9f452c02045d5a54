//! Real servers of every kind: they start, keep their data after a kill, are filled by the
//! generators, and leave nothing.

use bench::tpcc;
use std::path::Path;
use testkit::sample::Sample;
use testkit::{Kind, Server, Setup, available, checksum, debian};

/// Each kind of server that can run here.
fn each(test: impl Fn(Kind)) {
    for kind in Kind::ALL {
        if available(kind) {
            test(kind);
        }
    }
}

#[test]
fn a_server_keeps_its_data_over_a_kill_and_nothing_is_left_of_it() {
    each(|kind| {
        let mut server = Server::start(kind, &["--max-connections=50"]).expect("a server");
        assert_eq!(
            server.value("SELECT @@max_connections").expect("an answer"),
            "50"
        );
        server.client("CREATE DATABASE shop").expect("a schema");
        server
            .client("CREATE TABLE shop.t (id INT PRIMARY KEY, v TEXT) ENGINE=InnoDB")
            .expect("a table");
        server
            .client("INSERT INTO shop.t VALUES (1, 'one'), (2, NULL)")
            .expect("rows");
        server.kill9().expect("a kill");
        assert!(server.conn().is_err());
        server.restart().expect("a restart");
        let rows = server
            .client("SELECT id, v FROM shop.t ORDER BY id")
            .expect("rows");
        assert_eq!(
            rows,
            [
                [Some("1".into()), Some("one".into())],
                [Some("2".into()), None]
            ]
        );
        let directory = server.datadir();
        let process = format!("/proc/{}", server.pid().expect("a process"));
        drop(server);
        assert!(!directory.exists());
        assert!(!Path::new(&process).exists());
    });
}

#[test]
fn a_server_with_a_port_is_reached_over_it() {
    each(|kind| {
        let server = Setup::new(kind)
            .and_then(|s| s.tcp().start())
            .expect("a server");
        let mut conn = wire::Conn::connect(&server.tcp_options()).expect("a connection");
        let port = conn
            .fetch("SELECT @@port")
            .expect("an answer")
            .remove(0)
            .remove(0)
            .expect("a number");
        assert_eq!(
            String::from_utf8_lossy(&port),
            server.port().expect("a port").to_string()
        );
    });
}

#[test]
fn two_servers_of_a_kind_are_two() {
    each(|kind| {
        let (a, b) = (
            Server::start(kind, &[]).expect("a server"),
            Server::start(kind, &[]).expect("a server"),
        );
        assert_ne!(a.socket(), b.socket());
        if kind == Kind::MySql {
            let uuid = "SELECT @@server_uuid";
            assert_ne!(
                a.value(uuid).expect("an answer"),
                b.value(uuid).expect("an answer")
            );
        }
    });
}

#[test]
fn samples_load_and_checksums_tell_servers_apart() {
    each(|kind| {
        let (a, b) = (
            Server::start(kind, &[]).expect("a server"),
            Server::start(kind, &[]).expect("a server"),
        );
        for server in [&a, &b] {
            for sample in [Sample::Sakila, Sample::Chinook] {
                sample
                    .load(server.install(), &server.socket())
                    .expect("a sample");
            }
        }
        let schemas = ["sakila".to_owned(), "Chinook".to_owned()];
        // Sakila's data stamps some rows with the time at which they are inserted.
        a.client("UPDATE Chinook.Artist SET Name = 'x' WHERE ArtistId = 1")
            .expect("an update");
        let comparison =
            checksum::compare(&a.options(), &b.options(), &schemas).expect("checksums");
        assert!(comparison.compared >= 27, "{comparison:?}");
        assert!(
            comparison
                .differences
                .iter()
                .any(|d| d.starts_with("Chinook.Artist")),
            "{comparison:?}"
        );
        assert!(
            !comparison
                .differences
                .iter()
                .any(|d| d.starts_with("Chinook.Genre")),
            "{comparison:?}"
        );
        assert_eq!(
            a.value("SELECT COUNT(*) FROM sakila.film")
                .expect("an answer"),
            "1000"
        );
    });
}

#[test]
fn tpcc_is_consistent_before_and_after_writes() {
    each(|kind| {
        let server = Server::start(kind, &[]).expect("a server");
        let run = run::Run::new(
            std::sync::Arc::new(base::events::Silent),
            base::Cancel::new(),
        );
        let mut load = tpcc::load::Options::new(server.options(), 1);
        load.foreign_keys = true;
        let filled = tpcc::load::run(&run, &load).expect("a filled server");
        let counted = tpcc::Table::ALL.iter().map(|t| {
            let count = server
                .value(&format!("SELECT COUNT(*) FROM tpcc.{}", t.name()))
                .expect("a count");
            count.parse::<u64>().expect("a number")
        });
        assert_eq!(counted.sum::<u64>(), filled.rows);
        let writes =
            tpcc::Workload::start(&run, &tpcc::Options::new(server.options())).expect("terminals");
        while writes.committed() < 50 && writes.check().is_ok() {
            std::thread::yield_now();
        }
        assert!(writes.committed() >= 50);
        writes.stop().expect("no errors");
        let check = || {
            let options = tpcc::check::Options {
                server: server.options(),
                schema: tpcc::SCHEMA.into(),
                threads: 2,
            };
            tpcc::check::run(&run, &options).expect("conditions")
        };
        let found = check();
        assert!(found.holds(), "{:?}", found.conditions);
        server
            .client("UPDATE tpcc.district SET d_ytd = d_ytd + 1 WHERE d_id = 1")
            .expect("an update");
        assert!(!check().holds());
    });
}

#[test]
fn the_debian_index_loads_in_part() {
    if let Err(reason) =
        debian::Mirror::of_this_machine().and_then(|m| m.index(debian::Index::Contents))
    {
        testkit::skip("debian", reason);
        return;
    }
    each(|kind| {
        if kind == Kind::MySql55 {
            return; // its keys are shorter
        }
        let server = Server::start(kind, &[]).expect("a server");
        let load = debian::Load {
            rows: Some(20_000),
            ..debian::Load::default()
        };
        load.run(&server.options()).expect("rows");
        assert_eq!(
            server
                .value("SELECT COUNT(*) FROM debian.file_index")
                .expect("a count"),
            "20000"
        );
        assert_eq!(
            server
                .value("SELECT COUNT(*) FROM debian.package")
                .expect("a count"),
            "20000"
        );
    });
}
