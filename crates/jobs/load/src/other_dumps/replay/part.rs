//! The chosen part of a dump and its names, on the way to the target: which statements run, in which schema, and what schemas that
//! were there get back.

use super::super::chosen::{Fate, Known};
use super::super::survey;
use super::Replay;
use base::{Error, Kind, Result};
use dumps::script::Statement;
use dumps::statement::Kind as StatementKind;
use run::failure;
use server::quote;

impl Replay<'_, '_> {
    /// Finds out whether a statement is about the chosen part, gives it its new names, and goes to the schema that it
    /// belongs to.
    pub(super) fn choose(
        &mut self,
        s: &mut Statement,
        kind: &StatementKind,
        home: Option<&str>,
        place: &str,
    ) -> Result<Fate> {
        if self.chosen.is_whole() {
            return Ok(Fate::Kept);
        }
        if let StatementKind::Use(name) = kind {
            let schema = self.chosen.schema(name);
            if !self.has_part_in(&schema) {
                return Ok(Fate::LeftOut);
            }
            if self.chosen.renames() {
                self.create_schema(&schema)?;
            }
            s.text = format!("USE {}", quote::ident(&schema)).into_bytes();
            return Ok(Fate::Kept);
        }
        // What the scan has refused is not run.
        let fate = self.chosen.fate(s, kind, home);
        if fate != Fate::Kept {
            return Ok(fate);
        }
        if let StatementKind::DropDatabase(name) = kind {
            let schema = quote::ident(&self.chosen.schema(name));
            s.text = format!("DROP DATABASE IF EXISTS {schema}").into_bytes();
            return Ok(Fate::Kept);
        }
        let schema = match kind {
            StatementKind::CreateDatabase(name) => Some(name.as_str()),
            StatementKind::AlterDatabase(name) => name.as_deref().or(home),
            _ => None,
        };
        if schema.is_some_and(|name| !self.has_part_in(&self.chosen.schema(name))) {
            return Ok(Fate::LeftOut);
        }
        let known = self.survey.map(|survey| Known {
            schemas: &survey.whole.schemas,
            functions: &survey.whole.functions,
        });
        let known =
            known.ok_or_else(|| Error::new(Kind::Internal, "a part of what was not surveyed"))?;
        let renamed = match self.chosen.rename(s, kind, home, &known) {
            Ok(renamed) => renamed,
            Err(why) => return Ok(Fate::Unclear(why)),
        };
        if let Some(why) = renamed.unsure {
            self.refused(format!("{place}: it is not created: {why}"));
            return Ok(Fate::LeftOut);
        }
        self.t.report.notes.extend(renamed.notes);
        for left in renamed.left {
            self.refused(format!("{place}: {left}"));
        }
        let at_home = home.filter(|_| !self.chosen.renames() && survey::needs_schema(kind));
        if let Some(schema) = renamed.schema.or(at_home.map(str::to_owned))
            && self.script.schema.as_ref() != Some(&schema)
        {
            self.script.flag_schema = None;
            self.create_schema(&schema)?;
            self.use_schema(&schema)?;
        }
        Ok(Fate::Kept)
    }

    /// Remembers the character set and collation of a schema that the target had before: dumps change them around triggers
    /// and routines, and give the schema those of its source then.
    pub(super) fn keep_default(&mut self, schema: &str) -> Result<()> {
        let ours = self.t.report.created.iter().any(|c| c == schema);
        if ours || self.defaults.contains_key(schema) {
            return Ok(());
        }
        let sql = format!(
            "SELECT CONCAT('CHARACTER SET ', default_character_set_name, ' COLLATE ', default_collation_name) \
             FROM information_schema.schemata WHERE schema_name = {}",
            quote::text(schema)
        );
        let rows = self.t.conn.fetch(sql);
        let rows = rows.map_err(|e| failure::wire("cannot look at the target", e))?;
        let cell = rows.into_iter().flatten().flatten().next();
        if let Some(default) = cell {
            let default = String::from_utf8_lossy(&default).into_owned();
            self.defaults.insert(schema.to_owned(), default);
        }
        Ok(())
    }

    /// Whether anything that is chosen goes into a schema of the target.
    pub(super) fn has_part_in(&self, schema: &str) -> bool {
        let survey = self.survey.filter(|_| !self.chosen.is_whole());
        survey.is_none_or(|s| s.schemas.iter().any(|there| there == schema))
    }

    /// Gives schemas that were there the character set and collation back that they had.
    pub(super) fn give_defaults_back(&mut self) -> Result<()> {
        for (schema, default) in std::mem::take(&mut self.defaults) {
            let sql = format!("ALTER DATABASE {} {default}", quote::ident(&schema));
            self.t
                .execute(&sql, "cannot give the schema its collation back")?;
        }
        Ok(())
    }
}
