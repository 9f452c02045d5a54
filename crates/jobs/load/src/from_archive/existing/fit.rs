//! Tables of the target that keep their definitions and get the rows of an archive: whether they can be emptied, and then hold
//! exactly those rows.

use super::{Treated, rows_of, some};
use crate::from_archive::{LoadPlan, create_table};
use crate::{Target, refused};
use archive::open::Table;
use base::Result;
use server::{ddl, quote};
use std::collections::BTreeMap;

/// Engines of which a table's rows are its own: TRUNCATE of another empties tables elsewhere.
const OWN_ROWS: [&str; 8] = [
    "InnoDB", "MyISAM", "Aria", "MEMORY", "CSV", "ROCKSDB", "ARCHIVE", "TokuDB",
];

/// Refuses tables that cannot be emptied and then filled with exactly the rows of the archive. Returns those that may not take
/// them, with the reason: whether they do shows when they are empty.
pub(super) fn check(
    t: &mut Target<'_>,
    plan: &LoadPlan,
    treated: &Treated,
) -> Result<Vec<(String, String)>> {
    let (mut unfit, mut doubtful) = (Vec::new(), Vec::new());
    for part in &plan.schemas {
        let schema = &plan.archive.schemas()[part.at];
        let refilled =
            |table: &&Table| treated.refills(&quote::qualified(&table.schema, &table.name));
        let tables: Vec<&Table> = part.tables.iter().map(|at| &schema.tables[*at]).collect();
        let tables: Vec<&Table> = tables.into_iter().filter(refilled).collect();
        if tables.is_empty() {
            continue;
        }
        let there = There::look(t, &schema.name)?;
        for table in tables {
            let name = quote::qualified(&table.schema, &table.name);
            let create = create_table::definition(t, plan, table)?;
            let charsets = create
                .as_deref()
                .map_or_else(BTreeMap::new, ddl::column_charsets);
            if let Some(why) = there.why_unfit(table, &charsets) {
                unfit.push(format!("{name} ({why})"));
            } else if let Some(create) = &create {
                let shown = rows_of(t, &format!("SHOW CREATE TABLE {name}"))?;
                let shown = shown.first();
                let why = shown.and_then(|[_, there]: &[String; 2]| ddl::rejects(there, create));
                doubtful.extend(why.map(|why| (name, why)));
            }
        }
    }
    if unfit.is_empty() {
        return Ok(doubtful);
    }
    Err(refused(format!(
        "these tables cannot be filled with exactly the rows of the archive: {}",
        some(&unfit)
    ))
    .hint(match plan.parts.definitions {
        true => "nothing was touched: --existing replace drops tables and loads them as they are in the archive; --exclude-tables leaves them out",
        false => "nothing was touched: change them there, or leave them out with --exclude-tables",
    }))
}

/// A column of a table on the target.
struct Column {
    generated: bool,
    /// Character set; empty for types without one.
    charset: String,
    /// It has to be given a value.
    must: bool,
}

/// What is known of a schema's tables on the target; names as the server folds them.
struct There {
    fold: bool,
    /// By table: its engine and its type.
    tables: BTreeMap<String, (String, String)>,
    /// By table: its columns.
    columns: BTreeMap<String, BTreeMap<String, Column>>,
    /// By table: one of its triggers that fire for new rows.
    triggers: BTreeMap<String, String>,
}

impl There {
    fn look(t: &mut Target<'_>, schema: &str) -> Result<There> {
        let name = quote::text(schema);
        let fold = t.id.lower_case_table_names != 0;
        let named = |n: &str| if fold { n.to_lowercase() } else { n.to_owned() };
        let mut there = There {
            fold,
            tables: BTreeMap::new(),
            columns: BTreeMap::new(),
            triggers: BTreeMap::new(),
        };
        let sql = format!(
            "SELECT table_name, IFNULL(engine, ''), table_type FROM information_schema.tables WHERE table_schema = {name}"
        );
        for [table, engine, kind] in rows_of(t, &sql)? {
            there.tables.insert(named(&table), (engine, kind));
        }
        let sql = format!(
            "SELECT table_name, column_name, extra, IFNULL(character_set_name, ''), \
             is_nullable = 'NO' AND column_default IS NULL FROM information_schema.columns WHERE table_schema = {name}"
        );
        for [table, column, extra, charset, must] in rows_of(t, &sql)? {
            let columns = there.columns.entry(named(&table)).or_default();
            let extra = extra.to_uppercase();
            let generated = extra.contains("VIRTUAL")
                || extra.contains("STORED GENERATED")
                || extra.contains("PERSISTENT");
            let counted = extra.contains("AUTO_INCREMENT");
            let must = must == "1" && !generated && !counted;
            columns.insert(
                column,
                Column {
                    generated,
                    charset,
                    must,
                },
            );
        }
        let sql = format!(
            "SELECT event_object_table, trigger_name FROM information_schema.triggers \
             WHERE event_object_schema = {name} AND event_manipulation = 'INSERT'"
        );
        for [table, trigger] in rows_of(t, &sql)? {
            there.triggers.insert(named(&table), trigger);
        }
        Ok(there)
    }

    /// `charsets`: those of the archive's columns, as far as its definition names them.
    fn why_unfit(&self, table: &Table, charsets: &BTreeMap<String, String>) -> Option<String> {
        let name = match self.fold {
            true => table.name.to_lowercase(),
            false => table.name.clone(),
        };
        let (engine, kind) = self.tables.get(&name)?;
        if kind == "SYSTEM VERSIONED" {
            return Some("it keeps its history, and the server empties no such table".to_owned());
        }
        if !OWN_ROWS.iter().any(|own| own.eq_ignore_ascii_case(engine)) {
            return Some(format!(
                "its engine is {engine}: its rows may be those of other tables"
            ));
        }
        if let Some(trigger) = self.triggers.get(&name) {
            let trigger = quote::qualified(&table.schema, trigger);
            return Some(format!("its trigger {trigger} would run for each row"));
        }
        let empty = BTreeMap::new();
        let columns = self.columns.get(&name).unwrap_or(&empty);
        let given = &table.meta.options.columns;
        for name in given {
            let shown = quote::ident(name);
            match columns.get(name) {
                None => return Some(format!("it has no column {shown}")),
                Some(column) if column.generated => {
                    return Some(format!("its column {shown} is generated"));
                }
                Some(column) => {
                    // Stored bytes are loaded, and would be other characters.
                    let there = same_charset(&column.charset);
                    let from = charsets.get(name).map(|c| same_charset(c));
                    if let Some(from) = from.filter(|from| !there.is_empty() && *from != there) {
                        return Some(format!(
                            "its column {shown} has the character set {there}, and {from} in the archive"
                        ));
                    }
                }
            }
        }
        let without = columns
            .iter()
            .find(|(name, c)| c.must && !given.contains(name));
        if let Some((name, _)) = without {
            return Some(format!(
                "its column {} is not in the archive, and has no default",
                quote::ident(name)
            ));
        }
        // Other names of columns than in the archive would be filled by their place.
        match table.meta.options.columns.is_empty() {
            true => Some("the archive does not name its columns".to_owned()),
            false => None,
        }
    }
}

/// Two names of one character set.
fn same_charset(name: &str) -> &str {
    match name {
        "utf8" => "utf8mb3",
        name => name,
    }
}
