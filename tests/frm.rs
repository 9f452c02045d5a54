//! `.frm` files of MariaDB say what the server says of the table; what is made of them is the same table.

use crate::kit::fixtures::fixture;
use crate::kit::{each_kind, own_server};
use innodb::names::file_name;
use innodb::read::frm::{Column, Frm, KeyKind, Visible};
use testkit::{Kind, Server};

/// Schemas with tables of every sort; few rows.
fn fill(server: &Server) {
    let members: Vec<String> = (0..500).map(|n| format!("'mä{n}'")).collect();
    for script in [
        include_str!("fixtures/all_tables.sql").to_owned(),
        format!("USE f; {}", include_str!("fixtures/all_tables_mariadb.sql")),
        include_str!("fixtures/rich_tables.sql").to_owned(),
        include_str!("fixtures/dates_and_times.sql").to_owned(),
        include_str!("fixtures/partition_kinds.sql").to_owned(),
        fixture!("definitions_mariadb"),
    ] {
        let script = script
            .replace("{MEMBERS}", &members.join(","))
            .replace("{COUNT}", "(SELECT 1 AS n) AS one");
        if let Err(e) = server.script(script.as_bytes()) {
            panic!("{e:?}\nin {script}");
        }
    }
}

#[track_caller]
fn ask(server: &Server, sql: &str) -> Vec<Vec<String>> {
    let rows = server
        .client(sql)
        .unwrap_or_else(|e| panic!("{e:?}: {sql}"));
    let rows = rows.into_iter();
    rows.map(|r| r.into_iter().map(Option::unwrap_or_default).collect())
        .collect()
}

/// The `.frm` file of a table.
fn read(server: &Server, schema: &str, table: &str) -> Frm {
    let name = |name| file_name(name, false).expect("a name");
    let path = server
        .datadir()
        .join(name(schema))
        .join(name(table))
        .with_extension("frm");
    let file = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Frm::read(&file).unwrap_or_else(|e| panic!("{schema}.{table}: {e}"))
}

/// Columns, as `information_schema` has them.
fn columns(frm: &Frm) -> Vec<Vec<String>> {
    let shown = |c: &&Column| matches!(c.visible, Visible::Yes | Visible::Named);
    let one = |c: &Column| {
        vec![
            c.name.clone(),
            c.column_type.clone(),
            c.charset().unwrap_or_default().to_owned(),
            c.collation.clone().unwrap_or_default(),
            if c.nullable { "YES" } else { "NO" }.to_owned(),
            c.comment.clone(),
            c.generated
                .as_ref()
                .map(|g| g.expression.clone())
                .unwrap_or_default(),
        ]
    };
    frm.columns.iter().filter(shown).map(one).collect()
}

/// Keys likewise: a line for each of their columns.
fn keys(frm: &Frm) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for key in &frm.keys {
        for part in &key.parts {
            let column = &frm.columns[part.column];
            if matches!(column.visible, Visible::System | Visible::No) {
                continue;
            }
            let unique = matches!(
                key.kind,
                KeyKind::Primary | KeyKind::Unique | KeyKind::UniqueHash
            );
            let (kind, prefixed) = match key.kind {
                KeyKind::FullText => ("FULLTEXT", false),
                KeyKind::Spatial => ("SPATIAL", true),
                KeyKind::UniqueHash => ("HASH", true),
                _ => ("BTREE", true),
            };
            let prefix = part.prefix.filter(|_| prefixed).map(|n| n.to_string());
            all.push(vec![
                key.name.clone(),
                column.name.clone(),
                if unique { "0" } else { "1" }.to_owned(),
                prefix.unwrap_or_default(),
                kind.to_owned(),
                if part.descending { "D" } else { "A" }.to_owned(),
                key.comment.clone(),
                if key.ignored { "YES" } else { "NO" }.to_owned(),
            ]);
        }
    }
    all
}

