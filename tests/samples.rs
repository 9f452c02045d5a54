//! Public sample databases are dumped, loaded and compared, and their programs work on the copy.

use crate::kit::{Pair, Tool, both};
use testkit::debian;
use testkit::sample::{Sample, shared_data};

fn sample(pair: &Pair, sample: Sample) -> bool {
    if !sample.scripts().iter().all(|s| s.is_file()) {
        let directory = shared_data();
        let reason = format!(
            "no sample data in {} (PENSTOCK_SHARED)",
            directory.display()
        );
        testkit::skip("samples", reason);
        return false;
    }
    sample
        .load(pair.source().install(), &pair.source().socket())
        .expect("the sample loads");
    true
}

both!(sakila);
fn sakila(pair: &Pair) {
    if !sample(pair, Sample::Sakila) {
        return;
    }
    pair.carry("a", &["--chunk-size", "256k"])
        .says(&["1 schema"]);
    pair.same_schema("sakila");
    pair.same("SELECT * FROM sakila.customer_list ORDER BY 1 LIMIT 50");
    pair.same("SELECT * FROM sakila.sales_by_film_category ORDER BY 1");
    pair.same("SELECT actor_id, LEFT(film_info, 200) FROM sakila.actor_info ORDER BY 1 LIMIT 20");
    // Full text, geometry, a function and a procedure that call others.
    let found = pair.same(
        "SELECT film_id FROM sakila.film_text WHERE MATCH(title, description) AGAINST ('drama') \
        ORDER BY 1",
    );
    assert!(found.len() > 5);
    // The script gives the column to MySQL only.
    if pair.is_mysql() {
        pair.same(
            "SELECT address_id, ST_AsText(location), ST_SRID(location) FROM sakila.address \
            ORDER BY 1",
        );
    }
    pair.same(
        "SELECT sakila.get_customer_balance(3, '2006-02-14 00:00:00'), \
        sakila.inventory_in_stock(9)",
    );
    let call = |server: &testkit::Server| {
        let mut conn = server.conn().expect("a connection");
        conn.execute("USE sakila").expect("a schema");
        conn.fetch("SELECT inventory_held_by_customer(10), COUNT(*) FROM rental")
            .expect("an answer")
    };
    assert_eq!(call(pair.source()), call(pair.target()));
    // The trigger that updates film_text exists, and did not fire for loaded rows.
    for server in [pair.source(), pair.target()] {
        server
            .client("UPDATE sakila.film SET title = 'CHANGED TITLE' WHERE film_id = 5")
            .expect("an update");
    }
    let rows = pair.same("SELECT title FROM sakila.film_text WHERE film_id = 5");
    assert_eq!(rows[0][0].as_deref(), Some("CHANGED TITLE"));
    assert!(
        pair.target()
            .client("DELETE FROM sakila.film WHERE film_id = 1")
            .is_err(),
        "foreign keys hold"
    );
}

both!(chinook);
fn chinook(pair: &Pair) {
    if !sample(pair, Sample::Chinook) {
        return;
    }
    pair.carry("a", &["--compression", "none"]);
    pair.same_schema("Chinook");
    pair.same("SELECT ArtistId, Name, HEX(Name) FROM Chinook.Artist ORDER BY 1");
    pair.a_change_is_found(
        "a",
        "`Chinook`.`Artist`",
        "UPDATE Chinook.Artist SET Name = 'x' WHERE ArtistId = 6",
    );
}

both!(scripts_of_the_samples);
/// Scripts written by hand: unquoted names, `N'…'`, keys in ALTER TABLE. The server's own client is what to agree with.
fn scripts_of_the_samples(pair: &Pair) {
    for (of, schema, part) in [
        (Sample::Sakila, "sakila", "film"),
        (Sample::Chinook, "Chinook", "Album"),
    ] {
        if !sample(pair, of) {
            return;
        }
        let texts = of.scripts().into_iter();
        let texts: Vec<Vec<u8>> = texts.map(|s| std::fs::read(s).expect("a script")).collect();
        std::fs::write(pair.path("s.sql"), texts.concat()).expect("a script");
        let load = |more: &[&str]| {
            Tool::new(["load"])
                .arg(pair.path("s.sql"))
                .args(["--threads", "2", "--into", &pair.target().uri()])
                .args(more.iter().copied())
                .run()
                .ok()
        };
        load(&[]);
        match pair.is_mysql() {
            true => pair.same_schema(schema),
            // Its client leaves comments out of routines.
            false => pair.same_checksums(),
        }
        load(&["--map-schema", &format!("{schema}=copy")]);
        let tables = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_type = 'BASE TABLE'"
        );
        let rows = |sql: &str| {
            let rows = pair.target().client(sql);
            rows.unwrap_or_else(|e| panic!("{sql}: {e:?}"))
        };
        let tables: Vec<String> = rows(&tables).into_iter().flatten().flatten().collect();
        assert!(tables.len() > 10);
        let sum = |name: String| rows(&format!("CHECKSUM TABLE {name}"))[0][1].clone();
        for table in tables {
            let (one, other) = (format!("`{schema}`.`{table}`"), format!("copy.`{table}`"));
            assert_eq!(sum(one), sum(other), "{table}");
        }
        // One table beside its original, without those that its foreign keys name: they are there.
        let (one, other) = (format!("{schema}.{part}"), format!("{schema}.again"));
        load(&["--tables", &one, "--map-table", &format!("{one}={other}")]);
        assert_eq!(sum(one), sum(other.clone()));
        rows("DROP DATABASE copy");
        rows(&format!("DROP TABLE {other}"));
    }
}

both!(the_debian_index_in_part);
fn the_debian_index_in_part(pair: &Pair) {
    if let Err(reason) =
        debian::Mirror::of_this_machine().and_then(|m| m.index(debian::Index::Contents))
    {
        testkit::skip("debian", reason);
        return;
    }
    let load = debian::Load {
        rows: Some(60_000),
        ..debian::Load::default()
    };
    load.run(&pair.source().options()).expect("rows");
    pair.fill("ANALYZE TABLE debian.file_index, debian.package;");
    let done = pair.dump("a", &["--chunk-size", "512k", "--json"]).ok();
    assert!(done.summary()["chunks"].as_u64() > Some(10), "{}", done.out);
    pair.load("a", &[]).ok().says(&["equal:"]);
    pair.same_schema("debian");
}
