//! The objects of a schema whose list (`S.json`) is lost, by their own files.
//!
//! Only files whose bytes the manifest proves are asked: each table's own metadata says which table it is. A view is in
//! no metadata but the list; its name is in the name of its file, unless that was shortened. What is not found so is
//! not found at all: routines and events need no list, for the file with them is run as a whole.

use super::Reading;
use crate::meta::{SchemaMeta, TableMeta};
use crate::names;

impl Reading<'_> {
    /// A list made of what the schema's files say; `None` if no manifest says which files there are.
    pub(super) fn objects_by_file(&self, schema: &str, base: &str) -> Option<SchemaMeta> {
        let manifest = self.manifest?;
        let mut meta = SchemaMeta::new(schema);
        for (name, base) in manifest.files.keys().filter_map(|f| {
            let base = f.strip_suffix(".json")?;
            let table = self.meta::<TableMeta>(f).ok()?.options;
            (table.schema == schema).then_some((table.table, base))
        }) {
            meta.basenames.insert(name.clone(), base.to_owned());
            meta.tables.push(name);
        }
        // What has rows is a table, even if its own metadata is damaged, too; it is then named.
        for table in manifest.tables.iter().filter(|t| t.schema == schema) {
            if !meta.basenames.contains_key(&table.table) {
                let encoded = format!("{base}@{}", names::encode(&table.table));
                meta.basenames.insert(table.table.clone(), encoded);
                meta.tables.push(table.table.clone());
            }
        }
        let of_schema = format!("{base}@");
        for file in manifest.files.keys() {
            let Some(base) = file.strip_suffix(".pre.sql") else {
                continue;
            };
            let Some(part) = base.strip_prefix(&of_schema) else {
                continue;
            };
            let name = names::decode(part);
            if names::encode(&name) == part && !meta.basenames.contains_key(&name) {
                meta.basenames.insert(name.clone(), base.to_owned());
                meta.views.push(name);
            }
        }
        Some(meta)
    }
}
