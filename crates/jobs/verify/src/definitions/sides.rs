//! The definitions of one side: of a server, or of an archive.

use super::parse::{Definition, Sort, objects};
use archive::Archive;
use archive::sqlfile::{self, Header, Program, ProgramKind};
use base::units::printable;
use base::{Error, Kind, Result};
use rows::definitions::{kind_of, program, view};
use run::{Run, failure};
use server::catalog::{Routine, Schema, TableKind};
use server::ddl::{self, Object};
use server::privileges::DumpNeeds;
use server::{Catalog, Filter, Identity, Privileges, quote};
use std::collections::{BTreeMap, BTreeSet};
use wire::Conn;

/// What an object is called: its sort, its schema, and its name.
pub type Name = (Sort, String, String);

/// The definitions of one side.
#[derive(Debug, Default)]
pub struct Side {
    /// All that could be read.
    pub all: BTreeMap<Name, Definition>,
    /// What could not be, and why.
    pub unread: BTreeMap<Name, String>,
    /// The triggers of each table, in the order in which they run.
    pub triggers: BTreeMap<(String, String), Vec<String>>,
    /// Whether triggers were left out of it.
    pub without_triggers: bool,
    /// Whether the server stores names in small letters, or compares them so (`lower_case_table_names`).
    pub folds: bool,
    /// `mysql` or `mariadb`, and major and minor version.
    pub release: (String, u16, u16),
}

impl Side {
    /// The same with all names and texts in small letters, as far as they matter where one side stores them so.
    pub fn folded(self) -> Side {
        let name = |(sort, schema, name): Name| (sort, schema.to_lowercase(), name.to_lowercase());
        let lower = |d: Definition| Definition {
            lines: d.lines.iter().map(|l| l.to_lowercase()).collect(),
            settings: d.settings,
        };
        Side {
            all: self
                .all
                .into_iter()
                .map(|(n, d)| (name(n), lower(d)))
                .collect(),
            unread: self
                .unread
                .into_iter()
                .map(|(n, why)| (name(n), why))
                .collect(),
            triggers: self
                .triggers
                .into_iter()
                .map(|((schema, table), all)| {
                    let all = all.iter().map(|t| t.to_lowercase()).collect();
                    ((schema.to_lowercase(), table.to_lowercase()), all)
                })
                .collect(),
            ..self
        }
    }

    fn add(&mut self, schema: &str, file: &str, text: &str) -> Result<()> {
        let found = objects(text)
            .map_err(|e| Error::new(Kind::Archive, printable(&format!("{file}: {e}"))))?;
        for (sort, name, mut definition) in found {
            if sort == Sort::View {
                // MariaDB names the schema of what a view reads, or not, by whether its definer exists.
                let own = format!("{}.", quote::ident(schema));
                for line in &mut definition.lines {
                    *line = line.replace(&own, "");
                }
            }
            self.all.insert((sort, schema.to_owned(), name), definition);
        }
        Ok(())
    }
}

/// What a routine is here.
fn sort_of(kind: ProgramKind) -> Sort {
    match kind {
        ProgramKind::Function => Sort::Function,
        ProgramKind::Package => Sort::Package,
        ProgramKind::PackageBody => Sort::PackageBody,
        _ => Sort::Procedure,
    }
}

/// What of a server's catalog has the name of something that `ours` has: more is not looked at, so no privilege is needed for it.
pub fn within(catalog: Catalog, ours: &Side, id: &Identity) -> Catalog {
    let fold = |name: &str| match id.lower_case_table_names {
        0 => name.to_owned(),
        _ => name.to_lowercase(),
    };
    let names = ours.all.keys();
    let names: BTreeSet<(Sort, String, String)> = names
        .map(|(sort, schema, name)| (*sort, fold(schema), fold(name)))
        .collect();
    let schema = |mut schema: Schema| {
        let of = fold(&schema.name);
        let has = |sort: Sort, name: &str| names.contains(&(sort, of.clone(), fold(name)));
        let table = |name: &str| has(Sort::Table, name) || has(Sort::Sequence, name);
        schema.tables.retain(|t| table(&t.name));
        schema.views.retain(|v| has(Sort::View, &v.name));
        schema.events.retain(|e| has(Sort::Event, e));
        let routine = |r: &Routine| kind_of(r.kind).is_some_and(|k| has(sort_of(k), &r.name));
        schema.routines.retain(routine);
        // What belongs to no table takes privileges on the whole schema.
        let of_schema = |(sort, s, _): &(Sort, String, String)| {
            let program = matches!(
                sort,
                Sort::Event | Sort::Function | Sort::Procedure | Sort::Package | Sort::PackageBody
            );
            program && *s == of
        };
        schema.whole = names.iter().any(of_schema);
        schema
    };
    Catalog {
        schemas: catalog.schemas.into_iter().map(schema).collect(),
        histograms_seen: catalog.histograms_seen,
    }
}

/// What is defined on a server, as far as the catalog goes; or why the account cannot tell: objects that it may not see look as if
/// they were not there.
pub fn of_server(
    run: &Run,
    conn: &mut Conn,
    id: &Identity,
    catalog: &Catalog,
) -> Result<std::result::Result<Side, String>> {
    let account = Privileges::read(conn, id)
        .map_err(|e| failure::server("cannot read the account's privileges", e))?;
    let needs = DumpNeeds {
        views: true,
        triggers: true,
        routines: true,
        events: true,
        ..DumpNeeds::of(catalog)
    };
    let missing = account.missing_for_dump(id, &needs);
    if !missing.is_empty() {
        return Ok(Err(format!(
            "definitions: account {} lacks privileges on {id} ({};)",
            account.account,
            missing.join("; ")
        )));
    }
    let mut reading = Reading {
        conn,
        header: Header::default(),
        side: Side {
            folds: id.lower_case_table_names != 0,
            release: (
                id.flavour.to_string().to_lowercase(),
                id.version.major,
                id.version.minor,
            ),
            ..Side::default()
        },
    };
    for schema in &catalog.schemas {
        run.check()?;
        reading.schema(run, schema)?;
    }
    Ok(Ok(reading.side))
}

