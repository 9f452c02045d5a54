//! A `CREATE TABLE` of a `.frm` file's definition: good enough to load rows into.
//!
//! What it cannot say is in [`Frm::not_told`]; foreign keys are in no `.frm` file.

use super::columns::{Column, Default, Visible};
use super::defaults::quoted;
use super::keys::{Key, KeyKind};
use super::{Frm, collation};
use std::fmt::Write;

/// A name in backticks.
fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

impl Frm {
    /// The statement for a table of this name.
    pub fn create_table(&self, table: &str) -> String {
        let mut lines = Vec::new();
        let shown = |c: &&Column| matches!(c.visible, Visible::Yes | Visible::Named);
        lines.extend(self.columns.iter().filter(shown).map(|c| self.column(c)));
        lines.extend(self.keys.iter().map(|key| self.key(key)));
        if let Some((start, end)) = self.system_time {
            // Columns that nobody named come by themselves.
            if let (Some(start), Some(end)) = (self.columns.get(start), self.columns.get(end))
                && start.visible != Visible::System
            {
                lines.push(format!(
                    "PERIOD FOR SYSTEM_TIME ({}, {})",
                    name(&start.name),
                    name(&end.name)
                ));
            }
        }
        for (check, condition) in &self.checks {
            lines.push(format!("CONSTRAINT {} CHECK ({condition})", name(check)));
        }
        let mut sql = format!(
            "CREATE TABLE {} (\n  {}\n)",
            name(table),
            lines.join(",\n  ")
        );
        let _ = write!(
            sql,
            " ENGINE={} DEFAULT CHARSET={}",
            self.engine,
            collation::charset(&self.collation)
        );
        let _ = write!(sql, " COLLATE={}", self.collation);
        if let Some(format) = self.row_format {
            let _ = write!(sql, " ROW_FORMAT={format}");
        }
        if self.key_block_size > 0 {
            let _ = write!(sql, " KEY_BLOCK_SIZE={}", self.key_block_size);
        }
        for (option, value) in &self.options {
            let _ = write!(sql, " {}={}", name(option), quoted(value));
        }
        if !self.comment.is_empty() {
            let _ = write!(sql, " COMMENT={}", quoted(&self.comment));
        }
        if self.system_time.is_some() {
            sql += " WITH SYSTEM VERSIONING";
        }
        if let Some(partitions) = &self.partitions {
            let _ = write!(sql, "\n{partitions}");
        }
        sql
    }

    fn column(&self, column: &Column) -> String {
        let mut sql = format!("{} {}", name(&column.name), definition(column));
        if let Some(collation) = &column.collation {
            let _ = write!(
                sql,
                " CHARACTER SET {} COLLATE {collation}",
                collation::charset(collation)
            );
        }
        let row = self.system_time.and_then(|(start, end)| {
            let place = |n: usize| self.columns.get(n).is_some_and(|c| c.name == column.name);
            let end = place(end).then_some("END");
            end.or(place(start).then_some("START"))
        });
        if let Some(row) = row {
            let _ = write!(sql, " GENERATED ALWAYS AS ROW {row}");
        } else if let Some(generated) = &column.generated {
            let kind = if generated.stored {
                "STORED"
            } else {
                "VIRTUAL"
            };
            let _ = write!(
                sql,
                " GENERATED ALWAYS AS ({}) {kind}",
                generated.expression
            );
        } else if !column.nullable {
            sql += " NOT NULL";
        } else {
            // TIMESTAMP is NOT NULL where nothing is said.
            sql += " NULL";
        }
        if let Default::Sql(value) = &column.default {
            let literal =
                value.starts_with(['\'', '_']) || value.starts_with("x'") || value == "NULL";
            let _ = match literal || *value == column.now() {
                true => write!(sql, " DEFAULT {value}"),
                false => write!(sql, " DEFAULT ({value})"),
            };
        }
        if column.on_update_now {
            let _ = write!(sql, " ON UPDATE {}", column.now());
        }
        if column.auto_increment {
            sql += " AUTO_INCREMENT";
        }
        if column.visible == Visible::Named {
            sql += " INVISIBLE";
        }
        if !column.versioned && self.system_time.is_some() {
            sql += " WITHOUT SYSTEM VERSIONING";
        }
        if !column.comment.is_empty() {
            let _ = write!(sql, " COMMENT {}", quoted(&column.comment));
        }
        if let Some(check) = &column.check {
            let _ = write!(sql, " CHECK ({check})");
        }
        sql
    }

    fn key(&self, key: &Key) -> String {
        let mut sql = match key.kind {
            KeyKind::Primary => "PRIMARY KEY".to_owned(),
            KeyKind::Unique | KeyKind::UniqueHash => format!("UNIQUE KEY {}", name(&key.name)),
            KeyKind::Plain => format!("KEY {}", name(&key.name)),
            KeyKind::FullText => format!("FULLTEXT KEY {}", name(&key.name)),
            KeyKind::Spatial => format!("SPATIAL KEY {}", name(&key.name)),
            KeyKind::Vector => format!("VECTOR KEY {}", name(&key.name)),
        };
        let mut parts = Vec::new();
        for part in &key.parts {
            let Some(column) = self.columns.get(part.column) else {
                continue;
            };
            // The server adds the row's end to keys of a system-versioned table.
            if matches!(column.visible, Visible::System | Visible::No) {
                continue;
            }
            let mut words = name(&column.name);
            if let Some(prefix) = part.prefix
                && !matches!(
                    key.kind,
                    KeyKind::FullText | KeyKind::Spatial | KeyKind::Vector
                )
            {
                let _ = write!(words, "({prefix})");
            }
            if part.descending {
                words += " DESC";
            }
            parts.push(words);
        }
        let _ = write!(sql, " ({})", parts.join(", "));
        if key.kind == KeyKind::UniqueHash {
            sql += " USING HASH";
        }
        if key.ignored {
            sql += " IGNORED";
        }
        if !key.comment.is_empty() {
            let _ = write!(sql, " COMMENT {}", quoted(&key.comment));
        }
        sql
    }
}

/// The type, with members in hexadecimal digits where they cannot be said otherwise.
fn definition(column: &Column) -> String {
    match &column.members {
        Some(members) if column.column_type.contains('\u{fffd}') => {
            let hexadecimal =
                |m: &Vec<u8>| m.iter().map(|b| format!("{b:02x}")).collect::<String>();
            let members: Vec<_> = members
                .iter()
                .map(|m| format!("x'{}'", hexadecimal(m)))
                .collect();
            let kind = column.column_type.split('(').next().unwrap_or_default();
            format!("{kind}({})", members.join(","))
        }
        _ => column.column_type.clone(),
    }
}
