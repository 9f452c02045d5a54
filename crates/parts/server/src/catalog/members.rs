//! Reading what belongs to tables and schemas: columns, keys, partitions,
//! triggers, routines, events. Rows come in any order and are sorted here.

use super::read::{Part, Place};
use super::{Column, Key, KeyPart, Partition, Routine, RoutineKind, Table};
use crate::ask::{Answer, Record};
use crate::{Identity, Result};
use std::collections::HashMap;
use wire::Conn;

/// Names of tables and views to their places, per schema.
type Places = [HashMap<String, Place>];

impl Part<'_> {
    pub(super) fn read_columns(
        &mut self,
        conn: &mut Conn,
        identity: &Identity,
        tables: &Places,
    ) -> Result<()> {
        let expression = if identity.mariadb_at_least(10, 3, 4) {
            "IF(GENERATION_EXPRESSION IN ('ROW START', 'ROW END'), 1, 0)"
        } else {
            "0"
        };
        let answer = self.ask(
            conn,
            "list of columns",
            &format!(
                "TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, \
                 COLLATION_NAME, IS_NULLABLE, EXTRA, NUMERIC_PRECISION, NUMERIC_SCALE, CHARACTER_OCTET_LENGTH, {expression}"
            ),
            "COLUMNS",
            "TABLE_SCHEMA",
        )?;
        let mut views: HashMap<(usize, usize), Vec<(u64, String)>> = HashMap::new();
        for row in &answer.rows {
            match self.find(tables, row) {
                Some((schema, Place::Table(i))) => {
                    self.schemas[schema].tables[i].columns.push(column(row));
                }
                Some((schema, Place::View(i))) => views
                    .entry((schema, i))
                    .or_default()
                    .push((row.number(3).unwrap_or(0), row.text_or_empty(2))),
                None => {}
            }
        }
        for ((schema, view), mut columns) in views {
            columns.sort();
            self.schemas[schema].views[view].columns = columns.into_iter().map(|c| c.1).collect();
        }
        for table in self.schemas.iter_mut().flat_map(|s| &mut s.tables) {
            table.columns.sort_by_key(|c| c.ordinal);
            if !table.columns.iter().any(|c| c.auto_increment) {
                // Some engines and versions say 1 for every table.
                table.auto_increment = None;
            }
        }
        Ok(())
    }

    pub(super) fn read_keys(
        &mut self,
        conn: &mut Conn,
        identity: &Identity,
        tables: &Places,
    ) -> Result<()> {
        let hidden = if identity.mysql_at_least(8, 0, 0) {
            "IF(IS_VISIBLE = 'NO', 1, 0)"
        } else if identity.mariadb_at_least(10, 6, 0) {
            "IF(IGNORED = 'YES', 1, 0)"
        } else {
            "0"
        };
        let answer = self.ask(
            conn,
            "list of keys",
            &format!(
                "TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, NON_UNIQUE, COLUMN_NAME, COLLATION, SUB_PART, NULLABLE, \
                 INDEX_TYPE, {hidden}"
            ),
            "STATISTICS",
            "TABLE_SCHEMA",
        )?;
        // Rows come in any order: collect the parts with their numbers, then build the keys.
        let mut rows: Vec<(u64, &Record)> = answer
            .rows
            .iter()
            .map(|r| (r.number(3).unwrap_or(0), r))
            .collect();
        rows.sort_by_key(|(seq, _)| *seq);
        for (_, row) in rows {
            let Some(table) = self.table(tables, row) else {
                continue;
            };
            let name = row.text_or_empty(2);
            let at = match table.keys.iter().position(|k| k.name == name) {
                Some(at) => at,
                None => {
                    table.keys.push(Key {
                        primary: name == "PRIMARY",
                        name,
                        unique: row.number(4) == Some(0),
                        visible: row.number(10) != Some(1),
                        index_type: row.text_or_empty(9),
                        parts: Vec::new(),
                    });
                    table.keys.len() - 1
                }
            };
            let column = row.text(5);
            table.keys[at].parts.push(KeyPart {
                expression: column.is_none(),
                column,
                prefix: row.number(7).and_then(|n| u32::try_from(n).ok()),
                descending: row.bytes(6) == Some(b"D"),
                nullable: row.bytes(8) == Some(b"YES"),
            });
        }
        for table in self.schemas.iter_mut().flat_map(|s| &mut s.tables) {
            table
                .keys
                .sort_by(|a, b| (!a.primary, &a.name).cmp(&(!b.primary, &b.name)));
        }
        Ok(())
    }

    pub(super) fn read_partitions(&mut self, conn: &mut Conn, tables: &Places) -> Result<()> {
        let partitioned = |t: &Table| t.create_options.contains("partitioned");
        if !self.schemas.iter().flat_map(|s| &s.tables).any(partitioned) {
            // Servers without a dictionary open every table to answer this.
            return Ok(());
        }
        let answer = self.ask(
            conn,
            "list of partitions",
            "TABLE_NAME, PARTITION_NAME, SUBPARTITION_NAME, PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION, TABLE_ROWS, DATA_LENGTH",
            "PARTITIONS",
            "TABLE_SCHEMA",
        )?;
        let mut rows: Vec<_> = answer
            .rows
            .iter()
            .filter(|r| r.bytes(2).is_some())
            .collect();
        rows.sort_by_key(|r| (r.number(4), r.number(5)));
        for row in rows {
            let partition = Partition {
                name: row.text(3).or_else(|| row.text(2)).unwrap_or_default(),
                rows_estimate: row.number(6).unwrap_or(0),
                data_bytes: row.number(7).unwrap_or(0),
            };
            if let Some(table) = self.table(tables, row) {
                table.partitions.push(partition);
            }
        }
        Ok(())
    }

    pub(super) fn read_triggers(&mut self, conn: &mut Conn, tables: &Places) -> Result<()> {
        let answer = self.ask(
            conn,
            "list of triggers",
            "EVENT_OBJECT_TABLE, TRIGGER_NAME, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER",
            "TRIGGERS",
            "TRIGGER_SCHEMA",
        )?;
        let mut rows: Vec<_> = answer.rows.iter().collect();
        rows.sort_by_key(|r| (r.text(4), r.text(3), r.number(5), r.text(2)));
        for row in rows {
            if let Some(table) = self.table(tables, row) {
                table.triggers.push(row.text_or_empty(2));
            }
        }
        Ok(())
    }

    pub(super) fn read_routines(&mut self, conn: &mut Conn, identity: &Identity) -> Result<()> {
        let answer = self.ask(
            conn,
            "list of routines",
            "ROUTINE_NAME, ROUTINE_TYPE",
            "ROUTINES",
            "ROUTINE_SCHEMA",
        )?;
        self.add_routines(&answer);
        if identity.mysql_at_least(9, 2, 0) {
            let answer = self.ask(
                conn,
                "list of libraries",
                "LIBRARY_NAME, 'LIBRARY'",
                "LIBRARIES",
                "LIBRARY_SCHEMA",
            )?;
            self.add_routines(&answer);
        }
        for schema in self.schemas.iter_mut() {
            schema
                .routines
                .sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
            schema.routines.dedup();
        }
        Ok(())
    }

    fn add_routines(&mut self, answer: &Answer) {
        for row in &answer.rows {
            let Some(at) = self.place(row) else { continue };
            let kind = match row.text_or_empty(2).as_str() {
                "FUNCTION" => RoutineKind::Function,
                "PROCEDURE" => RoutineKind::Procedure,
                "PACKAGE" => RoutineKind::Package,
                "PACKAGE BODY" => RoutineKind::PackageBody,
                "LIBRARY" => RoutineKind::Library,
                _ => continue,
            };
            let schema = &mut self.schemas[at];
            if schema.whole {
                schema.routines.push(Routine {
                    kind,
                    schema: schema.name.clone(),
                    name: row.text_or_empty(1),
                });
            }
        }
    }

    pub(super) fn read_events(&mut self, conn: &mut Conn) -> Result<()> {
        let answer = self.ask(
            conn,
            "list of events",
            "EVENT_NAME",
            "EVENTS",
            "EVENT_SCHEMA",
        )?;
        for row in &answer.rows {
            let Some(at) = self.place(row) else { continue };
            if self.schemas[at].whole {
                self.schemas[at].events.push(row.text_or_empty(1));
            }
        }
        for schema in self.schemas.iter_mut() {
            schema.events.sort();
        }
        Ok(())
    }
}

