//! A `CREATE TABLE` of a table's description, as `SHOW CREATE TABLE` of MySQL writes it, and the columns for whoever
//! reads its rows.
//!
//! The numbers are those of the dictionary (sql/dd/types/): types of indexes and their order, rules of foreign keys, kinds of
//! hidden columns.

use super::words::{list, name, quoted, text};
use super::{options, partitions, private};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::LazyLock;
use values::charset::Charset;

/// `information_schema.collations` of MySQL 9.7.
static COLLATIONS: LazyLock<HashMap<u64, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("collations.txt").lines();
    let all = lines.filter_map(|line| line.split_once(' '));
    all.filter_map(|(id, name)| Some((id.parse().ok()?, name)))
        .collect()
});

/// A table as its description has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The server that wrote the description: 90704 is 9.7.4.
    pub version: u64,
    /// Its engine.
    pub engine: String,
    /// Its collation.
    pub collation: String,
    /// The statement.
    pub sql: String,
    /// Its columns in their order, those included that a statement has to name.
    pub columns: Vec<CreatedColumn>,
    /// Columns of its primary key.
    pub primary: Vec<String>,
    /// The general tablespace that it was in; the statement does not name it.
    pub tablespace: Option<String>,
    /// What the description does not say, or says in a way that is not known.
    pub not_told: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedColumn {
    /// Its name.
    pub name: String,
    /// Its type as `information_schema.columns` has it.
    pub column_type: String,
    /// Its collation; `None` for types without one.
    pub collation: Option<String>,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether it is computed.
    pub generated: bool,
    /// Whether rows keep the computed value.
    pub stored: bool,
}

/// The character set of a collation: what its name begins with.
pub fn charset(collation: &str) -> &str {
    collation.split('_').next().unwrap_or(collation)
}

/// Columns that the server makes and no statement names (`HT_HIDDEN_SE`, `HT_HIDDEN_SQL`).
fn is_hidden(column: &Value) -> bool {
    matches!(column["hidden"].as_u64(), Some(2 | 3))
}

/// The table of a description.
pub(super) fn table(json: &Value) -> Created {
    let object = &json["dd_object"];
    let columns = list(object, "columns");
    let mut not_told = Vec::new();
    let collation = match COLLATIONS.get(&object["collation_id"].as_u64().unwrap_or(0)) {
        Some(name) => (*name).to_owned(),
        None => {
            not_told.push(format!("its collation, number {}", object["collation_id"]));
            "utf8mb4_0900_ai_ci".to_owned()
        }
    };
    let mut lines: Vec<String> = Vec::new();
    let mut shown = Vec::new();
    for c in columns.iter().filter(|c| !is_hidden(c)) {
        let created = described(c, &mut not_told);
        lines.push(column(c, &created, &collation));
        shown.push(created);
    }
    let indexes = list(object, "indexes").iter();
    let indexes: Vec<&Value> = indexes.filter(|i| i["hidden"] != true).collect();
    lines.extend(indexes.iter().map(|i| key(i, columns)));
    let schema = text(object, "schema_ref");
    let foreign = list(object, "foreign_keys").iter();
    lines.extend(foreign.map(|f| foreign_key(f, columns, schema)));
    for check in list(object, "check_constraints") {
        // `CS_NOT_ENFORCED`.
        let enforced = match check["state"].as_u64() {
            Some(1) => " /*!80016 NOT ENFORCED */",
            _ => "",
        };
        let clause = text(check, "check_clause_utf8");
        let title = name(text(check, "name"));
        lines.push(format!("CONSTRAINT {title} CHECK ({clause}){enforced}"));
    }
    let table = text(object, "name");
    let mut sql = format!(
        "CREATE TABLE {} (\n  {}\n)",
        name(table),
        lines.join(",\n  ")
    );
    sql += &options::of(object, &collation, charset(&collation));
    match partitions::clause(object) {
        Some(Ok(clause)) => sql += &clause,
        Some(Err(why)) => not_told.push(why),
        None => {}
    }
    let primary = indexes.iter().find(|i| i["type"] == 1);
    let tablespace = text(object, "tablespace_ref");
    Created {
        schema: schema.to_owned(),
        name: table.to_owned(),
        version: object["mysql_version_id"].as_u64().unwrap_or(0),
        engine: text(object, "engine").to_owned(),
        collation,
        sql,
        primary: primary.map_or_else(Vec::new, |i| {
            let of = list(i, "elements").iter().filter(|e| e["hidden"] != true);
            of.filter_map(|e| at(columns, e))
                .map(|c| text(c, "name").to_owned())
                .collect()
        }),
        columns: shown,
        tablespace: (!tablespace.is_empty() && !tablespace.starts_with("innodb_"))
            .then(|| tablespace.to_owned()),
        not_told,
    }
}

