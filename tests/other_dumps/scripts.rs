//! The flavour's own dump tool, in the ways in which it is called.

use super::*;

const OBJECTS: &[&str] = &["--routines", "--events", "--triggers"];

/// Equal in both schemas, and then forgotten.
#[track_caller]
fn same(pair: &Pair) {
    for schema in rich::SCHEMAS {
        pair.same_definitions(schema);
    }
    pair.same_checksums();
    let found = pair.target().client(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'penstock_load_journal'",
    );
    assert_eq!(found.expect("a count")[0][0].as_deref(), Some("0"));
    forget(pair, &["rich", "odd ``name"]);
}

fn all(pair: &Pair, more: &[&str]) -> Vec<u8> {
    let mut args = OBJECTS.to_vec();
    args.extend(more);
    args.push("--databases");
    args.extend(rich::SCHEMAS);
    dumped(pair, &args)
}

both! {
    fn every_way_of_calling_the_flavours_own_tool(pair) {
        rich::fill(pair);
        let ways: &[&[&str]] = &[
            &[],
            &["--hex-blob"],
            &["--skip-extended-insert", "--single-transaction"],
            &["--complete-insert", "--no-autocommit"],
            &["--skip-opt", "--create-options"],
            &["--compact"],
            &["--order-by-primary", "--skip-tz-utc", "--skip-quote-names", "--skip-comments"],
            &["--default-character-set=latin1", "--hex-blob", "--ignore-table=rich.words", "--ignore-table=odd `name.a `b` \"c\" 'd' ü;\n-- e"],
        ];
        for way in ways {
            // Without quotes no name of the second schema can be read again.
            let plain_names = way.contains(&"--skip-quote-names");
            let latin = way.iter().any(|w| w.contains("latin1"));
            let text = if plain_names {
                dumped(pair, &[OBJECTS, way, &["--databases", "rich"]].concat())
            } else {
                all(pair, way)
            };
            file(pair, "d.sql", &text);
            eprintln!("{way:?}");
            loading(pair, pair.path("d.sql"), &[]).run().ok().says(&["Load complete"]);
            if plain_names || latin {
                pair.same("SELECT id, HEX(v), HEX(bl), SHA2(lb, 256) FROM rich.bytes ORDER BY id");
                pair.same("SELECT a, HEX(b) FROM rich.old ORDER BY a");
                forget(pair, &["rich", "odd ``name"]);
            } else {
                same(pair);
            }
        }
    }
}
