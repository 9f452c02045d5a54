//! The weights of characters and the encoding of file names were taken from servers: every server of
//! these kinds still gives the same.

use super::{run, session, text};
use crate::kit::{each_kind, own_server};
use innodb::collation::Collation;
use innodb::names::file_name;
use testkit::Kind;
use wire::Conn;

each_kind!(weights_and_file_names_equal_those_of_the_server; mysql, mariadb, mariadb118);
/// The weights of characters and the encoding of file names were taken from servers: servers still
/// give the same.
fn weights_and_file_names_equal_those_of_the_server(kind: Kind) {
    let Some(server) = own_server(kind, &[]) else {
        return;
    };
    let mut conn = session(&server);
    let bytes: String = (0..256).map(|b| format!("{b:02x}")).collect();
    let all = text(
        &mut conn,
        "SELECT c.id, c.collation_name, s.character_set_name FROM information_schema.collations c \
        JOIN information_schema.character_sets s ON s.character_set_name = c.character_set_name \
        WHERE s.maxlen = 1 AND c.id <> 63",
    );
    let mut unknown = Vec::new();
    for c in &all {
        let number = c[0].parse().expect("a number");
        let Some(collation) = Collation::of(number, kind == Kind::MySql) else {
            unknown.push(c[1].as_str());
            continue;
        };
        let sql = format!(
            "SELECT WEIGHT_STRING(_{} x'{bytes}' COLLATE {})",
            c[2], c[1]
        );
        let weights = conn.fetch(&sql).expect("weights")[0][0].clone();
        let ours: Option<Vec<u8>> = (0..=255).map(|b| collation.weight(b)).collect();
        assert_eq!(ours, weights, "{}", c[1]);
        assert_eq!(collation.pads(), !c[1].contains("_nopad_"), "{}", c[1]);
    }
    unknown.retain(|c| !c.starts_with("tis620_thai_"));
    unknown.sort_unstable();
    let wanted = ["cp1250_czech_cs", "latin1_german2_ci", "latin2_czech_cs"];
    assert_eq!(unknown, wanted, "{}", all.len());
    weights_of_unicode(&mut conn, kind);
    // MySQL has no function that shows how it encodes names.
    if kind == Kind::MySql {
        return;
    }
    let characters: Vec<char> = ('\u{1}'..='\u{ffff}').collect();
    for some in characters.chunks(2000) {
        let hex: String = some.iter().map(|c| format!("{:04x}", *c as u32)).collect();
        let sql = format!("SELECT CONVERT(_utf16 x'{hex}' USING filename)");
        let written = conn.fetch(&sql).expect("a name")[0][0].clone();
        let written = String::from_utf8(written.expect("a name")).expect("ASCII");
        let name: String = some.iter().collect();
        assert_eq!(file_name(&name, false).as_deref(), Some(written.as_str()));
    }
}

/// Characters compare as on the server, alone and next to each other.
fn weights_of_unicode(conn: &mut Conn, kind: Kind) {
    let mut sql = "SELECT id, collation_name FROM information_schema.collations \
        WHERE character_set_name IN ('utf8mb3', 'utf8mb4') AND collation_name NOT LIKE '%bin'"
        .to_owned();
    if kind != Kind::MySql {
        sql += " UNION SELECT id, full_collation_name FROM \
            information_schema.collation_character_set_applicability WHERE full_collation_name \
            LIKE 'utf8mb_\\_uca1400%'";
    }
    let all = text(conn, &sql);
    let characters = |last: char| ('\u{1}'..=last).collect::<Vec<_>>();
    let mut known = 0;
    for c in &all {
        let number = c[0].parse().expect("a number");
        let Some(collation) = Collation::of(number, kind == Kind::MySql) else {
            continue;
        };
        known += 1;
        let set = c[1].split('_').next().expect("a set");
        let of_server = |conn: &mut Conn, some: &[String]| -> Vec<Vec<u8>> {
            let item = |s: &String| {
                let hex: String = s.bytes().map(|b| format!("{b:02x}")).collect();
                format!("SELECT WEIGHT_STRING(_{set} x'{hex}' COLLATE {})", c[1])
            };
            let items: Vec<String> = some.iter().map(item).collect();
            let rows = conn.fetch(items.join(" UNION ALL ")).expect("weights");
            rows.into_iter()
                .map(|mut r| r.remove(0).expect("weights"))
                .collect()
        };
        let last = if set == "utf8mb3" {
            '\u{ffff}'
        } else {
            '\u{1ffff}'
        };
        let mut weights = Vec::new();
        for some in characters(last).chunks(1000) {
            let ours: Vec<(String, Vec<u8>)> = some
                .iter()
                .filter_map(|c| {
                    let mut out = Vec::new();
                    collation.weigh(c.to_string().as_bytes(), &mut out)?;
                    Some((c.to_string(), out))
                })
                .collect();
            let some: Vec<String> = ours.iter().map(|(c, _)| c.clone()).collect();
            if !some.is_empty() {
                let theirs = of_server(conn, &some);
                weights.extend(theirs.into_iter().zip(ours));
            }
        }
        weights.sort();
        let wrong = weights
            .windows(2)
            .find(|w| w[0].0.cmp(&w[1].0) != w[0].1.1.cmp(&w[1].1.1));
        assert_eq!(wrong, None, "{}", c[1]);
        assert!(weights.len() > 23_000, "{}: {}", c[1], weights.len());
        // No character's weight changes next to another. Collations without a table have no such
        // contractions either, nor has `general`.
        if set == "utf8mb3" || ["general", "nopad"].iter().any(|w| c[1].contains(w)) {
            continue;
        }
        let letters = weights.iter().filter(|w| w.0[0] < 0xfb).map(|w| &w.1.0);
        let values: Vec<String> = letters
            .map(|c| format!("('{}')", c.replace('\'', "''").replace('\\', "\\\\")))
            .collect();
        assert!(values.len() > 2300, "{}", c[1]);
        for sql in [
            "DROP DATABASE IF EXISTS w".to_owned(),
            "CREATE DATABASE w".to_owned(),
            "CREATE TABLE w.c (c VARCHAR(1) CHARACTER SET utf8mb4)".to_owned(),
            format!("INSERT INTO w.c VALUES {}", values.join(", ")),
            format!(
                "CREATE TABLE w.w AS SELECT c, WEIGHT_STRING(c COLLATE {}) AS w FROM w.c",
                c[1]
            ),
        ] {
            run(conn, &sql);
        }
        let sql = format!(
            "SELECT a.c, b.c FROM w.w a, w.w b \
            WHERE WEIGHT_STRING(CONCAT(a.c, b.c) COLLATE {}) <> CONCAT(a.w, b.w) LIMIT 9",
            c[1]
        );
        assert_eq!(text(conn, &sql), Vec::<Vec<String>>::new(), "{}", c[1]);
    }
    // MariaDB 11.4 has its own utf8mb4_0900_ai_ci.
    let wanted = match kind {
        Kind::MySql => 7,
        Kind::MariaDb => 16,
        _ => 17,
    };
    assert_eq!(known, wanted, "{all:?}");
}
