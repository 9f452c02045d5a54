//! Prints what this crate reads from a server: identity, privileges, position,
//! catalog and definitions. For checks by hand:
//! `cargo run -p penstock-server --example catalog -- /path/to/socket user [password]`
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use base::Secret;
use server::catalog::chunk_key;
use server::privileges::DumpNeeds;
use server::{Catalog, Filter, Identity, Position, Privileges, ddl, session};
use std::error::Error;
use std::time::Instant;
use wire::{Conn, Endpoint, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let socket = args.next().ok_or("a socket path is needed")?;
    let mut options = Options::new(
        Endpoint::Unix(socket.into()),
        args.next().unwrap_or_else(|| "root".into()),
    );
    options.password = args.next().map(Secret::new);
    let mut conn = Conn::connect(&options)?;

    let identity = Identity::read(&mut conn)?;
    println!(
        "{identity} ({}), uuid {:?}",
        identity.version_text, identity.uuid
    );
    session::for_catalog(&mut conn, &identity)?;
    let start = Instant::now();
    let filter = Filter::all();
    let catalog = Catalog::read(&mut conn, &identity, &filter)?;
    println!("catalog in {:?}", start.elapsed());

    for schema in &catalog.schemas {
        println!(
            "\n# {} {} {}\n{}",
            schema.name, schema.charset, schema.collation, schema.create_sql
        );
        for t in &schema.tables {
            println!(
                "table {} {:?} {} tx={} rows~{} data={} index={} avg={} ai={:?} fmt={} opt={:?} parts={:?} triggers={:?} problem={:?}",
                t.name,
                t.kind,
                t.engine,
                t.transactional,
                t.rows_estimate,
                t.data_bytes,
                t.index_bytes,
                t.avg_row_length,
                t.auto_increment,
                t.row_format,
                t.create_options,
                t.partitions,
                t.triggers,
                t.problem
            );
            let columns: Vec<String> = t
                .columns
                .iter()
                .map(|c| {
                    let marks = [
                        (c.generated, "G"),
                        (c.invisible, "I"),
                        (c.versioning, "V"),
                        (c.is_binary_unsafe(), "B"),
                        (c.unsigned, "U"),
                        (c.auto_increment, "A"),
                        (c.nullable, "N"),
                    ];
                    let marks: String = marks.iter().filter(|m| m.0).map(|m| m.1).collect();
                    format!("{}:{}[{marks}]", c.select_expression(), c.column_type)
                })
                .collect();
            println!("    {}", columns.join(", "));
            for k in &t.keys {
                println!(
                    "    key {} unique={} {} visible={} {:?}",
                    k.name,
                    k.unique,
                    k.index_type,
                    k.visible,
                    k.columns().collect::<Vec<_>>()
                );
            }
            println!("    chunk key {:?}", chunk_key(t).map(|k| &k.name));
        }
        for v in &schema.views {
            println!("view {} {:?}", v.name, v.columns);
        }
        println!(
            "routines {:?}\nevents {:?}",
            schema
                .routines
                .iter()
                .map(|r| (r.kind, &r.name))
                .collect::<Vec<_>>(),
            schema.events
        );
    }

    println!("\n# definitions");
    let mut all = Vec::new();
    let start = Instant::now();
    for schema in &catalog.schemas {
        for t in &schema.tables {
            let object = match t.kind {
                server::catalog::TableKind::Sequence => ddl::Object::Sequence,
                _ => ddl::Object::Table,
            };
            all.push(ddl::read(&mut conn, object, &t.schema, &t.name));
            for trigger in &t.triggers {
                all.push(ddl::read(
                    &mut conn,
                    ddl::Object::Trigger,
                    &t.schema,
                    trigger,
                ));
            }
        }
        for v in &schema.views {
            all.push(ddl::read(&mut conn, ddl::Object::View, &v.schema, &v.name));
        }
        for r in &schema.routines {
            all.push(ddl::read_routine(&mut conn, r));
        }
        for e in &schema.events {
            all.push(ddl::read(&mut conn, ddl::Object::Event, &schema.name, e));
        }
    }
    println!("{} in {:?}", all.len(), start.elapsed());
    for definition in all {
        match definition {
            Ok(d) => {
                let (context, notes) = d.context(&identity);
                println!(
                    "-- {} {context:?} {notes:?}\n{}",
                    d.title(),
                    ddl::add_if_not_exists(&d.sql)
                );
                let (_, keys) = ddl::strip_foreign_keys(&d.sql);
                if !keys.is_empty() && d.object == ddl::Object::Table {
                    println!("-- foreign keys {keys:#?}");
                }
            }
            Err(e) => println!("-- FAILED {e}"),
        }
    }

    let privileges = Privileges::read(&mut conn, &identity)?;
    let needs = DumpNeeds {
        schemas: catalog.schemas.iter().map(|s| s.name.clone()).collect(),
        backup_lock: true,
        position: true,
        views: true,
        triggers: true,
        routines: true,
        events: true,
        ..DumpNeeds::default()
    };
    println!(
        "\n# {}: missing for a dump {:#?}",
        privileges.account,
        privileges.missing_for_dump(&identity, &needs)
    );
    println!("{:?}", Position::read(&mut conn, &identity));
    println!(
        "load session: {:?}",
        session::for_load(&mut conn, &identity)?
    );
    println!("ddl session: {:?}", session::for_ddl(&mut conn, &identity)?);
    session::for_rows(&mut conn, &identity)?;
    Ok(())
}