/// The column that an element of an index or of a foreign key names.
fn at<'v>(columns: &'v [Value], element: &Value) -> Option<&'v Value> {
    columns.get(element["column_opx"].as_u64()? as usize)
}

fn described(json: &Value, not_told: &mut Vec<String>) -> CreatedColumn {
    let words = text(json, "column_type_utf8");
    let bare = words.split(['(', ' ']).next().unwrap_or_default();
    let has_text =
        bare.ends_with("char") || bare.ends_with("text") || matches!(bare, "enum" | "set");
    let collation = json["collation_id"].as_u64().unwrap_or(0);
    let known = COLLATIONS.get(&collation).map(|c| (*c).to_owned());
    let title = text(json, "name");
    if has_text && known.is_none() {
        not_told.push(format!(
            "the collation of column {}, number {collation}",
            name(title)
        ));
    }
    let generated = !text(json, "generation_expression").is_empty();
    CreatedColumn {
        name: title.to_owned(),
        column_type: words.to_owned(),
        collation: known.filter(|_| has_text),
        nullable: json["is_nullable"] == true,
        generated,
        stored: generated && json["is_virtual"] != true,
    }
}

fn column(json: &Value, of: &CreatedColumn, of_table: &str) -> String {
    let mut sql = format!("{} {}", name(&of.name), of.column_type);
    if let Some(collation) = &of.collation
        && (collation != of_table || json["is_explicit_collation"] == true)
    {
        let set = charset(collation);
        let _ = write!(sql, " CHARACTER SET {set} COLLATE {collation}");
    }
    if of.generated {
        // The expression, and not its escaped form for `information_schema`.
        let expression = text(json, "generation_expression");
        let kind = if of.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(sql, " GENERATED ALWAYS AS ({expression}) {kind}");
    }
    if !of.nullable {
        sql += " NOT NULL";
    } else if of.column_type.starts_with("timestamp") {
        sql += " NULL";
    }
    if json["srs_id_null"] != true
        && let Some(srs) = json["srs_id"].as_u64()
    {
        let _ = write!(sql, " /*!80003 SRID {srs} */");
    }
    if !of.generated
        && let Some(value) = default(json, of)
    {
        let _ = write!(sql, " DEFAULT {value}");
    }
    let update = text(json, "update_option");
    if !update.is_empty() {
        let _ = write!(sql, " ON UPDATE {update}");
    }
    if json["is_auto_increment"] == true {
        sql += " AUTO_INCREMENT";
    }
    // `HT_HIDDEN_USER`.
    if json["hidden"] == 4 {
        sql += " /*!80023 INVISIBLE */";
    }
    let comment = text(json, "comment");
    if !comment.is_empty() {
        let _ = write!(sql, " COMMENT {}", quoted(comment));
    }
    sql
}

/// The value of a column in a row that does not name it.
fn default(json: &Value, of: &CreatedColumn) -> Option<String> {
    let function = text(json, "default_option");
    if function.starts_with("CURRENT_TIMESTAMP") {
        return Some(function.to_owned());
    }
    if !function.is_empty() {
        return Some(format!("({function})"));
    }
    if json["has_no_default"] == true || json["is_auto_increment"] == true {
        return None;
    }
    let bare = of.column_type.split(['(', ' ']).next().unwrap_or_default();
    if json["default_value_null"] == true {
        let never = bare.ends_with("text") || bare.ends_with("blob");
        return (of.nullable && !never).then(|| "NULL".to_owned());
    }
    // Of bytes there is only the value in a row; the text in `default_value_utf8` ends at a zero byte.
    if matches!(bare, "binary" | "varbinary") {
        let packed: String = text(json, "default_value").split_whitespace().collect();
        let bytes = super::kinds::base64(&packed)?;
        let long = json["char_length"].as_u64().unwrap_or(0) > 255;
        let bytes = match (bare, long, &bytes[..]) {
            ("binary", ..) => &bytes[..],
            (_, false, [length, rest @ ..]) => rest.get(..usize::from(*length))?,
            (_, true, [low, high, rest @ ..]) => {
                rest.get(..usize::from(u16::from_le_bytes([*low, *high])))?
            }
            _ => return None,
        };
        if bytes.is_empty() {
            return Some("''".to_owned());
        }
        let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        return Some(format!("0x{digits}"));
    }
    if json["default_value_utf8_null"] == true {
        return None;
    }
    let value = text(json, "default_value_utf8");
    match bare {
        "bit" => Some(value.to_owned()),
        _ => Some(quoted(value)),
    }
}

