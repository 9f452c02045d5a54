//! The part of a dump that is chosen, under the names that it gets.
//!
//! A part of a script is not a smaller script: what its statements are about has to be found out one by one. A statement
//! that names its table, or another object, is left out or kept by that name. One that does not is refused (or skipped, with
//! `--skip-unsupported`), as it may change any of them. Names are changed as in archives ([`crate::rename`]), and a kept
//! statement names its own object without a schema then, so it is run in the schema where the object goes.

use super::files::{Content, InputFiles};
use super::survey::Whole;
use crate::Options;
use crate::rename::{self, Names};
use crate::script::Allowed;
use dumps::script::Statement;
use dumps::statement::{InsertOther, Kind, Name};
use rows::renaming::Held;
use server::filter::Program;
use server::{Filter, NameMap, quote};
use std::collections::BTreeSet;

/// Which part, and its names.
pub struct Chosen<'a> {
    filter: &'a Filter,
    map: &'a NameMap,
}

/// What becomes of a statement.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Kept,
    /// It is about something else.
    LeftOut,
    /// What it is about cannot be found out, or not changed.
    Unclear(&'static str),
}

impl Fate {
    /// Why it is unclear.
    pub fn why(&self) -> Option<&'static str> {
        match self {
            Fate::Unclear(why) => Some(why),
            Fate::Kept | Fate::LeftOut => None,
        }
    }
}

/// A statement under its new names.
#[derive(Default)]
pub struct Renamed {
    /// The schema to run it in.
    pub schema: Option<String>,
    /// What else got another name.
    pub notes: Vec<String>,
    /// Names that stay as they are.
    pub left: Vec<String>,
    /// Why an object must not be created.
    pub unsure: Option<String>,
}

const NO_TABLE: &str = "which tables it is about cannot be found out, and only a part of the dump is loaded, or under other names";
const READS: &str = "it reads other tables, or calls functions that may, and only a part of the dump is loaded, or under other names";
const NO_NAME: &str = "its names cannot be changed with certainty (--map-schema, --map-table)";

/// What of the dump the names in a definition may mean.
pub struct Known<'a> {
    /// All its schemas.
    pub schemas: &'a BTreeSet<String>,
    /// All its functions.
    pub functions: &'a BTreeSet<String>,
}

impl<'a> Chosen<'a> {
    pub fn of(options: &'a Options) -> Self {
        Self {
            filter: &options.filter,
            map: &options.names,
        }
    }

    /// Whether it is all of the dump, under its own names.
    pub fn is_whole(&self) -> bool {
        self.filter.is_empty() && self.map.is_empty()
    }

    /// Whether names change.
    pub fn renames(&self) -> bool {
        !self.map.is_empty()
    }

    /// Whether triggers may act on tables that are not loaded: of a part of the dump, or of a table that leaves its original.
    pub fn may_reach_others(&self) -> bool {
        !self.filter.is_empty() || self.map.tables().next().is_some()
    }

    /// Leaves only the files that may hold something of it, and tells what the others hold.
    pub fn files(&self, files: &mut InputFiles) -> Whole {
        let mut passed_over = Whole::default();
        files.list.retain(|f| {
            let table = match (&f.content, &f.rows_of) {
                (Content::Lines { table, .. }, _) | (Content::Sql, Some(table)) => table,
                (Content::Sql, None) => return true,
            };
            let Some(schema) = &f.schema else {
                return true;
            };
            let kept = self.filter.table(schema, table);
            if !kept {
                passed_over.schemas.insert(schema.clone());
                passed_over.tables.insert((schema.clone(), table.clone()));
            }
            kept
        });
        let counted = std::mem::take(&mut files.counted).into_iter();
        let counted = counted.filter(|((schema, table), _)| self.filter.table(schema, table));
        files.counted = counted
            .map(|((schema, table), rows)| (self.map.table(&schema, &table), rows))
            .collect();
        passed_over
    }

    /// What a schema is called there.
    pub fn schema(&self, schema: &str) -> String {
        self.map.schema(schema).to_owned()
    }

    /// What a table or view is called there.
    pub fn table(&self, schema: &str, table: &str) -> (String, String) {
        self.map.table(schema, table)
    }

    /// What a trigger of a table is called there.
    pub fn trigger(&self, schema: &str, table: &str, trigger: &str) -> String {
        let inner = self.map.inner(schema, table, trigger);
        inner.unwrap_or_else(|| trigger.to_owned())
    }

    /// Refuses what does not fit the dump: a pattern or a name that is not in it, two objects of one name.
    pub fn check(&self, whole: &Whole) -> base::Result<()> {
        for schema in &whole.schemas {
            self.filter.schema(schema);
        }
        let tables = whole.tables.union(&whole.views);
        let dump = Held {
            schemas: whole.schemas.iter().map(String::as_str).collect(),
            tables: tables.map(|(s, t)| (s, t)).collect(),
            views: whole.views.iter().map(|(s, t)| (s, t)).collect(),
        };
        rows::renaming::check_held(&dump, self.map, self.filter)?;
        rows::selection::check_matched(self.filter)
    }

