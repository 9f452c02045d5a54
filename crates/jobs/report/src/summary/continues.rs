//! From where a restored copy continues: the place in the binary logs of its source, and the statements that say so to a
//! server and to the programs that replay binary logs.

use super::Item;
use archive::manifest::{Position, Source};
use base::units::printable;
use serde_json::{Value, json};
use server::identity::Version;
use server::{Flavour, quote};

/// How a copy gets what happened at its source since.
#[derive(Debug, Default)]
struct Ways {
    /// A replica, by file and position.
    by_position: Vec<String>,
    /// A replica, by GTID.
    by_gtid: Vec<String>,
    /// A replay of binary logs that were kept.
    replay: Vec<String>,
}

/// What it is called.
pub(super) const LABEL: &str = "continue from there";

/// Where a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    /// In a server of this flavour; `None` if that is not known yet.
    Rows(Option<Flavour>),
    /// In the files of its source, with what they say of GTIDs.
    Files,
}

/// Describes it; nothing, if there is no position.
pub(super) fn continues(p: &Position, of: &Source, copy: Copy) -> Item {
    let item = Item::new(LABEL);
    let Some(mut ways) = ways(p, of, copy == Copy::Files) else {
        return item.key("continue", Value::Null);
    };
    let mut lines = Vec::new();
    if let Copy::Rows(Some(flavour)) = copy
        && (flavour == Flavour::MariaDb) != is_mariadb(of)
    {
        // Neither its statements nor all of its events are those of this server.
        ways = Ways::default();
        lines.push(format!(
            "not possible: {flavour} does not apply all that is in a binary log of {}",
            printable(&of.flavour)
        ));
    }
    for (name, statements) in [
        ("a replica", &ways.by_position),
        ("a replica, by GTID", &ways.by_gtid),
        ("a replay of kept binary logs", &ways.replay),
    ] {
        if !statements.is_empty() {
            lines.push(printable(&format!("{name}: {}", statements.join("; "))));
        }
    }
    item.list(&lines).key(
        "continue",
        json!({
            "server_uuid": of.uuid, "host": of.hostname, "port": of.port,
            "binlog_file": p.binlog_file, "binlog_position": p.binlog_position,
            "replica_by_position": ways.by_position, "replica_by_gtid": ways.by_gtid, "replay": ways.replay,
        }),
    )
}

fn is_mariadb(of: &Source) -> bool {
    of.flavour.eq_ignore_ascii_case("mariadb")
}

fn ways(p: &Position, of: &Source, files: bool) -> Option<Ways> {
    let mariadb = is_mariadb(of);
    let (file, at) = p.binlog_file.as_ref().zip(p.binlog_position)?;
    // Before 8.0.23 MySQL had the words of MariaDB.
    let old = Version::parse(&of.version).is_some_and(|v| (v.major, v.minor, v.patch) < (8, 0, 23));
    let (statement, word) = match mariadb || old {
        true => ("CHANGE MASTER TO", "MASTER"),
        false => ("CHANGE REPLICATION SOURCE TO", "SOURCE"),
    };
    let mut address = Vec::new();
    if !of.hostname.is_empty() {
        address.push(format!("{word}_HOST={}", quote::text(&of.hostname)));
    }
    if of.port > 0 {
        address.push(format!("{word}_PORT={}", of.port));
    }
    let with =
        |more: &[String]| format!("{statement} {}", [&address[..], more].concat().join(", "));
    let by_position = vec![with(&[
        format!("{word}_LOG_FILE={}", quote::text(file)),
        format!("{word}_LOG_POS={at}"),
    ])];
    let by_gtid = match (&p.gtid_executed, &p.gtid_binlog_pos) {
        (Some(set), _) if !mariadb && !set.is_empty() => {
            let auto = with(&[format!("{word}_AUTO_POSITION=1")]);
            match files {
                // The files say which transactions are in them.
                true => vec![auto],
                false => vec![
                    format!("SET GLOBAL gtid_purged={}", quote::text(&format!("+{set}"))),
                    auto,
                ],
            }
        }
        (_, Some(set)) if mariadb && !set.is_empty() => vec![
            format!("SET GLOBAL gtid_slave_pos={}", quote::text(set)),
            with(&["MASTER_USE_GTID=slave_pos".to_owned()]),
        ],
        _ => Vec::new(),
    };
    let program = match mariadb {
        true => "mariadb-binlog",
        false => "mysqlbinlog",
    };
    Some(Ways {
        by_position,
        by_gtid,
        replay: vec![format!("{program} --start-position={at} {file} …")],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(flavour: &str, version: &str) -> Source {
        Source {
            flavour: flavour.to_owned(),
            version: version.to_owned(),
            hostname: "db1".to_owned(),
            port: 3306,
            ..Source::default()
        }
    }

    fn position() -> Position {
        Position {
            binlog_file: Some("binlog.000007".to_owned()),
            binlog_position: Some(4711),
            ..Position::default()
        }
    }

    #[test]
    fn each_flavour_gets_its_own_words() {
        let place = Position {
            gtid_executed: Some("a-b:1-5".to_owned()),
            ..position()
        };
        let of = |version: &str, files| ways(&place, &source("MySQL", version), files).unwrap();
        let new = of("9.7.0", true);
        assert_eq!(
            new.by_position,
            [
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='db1', SOURCE_PORT=3306, SOURCE_LOG_FILE='binlog.000007', SOURCE_LOG_POS=4711"
            ]
        );
        assert_eq!(
            new.by_gtid,
            [
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='db1', SOURCE_PORT=3306, SOURCE_AUTO_POSITION=1"
            ]
        );
        assert_eq!(
            new.replay,
            ["mysqlbinlog --start-position=4711 binlog.000007 …"]
        );
        assert_eq!(
            of("9.7.0", false).by_gtid[0],
            "SET GLOBAL gtid_purged='+a-b:1-5'"
        );
        assert!(
            of("5.7.44", true).by_position[0].starts_with("CHANGE MASTER TO MASTER_HOST='db1'")
        );
        let place = Position {
            gtid_binlog_pos: Some("0-1-9".to_owned()),
            ..position()
        };
        let mariadb = ways(&place, &source("MariaDB", "10.11.19-MariaDB"), true).unwrap();
        assert_eq!(
            mariadb.by_gtid,
            [
                "SET GLOBAL gtid_slave_pos='0-1-9'",
                "CHANGE MASTER TO MASTER_HOST='db1', MASTER_PORT=3306, MASTER_USE_GTID=slave_pos"
            ]
        );
        assert!(
            mariadb.by_position[0]
                .ends_with("MASTER_LOG_FILE='binlog.000007', MASTER_LOG_POS=4711")
        );
        assert!(ways(&Position::default(), &source("MySQL", "9.7.0"), true).is_none());
        let statements = |copy| {
            let of = source("MariaDB", "10.11.19-MariaDB");
            let item = continues(&place, &of, copy);
            item.keys[0].1["replica_by_gtid"].as_array().map(Vec::len)
        };
        assert_eq!(statements(Copy::Rows(Some(Flavour::MariaDb))), Some(2));
        assert_eq!(statements(Copy::Rows(Some(Flavour::MySql))), Some(0));
    }
}
