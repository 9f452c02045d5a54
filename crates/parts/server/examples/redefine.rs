//! Creates the objects of one server's schema on another, from the definitions
//! this crate reads, and says which read back differently. Rows stay behind.
//! `cargo run -p penstock-server --example redefine -- SOCKET_FROM SOCKET_TO SCHEMA`
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use server::catalog::TableKind;
use server::ddl::{self, Definition, Object};
use server::{Catalog, Filter, Identity, quote, session};
use std::error::Error;
use wire::{Conn, Endpoint, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, schema] = &args[..] else {
        return Err("two sockets and a schema are needed".into());
    };
    let open =
        |socket: &String| Conn::connect(&Options::new(Endpoint::Unix(socket.into()), "root"));
    let (mut source, mut target) = (open(from)?, open(to)?);
    let source_id = Identity::read(&mut source)?;
    let target_id = Identity::read(&mut target)?;
    println!(
        "{source_id} to {target_id}, same: {}",
        source_id.same_server(&target_id)
    );

    session::for_catalog(&mut source, &source_id)?;
    let pattern = quote::ident(schema);
    let filter = Filter::new(&[pattern.as_str()], &[], &[], &[])?;
    let catalog = Catalog::read(&mut source, &source_id, &filter)?;
    let s = catalog.schemas.first().ok_or("no such schema")?;
    println!("session: {:?}", session::for_ddl(&mut target, &target_id)?);
    let _ = target.execute(format!("DROP DATABASE IF EXISTS {}", quote::ident(schema)));
    let (sql, notes) = ddl::adapt(&s.create_sql, &source_id, &target_id);
    println!("{notes:?}");
    run(&mut target, &ddl::add_if_not_exists(&sql));
    target.execute(format!("USE {}", quote::ident(schema)))?;

    let mut late = Vec::new();
    let mut done: Vec<Definition> = Vec::new();
    for t in &s.tables {
        let object = if t.kind == TableKind::Sequence {
            Object::Sequence
        } else {
            Object::Table
        };
        let d = ddl::read(&mut source, object, schema, &t.name)?;
        let (sql, notes) = ddl::adapt(&d.sql, &source_id, &target_id);
        for n in notes {
            println!("note {}: {n}", d.title());
        }
        let (sql, keys) = ddl::strip_foreign_keys(&sql);
        run(&mut target, &ddl::add_if_not_exists(&sql));
        for k in keys {
            late.push(format!("ALTER TABLE {} ADD {k}", quote::ident(&t.name)));
        }
        done.push(d);
        for name in &t.triggers {
            done.push(ddl::read(&mut source, Object::Trigger, schema, name)?);
        }
    }
    for sql in &late {
        run(&mut target, sql);
    }
    for v in &s.views {
        run(&mut target, &ddl::view_stand_in(None, v));
    }
    for r in &s.routines {
        done.push(ddl::read_routine(&mut source, r)?);
    }
    for e in &s.events {
        done.push(ddl::read(&mut source, Object::Event, schema, e)?);
    }
    for v in &s.views {
        match ddl::read(&mut source, Object::View, schema, &v.name) {
            Ok(d) => done.push(d),
            Err(e) => println!("FAILED {e}"),
        }
    }
    for d in done
        .iter()
        .filter(|d| !matches!(d.object, Object::Table | Object::Sequence))
    {
        if d.object == Object::View {
            run(
                &mut target,
                &format!("DROP VIEW IF EXISTS {}", quote::ident(&d.name)),
            );
        }
        let (context, notes) = d.context(&target_id);
        for sql in context {
            run(&mut target, &sql);
        }
        for n in notes {
            println!("note {n}");
        }
        run(&mut target, &d.sql);
    }
    session::for_catalog(&mut target, &target_id)?;
    let mut same = 0;
    for d in &done {
        match ddl::read(&mut target, d.object, schema, &d.name) {
            Ok(new) if new == *d => same += 1,
            Ok(new)
                if source_id.flavour == target_id.flavour
                    && source_id.version == target_id.version =>
            {
                println!("DIFFERENT {}\n  {d:?}\n  {new:?}", d.title());
            }
            Ok(_) => {}
            Err(e) => println!("FAILED {e}"),
        }
    }
    println!("{} objects, {same} read back equal", done.len());
    Ok(())
}

fn run(conn: &mut Conn, sql: &str) {
    if let Err(e) = conn.execute(sql) {
        println!("FAILED {e}\n  {sql}");
    }
}