    /// The choice in words, to tell it from any other.
    pub fn words(&self) -> Vec<String> {
        let lists = self.filter.lists();
        lists
            .map(|(list, patterns)| format!("{list} {}", patterns.join("\n")))
            .chain(self.map.options())
            .collect()
    }

    /// Whether all of a schema is taken.
    pub fn takes_schema(&self, schema: &str) -> bool {
        self.filter.whole_schema(schema)
    }

    /// What becomes of a statement, as far as can be said before it is run; `home` is the schema for names without one.
    pub fn fate(&self, s: &Statement, kind: &Kind, home: Option<&str>) -> Fate {
        if self.is_whole() {
            return Fate::Kept;
        }
        match self.is_about(kind, home) {
            Fate::Kept => self.can_run(s, kind, home),
            other => other,
        }
    }

    /// Whether a statement is about what is chosen.
    fn is_about(&self, kind: &Kind, home: Option<&str>) -> Fate {
        let name = |schema: &Option<String>, name: &str, wants: &dyn Fn(&str, &str) -> bool| {
            match schema.as_deref().or(home) {
                // That its schema is not known is said where it is needed.
                None => Fate::Kept,
                Some(schema) if wants(schema, name) => Fate::Kept,
                Some(_) => Fate::LeftOut,
            }
        };
        let table = |n: &Name| name(&n.schema, &n.name, &|s, t| self.filter.table(s, t));
        let program = |n: &Name, kind| {
            name(&n.schema, &n.name, &|s, p| {
                self.filter.whole_schema(s) && self.filter.program(kind, s, p)
            })
        };
        let schema = |n: &str| match self.filter.schema(n) {
            true => Fate::Kept,
            false => Fate::LeftOut,
        };
        match kind {
            Kind::Insert(head) => name(&head.schema, &head.table, &|s, t| self.filter.table(s, t)),
            Kind::InsertOther(_, Some(n))
            | Kind::LoadData { table: n, .. }
            | Kind::CreateTable(n)
            | Kind::AlterTable(n)
            | Kind::Truncate(n)
            | Kind::AlterKeys(n, _)
            | Kind::CreateView(n)
            | Kind::Sequence(n) => table(n),
            Kind::DropTable(names) | Kind::DropView(names) => {
                match names.iter().any(|n| table(n) == Fate::Kept) {
                    true => Fate::Kept,
                    false => Fate::LeftOut,
                }
            }
            Kind::CreateTrigger { trigger, table: of } => {
                let of_schema = of.schema.as_deref().or(home);
                let taken = of_schema
                    .is_none_or(|s| self.filter.program(Program::Trigger, s, &trigger.name));
                match taken {
                    true => table(of),
                    false => Fate::LeftOut,
                }
            }
            Kind::CreateRoutine(n) => program(n, Program::Routine),
            Kind::CreateEvent(n) => program(n, Program::Event),
            Kind::CreateDatabase(n) | Kind::Use(n) => schema(n),
            Kind::AlterDatabase(n) => n.as_deref().or(home).map_or(Fate::Kept, schema),
            // A load drops no schema; this one refuses a target that has it.
            Kind::DropDatabase(n) => match self.filter.whole_schema(n) {
                true => Fate::Kept,
                false => Fate::LeftOut,
            },
            Kind::InsertOther(_, None) | Kind::Other => Fate::Unclear(NO_TABLE),
            // A load drops none: the target is known not to have the object.
            Kind::DropObject(_) => Fate::LeftOut,
            Kind::LockTables(_)
            | Kind::UnlockTables
            | Kind::Set(_)
            | Kind::Transaction
            | Kind::Rollback
            | Kind::ReplicationSource
            | Kind::Upkeep => Fate::Kept,
        }
    }

    /// Whether a statement can be run as a part, and its names be changed.
    fn can_run(&self, s: &Statement, kind: &Kind, home: Option<&str>) -> Fate {
        // What it reads or changes besides may not be loaded, or have another name: it would be that of the target.
        let reads = match kind {
            Kind::Insert(head) => {
                rename::script::needs(&s.text[head.values_at..], s.dialect).other_tables()
            }
            Kind::InsertOther(..) => {
                rename::script::needs_of_values(&s.text, s.dialect).other_tables()
            }
            Kind::Set(_) => rename::script::needs(&s.text, s.dialect).other_tables(),
            Kind::CreateTable(_) => {
                let text = String::from_utf8_lossy(&s.text);
                rename::script::takes_from_others(&text, s.dialect)
            }
            _ => false,
        };
        if reads {
            return Fate::Unclear(READS);
        }
        let fine = match kind {
            Kind::LoadData { .. } | Kind::InsertOther(InsertOther::Form, _) => false,
            Kind::CreateTable(_)
            | Kind::AlterTable(_)
            | Kind::Truncate(_)
            | Kind::InsertOther(..)
                if self.renames() =>
            {
                let nothing = BTreeSet::new();
                let known = Known {
                    schemas: &nothing,
                    functions: &nothing,
                };
                let mut copy = s.clone();
                let renamed = self.rename(&mut copy, kind, home, &known);
                renamed.is_ok_and(|r| r.unsure.is_none())
            }
            _ => true,
        };
        match fine || !self.renames() {
            true => Fate::Kept,
            false => Fate::Unclear(NO_NAME),
        }
    }