/// `SHOW CREATE TABLE` without what no `.frm` file has.
fn shown(server: &Server, schema: &str, table: &str) -> Vec<String> {
    let quoted = table.replace('`', "``");
    let sql = format!(
        "SHOW CREATE TABLE `{}`.`{quoted}`",
        schema.replace('`', "``")
    );
    let text = ask(server, &sql)[0][1].clone();
    let counter = |word: &str| word.starts_with("AUTO_INCREMENT=");
    text.lines()
        .filter(|line| !line.contains(" FOREIGN KEY "))
        .map(|line| {
            let words = line
                .trim_end_matches(',')
                .split(' ')
                .filter(|w| !counter(w));
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn definitions_are_those_of_the_server(kind: Kind) {
    let Some(server) = own_server(kind, &[]) else {
        return;
    };
    fill(&server);
    ask(&server, "CREATE DATABASE again");
    let tables = ask(
        &server,
        "SELECT table_schema, table_name, engine, table_collation, table_comment FROM information_schema.tables \
        WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') \
        AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')",
    );
    assert!(tables.len() > 40, "{tables:?}");
    for table in &tables {
        let (schema, name) = (table[0].as_str(), table[1].as_str());
        let whose = format!("{schema}.{name}");
        let frm = read(&server, schema, name);
        assert_eq!(
            [&frm.engine, &frm.collation, &frm.comment],
            [&table[2], &table[3], &table[4]],
            "{whose}"
        );
        let place = format!(
            "table_schema = '{}' AND table_name = '{}'",
            schema.replace('\'', "''"),
            name.replace('\'', "''")
        );
        let wanted = ask(
            &server,
            &format!(
                "SELECT column_name, column_type, character_set_name, collation_name, is_nullable, column_comment, \
                generation_expression FROM information_schema.columns WHERE {place} ORDER BY ordinal_position"
            ),
        );
        // What latin1 and Unicode do not have is shown with a replacement character.
        let wanted: Vec<Vec<String>> = wanted
            .into_iter()
            .map(|mut c| {
                if matches!(c[2].as_str(), "cp1251" | "koi8r") {
                    c[1] = c[1]
                        .chars()
                        .map(|c| if c.is_ascii() { c } else { '\u{fffd}' })
                        .collect();
                }
                c
            })
            .collect();
        // The rows' start and end have no expression, but words.
        let versioned = |mut c: Vec<String>| {
            if c[6].starts_with("ROW ") {
                c[6].clear();
            }
            c
        };
        let wanted: Vec<_> = wanted.into_iter().map(versioned).collect();
        assert_eq!(columns(&frm), wanted, "{whose}");
        let mut wanted = ask(
            &server,
            &format!(
                "SELECT index_name, column_name, non_unique, sub_part, index_type, IF(collation = 'D', 'D', 'A'), index_comment, ignored \
                FROM information_schema.statistics WHERE {place} ORDER BY index_name, seq_in_index"
            ),
        );
        // Of a spatial key it shows the bytes of a box as its prefix.
        for part in wanted.iter_mut().filter(|k| k[4] == "SPATIAL") {
            part[3].clear();
        }
        let mut found = keys(&frm);
        // In a stable order: their columns stay as they are.
        found.sort_by(|a, b| a[0].cmp(&b[0]));
        wanted.sort_by(|a, b| a[0].cmp(&b[0]));
        assert_eq!(found, wanted, "{whose}");
        for column in frm
            .columns
            .iter()
            .filter(|c| !c.column_type.contains("COMPRESSED"))
        {
            column
                .stored_as()
                .unwrap_or_else(|e| panic!("{whose}: {e}"));
        }
        let create = frm.create_table(name);
        let script = format!("SET sql_mode = ''; USE again; {create};");
        if let Err(e) = server.script(script.as_bytes()) {
            panic!("{whose}: {e:?}: {create}");
        }
        assert_eq!(
            shown(&server, "again", name),
            shown(&server, schema, name),
            "{whose}: {create}"
        );
        ask(
            &server,
            &format!("DROP TABLE again.`{}`", name.replace('`', "``")),
        );
        assert_eq!(frm.not_told, Vec::<String>::new(), "{whose}");
    }
    // Formats of before MySQL 5.6.
    ask(&server, "SET GLOBAL mysql56_temporal_format = OFF");
    ask(
        &server,
        "CREATE TABLE again.old (t TIME, t2 TIME(2), d DATETIME, d6 DATETIME(6), s TIMESTAMP(3) NULL)",
    );
    let types: Vec<_> = read(&server, "again", "old")
        .columns
        .into_iter()
        .map(|c| c.column_type)
        .collect();
    let wanted = "time,time(2),datetime,datetime(6),timestamp(3)".split(',');
    assert_eq!(
        types,
        wanted
            .map(|t| format!("{t} /* mariadb-5.3 */"))
            .collect::<Vec<_>>()
    );
}
each_kind!(definitions_are_those_of_the_server; mariadb, mariadb118);