struct Reading<'a> {
    conn: &'a mut Conn,
    header: Header<'a>,
    side: Side,
}

impl Reading<'_> {
    fn schema(&mut self, run: &Run, schema: &Schema) -> Result<()> {
        let name = schema.name.as_str();
        let create = self.read(Sort::Schema, Object::Database, name, "")?;
        let (mut events, mut routines) = (Vec::new(), Vec::new());
        for event in &schema.events {
            let read = self.read(Sort::Event, Object::Event, name, event)?;
            events.extend(read.map(|d| program(ProgramKind::Event, &d)));
        }
        for routine in &schema.routines {
            let Some(kind) = kind_of(routine.kind) else {
                continue;
            };
            let sort = sort_of(kind);
            let read = ddl::read_routine(self.conn, routine);
            let read = self.kept(sort, name, &routine.name, read)?;
            routines.extend(read.map(|d| program(kind, &d)));
        }
        if let Some(create) = create {
            let text = sqlfile::schema_sql(
                &self.header,
                name,
                &create.sql,
                &schema.collation,
                &events,
                &routines,
            );
            self.side.add(name, name, &text)?;
        }
        for table in &schema.tables {
            run.check()?;
            let (sort, object) = match table.kind {
                TableKind::Sequence => (Sort::Sequence, Object::Sequence),
                _ => (Sort::Table, Object::Table),
            };
            if let Some(d) = self.read(sort, object, name, &table.name)? {
                let text = sqlfile::table_sql(&self.header, name, &table.name, &d.sql);
                self.side.add(name, &table.name, &text)?;
            }
            let of = (name.to_owned(), table.name.clone());
            self.side.triggers.insert(of, table.triggers.clone());
            let mut triggers: Vec<Program> = Vec::new();
            for trigger in &table.triggers {
                let read = self.read(Sort::Trigger, Object::Trigger, name, trigger)?;
                triggers.extend(read.map(|d| program(ProgramKind::Trigger, &d)));
            }
            let text = sqlfile::triggers_sql(
                &self.header,
                name,
                &table.name,
                &schema.collation,
                &triggers,
            );
            self.side.add(name, &table.name, &text)?;
        }
        for v in &schema.views {
            if let Some(d) = self.read(Sort::View, Object::View, name, &v.name)? {
                let text = view(&self.header, &d);
                self.side.add(name, &v.name, &text)?;
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        sort: Sort,
        object: Object,
        schema: &str,
        name: &str,
    ) -> Result<Option<ddl::Definition>> {
        let read = ddl::read(self.conn, object, schema, name);
        let name = match sort {
            Sort::Schema => schema,
            _ => name,
        };
        self.kept(sort, schema, name, read)
    }

    /// A definition; one that the server does not show is noted.
    fn kept(
        &mut self,
        sort: Sort,
        schema: &str,
        name: &str,
        read: server::Result<ddl::Definition>,
    ) -> Result<Option<ddl::Definition>> {
        let error = match read {
            Ok(definition) => return Ok(Some(definition)),
            Err(e) => e,
        };
        let shown = match &error {
            server::Error::Wire { source, .. } => !matches!(source, wire::Error::Server(_)),
            _ => false,
        };
        let said = failure::server("cannot read a definition", error);
        if shown {
            return Err(said);
        }
        let name = (sort, schema.to_owned(), name.to_owned());
        self.side.unread.insert(name, said.what);
        Ok(None)
    }
}

/// What an archive defines, of what the filter takes.
pub fn of_archive(archive: &Archive, filter: &Filter) -> Result<Side> {
    let mut side = Side::default();
    if let Some(m) = archive.manifest() {
        let version = server::Version::parse(&m.source.version).unwrap_or_default();
        side.without_triggers = m.options.get("triggers") == Some(&false.into());
        side.release = (
            m.source.flavour.to_lowercase(),
            version.major,
            version.minor,
        );
    }
    let text = |file: &str| {
        archive
            .sql(file)
            .map_err(|e| failure::archive(format_args!("cannot read {file}"), &e))
    };
    for schema in archive.schemas() {
        if !filter.schema(&schema.name) {
            continue;
        }
        let whole = filter.whole_schema(&schema.name);
        for file in &schema.ddl {
            side.add(&schema.name, file, &text(file)?)?;
        }
        if !whole {
            // Routines and events belong to no table.
            side.all
                .retain(|(sort, of, _), _| *of != schema.name || *sort == Sort::Schema);
        }
        for table in &schema.tables {
            if !filter.table(&schema.name, &table.name) {
                continue;
            }
            if let Some(file) = &table.ddl {
                side.add(&schema.name, file, &text(file)?)?;
            }
            if let Some(file) = &table.triggers {
                side.add(&schema.name, file, &text(file)?)?;
            }
            let of = (schema.name.clone(), table.name.clone());
            side.triggers.insert(of, table.meta.triggers.clone());
        }
        for view in &schema.views {
            if filter.table(&schema.name, &view.name) {
                side.add(&schema.name, &view.ddl, &text(&view.ddl)?)?;
            }
        }
    }
    Ok(side)
}

/// An object, for people.
pub fn title((sort, schema, name): &Name) -> String {
    let named = match sort {
        Sort::Schema => quote::ident(schema),
        _ => quote::qualified(schema, name),
    };
    printable(&format!("{} {named}", sort.word()))
}