fn key(index: &Value, columns: &[Value]) -> String {
    let title = name(text(index, "name"));
    let kind = index["type"].as_u64().unwrap_or(3);
    let mut sql = match kind {
        1 => "PRIMARY KEY".to_owned(),
        2 => format!("UNIQUE KEY {title}"),
        4 => format!("FULLTEXT KEY {title}"),
        5 => format!("SPATIAL KEY {title}"),
        _ => format!("KEY {title}"),
    };
    let elements = list(index, "elements").iter();
    let parts = elements.filter(|e| e["hidden"] != true).filter_map(|e| {
        let column = at(columns, e)?;
        let mut part = if is_hidden(column) {
            format!("({})", text(column, "generation_expression"))
        } else {
            name(text(column, "name"))
        };
        if !matches!(kind, 4 | 5)
            && let Some(prefix) = prefix(column, e)
        {
            let _ = write!(part, "({prefix})");
        }
        // `ORDER_DESC`.
        if e["order"] == 3 {
            part += " DESC";
        }
        Some(part)
    });
    let parts: Vec<String> = parts.collect();
    let _ = write!(sql, " ({})", parts.join(","));
    if index["is_algorithm_explicit"] == true {
        match index["algorithm"].as_u64() {
            Some(2) => sql += " USING BTREE",
            Some(4) => sql += " USING HASH",
            _ => {}
        }
    }
    if let Some(size) = private(text(index, "options"), "block_size").filter(|s| *s != "0") {
        let _ = write!(sql, " KEY_BLOCK_SIZE={size}");
    }
    let comment = text(index, "comment");
    if !comment.is_empty() {
        let _ = write!(sql, " COMMENT {}", quoted(comment));
    }
    if let Some(parser) = private(text(index, "options"), "parser_name") {
        let _ = write!(sql, " /*!50100 WITH PARSER {} */", name(parser));
    }
    if index["is_visible"] == false {
        sql += " /*!80000 INVISIBLE */";
    }
    sql
}

/// Characters, or bytes, that a key holds of a column's beginning; `None`: all.
fn prefix(column: &Value, element: &Value) -> Option<u64> {
    let length = element["length"]
        .as_u64()
        .filter(|n| *n < u64::from(u32::MAX))?;
    // `VARCHAR`, `STRING`; `TINY_BLOB` to `BLOB`: dd::enum_column_types.
    let (is_long, is_text) = match column["type"].as_u64()? {
        16 | 28 | 29 => (false, true),
        24..=27 => (true, true),
        _ => (false, false),
    };
    if !is_text || is_hidden(column) || !is_long && Some(length) == column["char_length"].as_u64() {
        return None;
    }
    let collation = COLLATIONS.get(&column["collation_id"].as_u64()?)?;
    let widest = Charset::of(charset(collation)).map_or(1, |set| u64::from(set.most));
    Some(length / widest)
}

fn foreign_key(json: &Value, columns: &[Value], schema: &str) -> String {
    let own = list(json, "elements").iter();
    let own: Vec<String> = own
        .filter_map(|e| at(columns, e).map(|c| name(text(c, "name"))))
        .collect();
    let theirs = list(json, "elements").iter();
    let theirs: Vec<String> = theirs
        .map(|e| name(text(e, "referenced_column_name")))
        .collect();
    let mut referenced = name(text(json, "referenced_table_name"));
    let other = text(json, "referenced_table_schema_name");
    if other != schema {
        referenced = format!("{}.{referenced}", name(other));
    }
    let mut sql = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {referenced} ({})",
        name(text(json, "name")),
        own.join(", "),
        theirs.join(", ")
    );
    for (key, words) in [("delete_rule", "DELETE"), ("update_rule", "UPDATE")] {
        // `NO ACTION` is what there is without words.
        let rule = match json[key].as_u64() {
            Some(2) => "RESTRICT",
            Some(3) => "CASCADE",
            Some(4) => "SET NULL",
            Some(5) => "SET DEFAULT",
            _ => continue,
        };
        let _ = write!(sql, " ON {words} {rule}");
    }
    sql
}
