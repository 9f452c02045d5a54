//! An archive under other names: what it was dumped as is chosen first, then renamed.

use archive::Archive;
use archive::open::Naming;
use base::{Error, Kind, Result};
use server::{Filter, NameMap, quote};
use std::collections::{BTreeMap, BTreeSet};

/// A map of names, and what of the archive is wanted.
struct Mapped<'a> {
    map: &'a NameMap,
    filter: &'a Filter,
}

impl Naming for Mapped<'_> {
    fn schema(&self, schema: &str) -> String {
        self.map.schema(schema).to_owned()
    }

    fn table(&self, schema: &str, table: &str) -> (String, String) {
        self.map.table(schema, table)
    }

    fn trigger(&self, schema: &str, table: &str, trigger: &str) -> String {
        let inner = self.map.inner(schema, table, trigger);
        inner.unwrap_or_else(|| trigger.to_owned())
    }

    fn wants(&self, schema: &str, table: &str) -> bool {
        self.filter.table(schema, table)
    }
}

/// Gives the objects of an archive their names of the map, without a look at whether that is possible: [`check`] does that.
pub fn rename(archive: &mut Archive, map: &NameMap, filter: &Filter) {
    if !map.is_empty() {
        archive.rename(&Mapped { map, filter });
    }
}

/// What an archive or a dump holds, under its own names.
pub struct Held<'a> {
    /// Schemas.
    pub schemas: BTreeSet<&'a str>,
    /// Tables and views: schema and name.
    pub tables: BTreeSet<(&'a String, &'a String)>,
    /// Those of them that are views.
    pub views: BTreeSet<(&'a String, &'a String)>,
}

/// Refuses a map that the selected part of an archive cannot have: a source that is not there, or two objects of one name.
pub fn check(archive: &Archive, map: &NameMap, filter: &Filter) -> Result<()> {
    let tables = archive.tables().map(|t| (&t.schema, &t.name));
    let views: BTreeSet<(&String, &String)> =
        archive.views().map(|v| (&v.schema, &v.name)).collect();
    let held = Held {
        schemas: archive.schemas().iter().map(|s| s.name.as_str()).collect(),
        tables: tables.chain(views.iter().copied()).collect(),
        views,
    };
    check_held(&held, map, filter)
}

/// The same for what a dump of another tool holds.
pub fn check_held(held: &Held<'_>, map: &NameMap, filter: &Filter) -> Result<()> {
    if map.is_empty() {
        return Ok(());
    }
    let schemas = &held.schemas;
    let selected = schemas.iter().filter(|s| filter.schema(s));
    let mut targets: BTreeMap<&str, &str> = BTreeMap::new();
    for (old, _) in map.schemas() {
        let option = format!("--map-schema {}", quote::ident(old));
        found(schemas.contains(old), filter.schema(old), &option, "schema")?;
    }
    for schema in selected {
        if let Some(other) = targets.insert(map.schema(schema), schema) {
            return Err(two(
                "schemas",
                &quote::ident(other),
                &quote::ident(schema),
                &quote::ident(map.schema(schema)),
            ));
        }
    }
    for ((schema, table), (new_schema, _)) in map.tables() {
        let name = quote::qualified(schema, table);
        let there = held.tables.contains(&(schema, table));
        let option = format!("--map-table {name}");
        found(there, filter.table(schema, table), &option, "table or view")?;
        if held.views.contains(&(schema, table)) && new_schema != map.schema(schema) {
            return Err(Error::new(
                Kind::Usage,
                format!("{option} would take a view into another schema, where its names without a schema mean other tables"),
            )
            .hint("map it to another name in its own schema, or its schema with --map-schema"));
        }
    }
    let mut targets: BTreeMap<(String, String), String> = BTreeMap::new();
    let selected = held.tables.iter().filter(|(s, t)| filter.table(s, t));
    for (schema, table) in selected {
        let new = map.table(schema, table);
        let shown = quote::qualified(&new.0, &new.1);
        let name = quote::qualified(schema, table);
        if let Some(other) = targets.insert(new, name.clone()) {
            return Err(two("tables", &other, &name, &shown));
        }
    }
    Ok(())
}

fn found(there: bool, selected: bool, option: &str, what: &str) -> Result<()> {
    let (what, hint) = match (there, selected) {
        (true, true) => return Ok(()),
        (true, false) => (
            format!("{option} does not apply: this {what} is not selected"),
            "leave it out, or select it",
        ),
        (false, _) => (
            format!("{option} does not apply: there is no such {what}"),
            "names are compared exactly, with upper and lower case; nothing was changed",
        ),
    };
    Err(Error::new(Kind::Usage, base::units::printable(&what)).hint(hint))
}

fn two(kind: &str, one: &str, other: &str, name: &str) -> Error {
    let what = format!("two {kind} would have the name {name}: {one} and {other}");
    Error::new(Kind::Usage, base::units::printable(&what))
        .hint("map each to a name of its own, or leave one out with --exclude-tables or --exclude-schemas")
}
