//! The objects of an archive under other names than those they were dumped with.
//!
//! Only what is in memory is renamed: files keep their names and their bytes, definitions their text. A table that moves to
//! another schema than its own is found in an entry of its own of that schema, at the end; a schema of the archive that has
//! this name stays apart from it.

use super::{Archive, Schema};
use crate::meta::SchemaMeta;

/// What things are called.
pub trait Naming {
    /// A schema.
    fn schema(&self, schema: &str) -> String;
    /// A table or view: its schema and its name.
    fn table(&self, schema: &str, table: &str) -> (String, String);
    /// A trigger of a table, all by the names where they were dumped.
    fn trigger(&self, schema: &str, table: &str, trigger: &str) -> String;
    /// Whether a table is wanted at all, by the names where it was dumped. The manifest forgets the rows of others, so that
    /// no two records of it have one name.
    fn wants(&self, schema: &str, table: &str) -> bool;
}

impl Archive {
    /// Gives schemas, tables, views and triggers other names.
    pub fn rename(&mut self, naming: &dyn Naming) {
        if let Some(manifest) = &mut self.content.manifest {
            manifest
                .tables
                .retain(|t| naming.wants(&t.schema, &t.table));
            for record in &mut manifest.tables {
                (record.schema, record.table) = naming.table(&record.schema, &record.table);
            }
        }
        let mut moved: Vec<Schema> = Vec::new();
        for schema in &mut self.content.schemas {
            schema.name = naming.schema(&schema.name);
            let name = schema.name.clone();
            for table in &mut schema.tables {
                let (old_schema, old_name) = &table.source;
                (table.schema, table.name) = naming.table(old_schema, old_name);
                for trigger in &mut table.meta.triggers {
                    *trigger = naming.trigger(old_schema, old_name, trigger);
                }
            }
            for view in &mut schema.views {
                (view.schema, view.name) = naming.table(&view.source.0, &view.source.1);
            }
            let (stay, go) = std::mem::take(&mut schema.tables)
                .into_iter()
                .partition(|t| t.schema == name);
            schema.tables = stay;
            let go: Vec<super::Table> = go;
            for table in go {
                entry(&mut moved, &table.schema).tables.push(table);
            }
            let (stay, go) = std::mem::take(&mut schema.views)
                .into_iter()
                .partition(|v| v.schema == name);
            schema.views = stay;
            let go: Vec<super::View> = go;
            for view in go {
                entry(&mut moved, &view.schema).views.push(view);
            }
        }
        self.content.schemas.extend(moved);
    }
}

/// The entry of a schema that tables move to.
fn entry<'a>(moved: &'a mut Vec<Schema>, name: &str) -> &'a mut Schema {
    let at = moved.iter().position(|s| s.name == name);
    let at = at.unwrap_or_else(|| {
        moved.push(Schema {
            name: name.to_owned(),
            source: None,
            meta: SchemaMeta::new(name),
            meta_file: String::new(),
            ddl: Vec::new(),
            tables: Vec::new(),
            views: Vec::new(),
        });
        moved.len() - 1
    });
    &mut moved[at]
}