    /// Gives a statement that is kept its new names.
    pub fn rename(
        &self,
        s: &mut Statement,
        kind: &Kind,
        home: Option<&str>,
        known: &Known<'_>,
    ) -> Result<Renamed, &'static str> {
        if let Kind::DropTable(names) | Kind::DropView(names) = kind {
            s.text = self.drop(kind, names, home);
            return Ok(Renamed::default());
        }
        if !self.renames() {
            return Ok(Renamed::default());
        }
        let of = |schema: &Option<String>| schema.as_deref().or(home).map(str::to_owned);
        let mut renamed = Renamed::default();
        let (schema, name) = match kind {
            Kind::Insert(head) => (of(&head.schema), head.table.clone()),
            Kind::AlterDatabase(name) => (of(name), String::new()),
            Kind::CreateDatabase(name) => (Some(name.clone()), String::new()),
            kind => match kind.objects() {
                [one] => (of(&one.schema), one.name.clone()),
                _ => return Ok(renamed),
            },
        };
        let Some(schema) = schema else {
            return Ok(renamed);
        };
        // Of a trigger it is the table's.
        let (to, new) = match kind {
            Kind::CreateRoutine(_)
            | Kind::CreateEvent(_)
            | Kind::CreateDatabase(_)
            | Kind::AlterDatabase(_) => (self.schema(&schema), name.clone()),
            _ => self.map.table(&schema, &name),
        };
        let names = Names {
            map: self.map,
            home: &schema,
            to: &to,
            schemas: known.schemas,
            functions: known.functions,
            printed: false,
        };
        // A schema may be created while none is in use.
        renamed.schema = match kind {
            Kind::CreateDatabase(_) | Kind::AlterDatabase(Some(_)) => None,
            _ => Some(to.clone()),
        };
        let allowed = match kind {
            Kind::Insert(head) => {
                if head.schema.is_some() || new != name {
                    let at = Some(head.values_at);
                    s.text = rename::script::rows(&s.text, s.dialect, &quote::ident(&new), at)
                        .ok_or(NO_NAME)?;
                }
                return Ok(renamed);
            }
            Kind::InsertOther(..) => {
                s.text = rename::script::rows(&s.text, s.dialect, &quote::ident(&new), None)
                    .ok_or(NO_NAME)?;
                return Ok(renamed);
            }
            Kind::AlterTable(_) | Kind::Truncate(_) => {
                let text = std::str::from_utf8(&s.text).map_err(|_| NO_NAME)?;
                let (text, notes) =
                    rename::script::alter(text, s.dialect, &names).ok_or(NO_NAME)?;
                (s.text, renamed.notes) = (text.into_bytes(), notes);
                return Ok(renamed);
            }
            Kind::LoadData { .. } => return Err(NO_NAME),
            Kind::CreateTable(_) => Allowed::Table,
            Kind::CreateView(_) => Allowed::View,
            Kind::CreateTrigger { .. } => Allowed::Trigger,
            Kind::CreateRoutine(_) => Allowed::Routine,
            Kind::CreateEvent(_) => Allowed::Event,
            Kind::Sequence(_) => Allowed::Sequence,
            Kind::CreateDatabase(_) | Kind::AlterDatabase(Some(_)) => Allowed::Database,
            _ => return Ok(renamed),
        };
        let Ok(text) = String::from_utf8(s.text.clone()) else {
            renamed.unsure = Some("its definition is not in UTF-8".to_owned());
            return Ok(renamed);
        };
        let mut one = crate::script::Statement::new(allowed, text, s.dialect);
        rename::statement(&mut one, &names);
        s.text = one.text.into_bytes();
        (renamed.notes, renamed.left, renamed.unsure) = (one.notes, one.left, one.unsure);
        Ok(renamed)
    }

    /// A DROP of those that are chosen, under their new names.
    fn drop(&self, kind: &Kind, names: &[Name], home: Option<&str>) -> Vec<u8> {
        let what = match kind {
            Kind::DropView(_) => "VIEW",
            _ => "TABLE",
        };
        let resolved = names
            .iter()
            .filter_map(|n| super::statement_policy::resolved(n, home));
        let names: Vec<String> = resolved
            .filter(|(schema, table)| self.filter.table(schema, table))
            .map(|(schema, table)| self.map.table(&schema, &table))
            .map(|(schema, table)| quote::qualified(&schema, &table))
            .collect();
        format!("DROP {what} IF EXISTS {}", names.join(", ")).into_bytes()
    }
}