fn column(row: &Record) -> Column {
    let extra = row.text_or_empty(9).to_ascii_uppercase();
    let column_type = row.text_or_empty(5);
    Column {
        name: row.text_or_empty(2),
        ordinal: row
            .number(3)
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(0),
        data_type: row.text_or_empty(4).to_ascii_lowercase(),
        charset: row.text(6),
        collation: row.text(7),
        nullable: row.bytes(8) == Some(b"YES"),
        generated: generated(&extra),
        stored: stored(&extra),
        versioning: row.number(13) == Some(1),
        // "INVISIBLE" is said so by both; the row start and end of versioning may be too.
        invisible: extra.contains("INVISIBLE"),
        unsigned: is_unsigned(&column_type),
        numeric_precision: row.number(10).and_then(|n| u32::try_from(n).ok()),
        numeric_scale: row.number(11).and_then(|n| u32::try_from(n).ok()),
        octet_length: row.number(12),
        auto_increment: extra.contains("AUTO_INCREMENT"),
        column_type,
    }
}

/// `VIRTUAL GENERATED`, `STORED GENERATED`, and the older MariaDB words
/// `VIRTUAL` and `PERSISTENT`; but not MySQL's `DEFAULT_GENERATED`, a default.
fn generated(extra: &str) -> bool {
    extra
        .split([' ', ','])
        .any(|word| matches!(word, "GENERATED" | "VIRTUAL" | "PERSISTENT"))
}

/// `STORED GENERATED`, and `PERSISTENT` of older MariaDB.
fn stored(extra: &str) -> bool {
    let has = |word| extra.split([' ', ',']).any(|w| w == word);
    has("PERSISTENT") || has("STORED") && has("GENERATED")
}

/// Looks past the type's own parentheses, where an ENUM could hold any word.
fn is_unsigned(column_type: &str) -> bool {
    let lower = column_type.to_ascii_lowercase();
    if lower.starts_with("enum") || lower.starts_with("set") {
        return false;
    }
    lower.split_whitespace().any(|w| w == "unsigned")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_default_is_not_a_generated_column() {
        assert!(!generated("DEFAULT_GENERATED ON UPDATE CURRENT_TIMESTAMP"));
        assert!(generated("STORED GENERATED"));
        assert!(generated("VIRTUAL GENERATED, INVISIBLE"));
        assert!(generated("PERSISTENT"));
        assert!(!generated("AUTO_INCREMENT"));
        assert!(stored("STORED GENERATED") && stored("PERSISTENT"));
        assert!(!stored("VIRTUAL GENERATED") && !stored("VIRTUAL"));
    }

    #[test]
    fn unsigned_is_not_looked_for_in_enum_values() {
        assert!(is_unsigned("int(10) unsigned zerofill"));
        assert!(!is_unsigned("enum('a','x unsigned y')"));
        assert!(!is_unsigned("bigint"));
    }
}
