//! The inverse of one change of a row, as SQL.

use crate::definitions::Definition;
use crate::show::Value;
use binlog::body::columns::{Column, kind};
use binlog::value::Sort;
use server::literal::{literal, was};
use server::quote;

/// The session that the statements are for.
pub(super) const SETTINGS: &str = "\n\
    SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES';\n\
    SET NAMES utf8mb4;\n\
    SET SESSION time_zone = '+00:00';\n\
    SET SESSION foreign_key_checks = 0;\n\
    SET SESSION sql_safe_updates = 0;\n\n";

/// A table whose rows are changed back.
pub(super) struct Table {
    name: String,
    columns: Vec<Of>,
    /// Whether its key is known, which finds a row alone.
    keyed: bool,
}

/// A column.
struct Of {
    catalog: server::catalog::Column,
}

impl Table {
    /// The error says why its rows cannot be changed back.
    pub(super) fn new(
        schema: &str,
        table: &str,
        columns: &[Column],
        definition: Option<&Definition>,
        mariadb: bool,
    ) -> Result<Table, String> {
        if let Some(definition) = definition {
            if definition.triggers.clone()? {
                return Err("the table has triggers, which would run with each statement".into());
            }
            if definition.versioned {
                return Err("MariaDB keeps the history of the table, and writes it itself".into());
            }
        }
        let mut all = Vec::new();
        for (i, log) in columns.iter().enumerate() {
            let catalog = match definition.and_then(|d| d.columns.get(i)) {
                Some(defined) => defined.clone(),
                None => described(log)?,
            };
            // A log has UUID as the bytes that it is stored as, which are in another order than those that a statement takes.
            if mariadb
                && definition.is_none()
                && log.kind == kind::STRING
                && catalog.data_type == "binary"
                && log.meta == 16
            {
                return Err(format!(
                    "column {} may be a UUID, and no definition is known",
                    catalog.name
                ));
            }
            all.push(Of { catalog });
        }
        Ok(Table {
            name: quote::qualified(schema, table),
            keyed: columns.iter().any(|c| c.primary),
            columns: all,
        })
    }

    /// The statement that takes a change back; the error says why there is none.
    pub(super) fn inverse(
        &self,
        before: Option<&[Value]>,
        after: Option<&[Value]>,
    ) -> Result<String, String> {
        let name = &self.name;
        match (before, after) {
            (Some(before), Some(after)) => {
                let mut sets = Vec::new();
                for (of, value) in self.stored().zip_values(before) {
                    let value = of.literal(value)?;
                    sets.push(format!("{} = {value}", quote::ident(&of.catalog.name)));
                }
                let terms = self.condition(after)?;
                Ok(format!(
                    "UPDATE {name} SET {} WHERE {terms} LIMIT 1;",
                    sets.join(", ")
                ))
            }
            (Some(before), None) => {
                let (mut names, mut all) = (Vec::new(), Vec::new());
                for (of, value) in self.stored().zip_values(before) {
                    names.push(quote::ident(&of.catalog.name));
                    all.push(of.literal(value)?);
                }
                Ok(format!(
                    "INSERT INTO {name} ({}) VALUES ({});",
                    names.join(", "),
                    all.join(", ")
                ))
            }
            (None, Some(after)) => Ok(format!(
                "DELETE FROM {name} WHERE {} LIMIT 1;",
                self.condition(after)?
            )),
            (None, None) => Err("it has no values".into()),
        }
    }

    fn stored(&self) -> Stored<'_> {
        Stored(&self.columns)
    }

    /// The condition that finds the row.
    fn condition(&self, row: &[Value]) -> Result<String, String> {
        let mut terms = Vec::new();
        for (of, value) in self.stored().zip_values(row) {
            terms.extend(of.condition(value, self.keyed)?);
        }
        match terms.is_empty() {
            true => Err("nothing in it finds it again".into()),
            false => Ok(terms.join(" AND ")),
        }
    }
}

/// The columns that are stored: generated ones are computed again.
struct Stored<'s>(&'s [Of]);

impl<'s> Stored<'s> {
    fn zip_values<'v>(self, values: &'v [Value]) -> impl Iterator<Item = (&'s Of, &'v Value)>
    where
        's: 'v,
    {
        let all = self.0.iter().zip(values);
        all.filter(|(of, _)| !of.catalog.generated)
    }
}

