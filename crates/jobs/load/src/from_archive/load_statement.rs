//! The LOAD statement of a table. Nothing of an archive becomes SQL but names, separators and known functions.

use archive::open::Table;
use base::units::printable;
use base::{Error, Kind, Result};
use server::quote;

/// `LOAD DATA LOCAL INFILE` for the chunks of a table.
///
/// `counted` is its AUTO_INCREMENT column on MariaDB. There a statement with SET gives a column that is not in
/// the SET a new number instead of 0, also with NO_AUTO_VALUE_ON_ZERO.
pub fn load_statement(table: &Table, counted: Option<&str>) -> Result<String> {
    let o = &table.meta.options;
    let name = quote::qualified(&table.schema, &table.name);
    let charset: String = o
        .default_character_set
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect();
    let mut columns = Vec::new();
    let mut sets = Vec::new();
    for (i, column) in o.columns.iter().enumerate() {
        let quoted = quote::ident(column);
        match o.decode_columns.get(column) {
            None if counted == Some(column) => {
                columns.push(format!("@p{i}"));
                sets.push(format!("{quoted} = @p{i}"));
            }
            None => columns.push(quoted),
            Some(function) => {
                let value = decoded(function, column, i).ok_or_else(|| {
                    Error::new(
                        Kind::Archive,
                        format!("table {name}: column {quoted} needs the decoding function {}, which is not supported", printable(function)),
                    )
                })?;
                columns.push(format!("@p{i}"));
                sets.push(format!("{quoted} = {value}"));
            }
        }
    }
    let d = &o.dialect;
    let optionally = if d.fields_optionally_enclosed {
        "OPTIONALLY "
    } else {
        ""
    };
    let mut sql = format!(
        "LOAD DATA LOCAL INFILE 'penstock' INTO TABLE {name} CHARACTER SET {charset} \
         FIELDS TERMINATED BY {} {optionally}ENCLOSED BY {} ESCAPED BY {} LINES TERMINATED BY {}",
        literal(&d.fields_terminated_by),
        literal(&d.fields_enclosed_by),
        literal(&d.fields_escaped_by),
        literal(&d.lines_terminated_by),
    );
    if !columns.is_empty() {
        sql += &format!(" ({})", columns.join(", "));
    }
    if !sets.is_empty() {
        sql += &format!(" SET {}", sets.join(", "));
    }
    Ok(sql)
}

/// The expression that gives a column its value. Only the two functions of the format and the one
/// expression that MySQL Shell is known to write: nothing else in an archive becomes SQL.
fn decoded(function: &str, column: &str, i: usize) -> Option<String> {
    match function.to_ascii_uppercase().as_str() {
        "FROM_BASE64" => Some(format!("FROM_BASE64(@p{i})")),
        "UNHEX" => Some(format!("UNHEX(@p{i})")),
        _ if function == format!("STRING_TO_VECTOR(@{})", quote::ident(column)) => {
            Some(format!("STRING_TO_VECTOR(@p{i})"))
        }
        _ => None,
    }
}

/// A separator as a literal; the grammar takes strings and hexadecimal here.
fn literal(text: &str) -> String {
    if text.is_empty() {
        "''".to_owned()
    } else {
        let hex: String = text.bytes().map(|b| format!("{b:02x}")).collect();
        format!("0x{hex}")
    }
}