impl Of {
    /// A value as the server shall store it.
    fn literal(&self, value: &Value) -> Result<String, String> {
        let name = &self.catalog.name;
        match value {
            Value::Absent => Err(partial(name)),
            Value::Null => Ok("NULL".into()),
            Value::Is(decoded) => match decoded.sort {
                Sort::Broken => Err(format!("column {name} holds bytes that are no value of it")),
                Sort::JsonChanges => Err(changes_of_json(name)),
                Sort::JsonOfDecimals => Err(format!(
                    "the JSON in column {name} has a DECIMAL that its text does not keep"
                )),
                Sort::NoMember => Err(format!(
                    "column {name} has ENUM's value that is no member, which a strict sql_mode refuses"
                )),
                // ENUM and SET take numbers.
                Sort::Ordinal => Ok(String::from_utf8_lossy(&decoded.text).into_owned()),
                Sort::Ambiguous => Err(format!("whether column {name} has a sign is not known")),
                Sort::TextOrBytes => {
                    Err(format!("the character set of column {name} is not known"))
                }
                Sort::Address => Ok(quote::text(&String::from_utf8_lossy(&decoded.text))),
                _ => Ok(literal(&self.catalog, Some(&decoded.text))),
            },
        }
    }

    /// The condition that the column has this value; none if it cannot be compared, where a key finds the row.
    fn condition(&self, value: &Value, keyed: bool) -> Result<Option<String>, String> {
        let name = quote::ident(&self.catalog.name);
        let Value::Is(decoded) = value else {
            return match value {
                Value::Absent => Err(partial(&self.catalog.name)),
                _ => Ok(Some(format!("{name} IS NULL"))),
            };
        };
        match decoded.sort {
            Sort::Ordinal | Sort::Address => {
                return Ok(Some(format!("{name} <=> {}", self.literal(value)?)));
            }
            Sort::Integer
            | Sort::Decimal
            | Sort::Float
            | Sort::Time
            | Sort::Text
            | Sort::Bytes
            | Sort::Bits
            | Sort::Json
            | Sort::JsonOfDecimals => {}
            _ => return self.literal(value).map(Some),
        }
        let found = was(&self.catalog, Some(&decoded.text));
        Ok(match found {
            None if !keyed => Some(format!("HEX({name}) = '{}'", hexadecimal(&decoded.text))),
            found => found,
        })
    }
}

fn partial(name: &str) -> String {
    format!("the log lacks column {name} (binlog_row_image is not FULL)")
}

fn changes_of_json(name: &str) -> String {
    format!(
        "the log has only changes of the JSON in column {name} (binlog_row_value_options=PARTIAL_JSON)"
    )
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

/// A column as far as the log describes it; the error says what it lacks.
fn described(column: &Column) -> Result<server::catalog::Column, String> {
    let name = column.name.clone().ok_or("its columns have no names")?;
    let bytes = column.charset.as_deref() == Some("binary");
    let or = |text: &'static str, binary: &'static str| if bytes { binary } else { text };
    let data_type = match column.kind {
        kind::TINY => "tinyint",
        kind::SHORT => "smallint",
        kind::INT24 => "mediumint",
        kind::LONG => "int",
        kind::LONGLONG => "bigint",
        kind::NEWDECIMAL => "decimal",
        kind::FLOAT => "float",
        kind::DOUBLE => "double",
        kind::BIT => "bit",
        kind::YEAR => "year",
        kind::DATE | kind::NEWDATE => "date",
        kind::TIME | kind::TIME2 => "time",
        kind::DATETIME | kind::DATETIME2 => "datetime",
        kind::TIMESTAMP | kind::TIMESTAMP2 => "timestamp",
        kind::STRING => or("char", "binary"),
        kind::VARCHAR | kind::VAR_STRING | kind::VARCHAR_COMPRESSED => or("varchar", "varbinary"),
        kind::BLOB | kind::BLOB_COMPRESSED => or("text", "blob"),
        kind::JSON => "json",
        kind::ENUM => "enum",
        kind::SET => "set",
        kind::GEOMETRY => "geometry",
        kind::VECTOR => "vector",
        other => return Err(format!("column {name} has an unknown type {other}")),
    };
    let members = column.members.iter().flatten();
    // As a definition would show whether it may have this member.
    let zero = members.filter(|m| *m == b"0").map(|_| "('0')");
    Ok(server::catalog::Column {
        charset: column
            .charset
            .clone()
            .filter(|_| !matches!(data_type, "geometry" | "vector")),
        column_type: format!("{data_type}{}", zero.take(1).collect::<String>()),
        data_type: data_type.to_owned(),
        name,
        ..server::catalog::Column::default()
    })
}
