//! A table of the target: how the rows of a dump are written as lines for it, and how far they are stored.

use base::units::printable;
use base::{Error, Kind, Result};
use dumps::directory::Delimited;
use dumps::insert::Literal;
use dumps::{Charset, Dialect};
use run::failure;
use server::quote;
use std::sync::atomic::AtomicU64;
use wire::Conn;

/// A column of the target.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    literal: Literal,
    /// Takes text only, no bytes of unknown encoding.
    text_only: bool,
    /// Left out when an INSERT names no columns.
    hidden: bool,
    /// AUTO_INCREMENT.
    counted: bool,
}

/// A table that is filled.
#[derive(Debug)]
pub struct TargetTable {
    /// Quoted, qualified.
    pub name: String,
    /// Its schema.
    pub schema: String,
    columns: Vec<Column>,
    /// Its engine has no transactions.
    pub nontransactional: bool,
    /// Batches that loaders have and have not stored yet.
    pub open: AtomicU64,
    /// Rows stored.
    pub rows: AtomicU64,
}

impl TargetTable {
    /// Reads a table's columns from the target; it must exist.
    pub fn read(conn: &mut Conn, schema: &str, table: &str) -> Result<TargetTable> {
        let name = quote::qualified(schema, table);
        let sql = format!(
            "SELECT column_name, data_type, COALESCE(character_set_name, ''), extra FROM information_schema.columns \
             WHERE table_schema = {} AND table_name = {} ORDER BY ordinal_position",
            quote::text(schema),
            quote::text(table)
        );
        let rows = conn.fetch(sql).map_err(|e| {
            failure::wire(format_args!("cannot look at table {}", printable(&name)), e)
        })?;
        let columns: Vec<Column> = rows
            .into_iter()
            .map(|row| {
                let mut cells = row
                    .into_iter()
                    .map(|c| String::from_utf8_lossy(&c.unwrap_or_default()).into_owned());
                let mut next = || cells.next().unwrap_or_default();
                let (name, kind, charset, extra) = (next(), next(), next(), next());
                Column {
                    name,
                    text_only: matches!(kind.as_str(), "json" | "inet4" | "inet6" | "uuid"),
                    literal: literal(&kind.to_ascii_lowercase(), &charset),
                    hidden: extra.to_ascii_uppercase().contains("INVISIBLE"),
                    counted: extra.to_ascii_uppercase().contains("AUTO_INCREMENT"),
                }
            })
            .collect();
        if columns.is_empty() {
            return Err(Error::new(
                Kind::Archive,
                format!(
                    "the dump has rows for table {}, but neither the dump nor the target has the table",
                    printable(&name)
                ),
            )
            .hint("load the definitions first, or check --schema"));
        }
        Ok(TargetTable {
            name,
            schema: schema.to_owned(),
            columns,
            nontransactional: without_transactions(conn, schema, table)?,
            open: AtomicU64::new(0),
            rows: AtomicU64::new(0),
        })
    }

    /// The columns that an INSERT fills; `None` if it names one that does not exist.
    fn filled(&self, named: Option<&[String]>) -> Option<Vec<&Column>> {
        match named {
            None => Some(self.columns.iter().filter(|c| !c.hidden).collect()),
            Some(names) => names
                .iter()
                .map(|n| self.columns.iter().find(|c| c.name.eq_ignore_ascii_case(n)))
                .collect(),
        }
    }

    /// How the literals of an INSERT are written.
    pub fn literals(&self, named: Option<&[String]>) -> Option<Vec<Literal>> {
        Some(self.filled(named)?.iter().map(|c| c.literal).collect())
    }

    /// LOAD DATA for the lines that its INSERTs become.
    pub fn statement(&self, named: Option<&[String]>, dialect: Dialect) -> Option<String> {
        let form = Delimited {
            charset: Some(dialect.charset.unwrap_or(Charset::UTF8MB4)),
            ..Delimited::tsv()
        };
        Some(self.load(&form, &self.filled(named)?))
    }

    /// LOAD DATA for lines of another tool.
    pub fn statement_for_lines(&self, form: &Delimited) -> Result<String> {
        let named = form.columns.as_deref();
        let Some(columns) = self.filled(named) else {
            return Err(Error::new(
                Kind::Archive,
                format!(
                    "the dump names columns that table {} does not have",
                    printable(&self.name)
                ),
            ));
        };
        // Such tools write bytes unencoded.
        let raw: Vec<Column> = columns
            .into_iter()
            .map(|c| Column {
                literal: Literal::Text,
                ..c.clone()
            })
            .collect();
        Ok(self.load(form, &raw.iter().collect::<Vec<_>>()))
    }

    fn load(&self, form: &Delimited, columns: &[&Column]) -> String {
        let converted = |i: usize, c: &Column| match c.literal {
            Literal::Hex => Some(format!("UNHEX(@p{i})")),
            Literal::Base64 => Some(format!("FROM_BASE64(@p{i})")),
            _ if c.text_only && form.charset == Some(Charset::BINARY) => {
                Some(format!("CONVERT(@p{i} USING utf8mb4)"))
            }
            _ => None,
        };
        // With a SET, MariaDB gives an AUTO_INCREMENT column that is not in it a new number instead of 0.
        let any = columns
            .iter()
            .enumerate()
            .any(|(i, c)| converted(i, c).is_some());
        let (mut list, mut sets) = (Vec::new(), Vec::new());
        for (i, c) in columns.iter().enumerate() {
            let name = quote::ident(&c.name);
            match converted(i, c).or_else(|| (any && c.counted).then(|| format!("@p{i}"))) {
                None => list.push(name),
                Some(value) => {
                    list.push(format!("@p{i}"));
                    sets.push(format!("{name} = {value}"));
                }
            }
        }
        let charset = form.charset.map_or("utf8mb4", |c| c.name());
        let mut sql = format!(
            "LOAD DATA LOCAL INFILE 'penstock' INTO TABLE {} CHARACTER SET {charset} FIELDS TERMINATED BY {} {}ENCLOSED BY {} ESCAPED BY {} LINES STARTING BY {} TERMINATED BY {}",
            self.name,
            hex(&form.fields),
            if form.optionally { "OPTIONALLY " } else { "" },
            hex(&form.enclosed),
            hex(&form.escaped),
            hex(&form.starting),
            hex(&form.lines),
        );
        if form.ignore > 0 {
            sql += &format!(" IGNORE {} LINES", form.ignore);
        }
        sql += &format!(" ({})", list.join(", "));
        if !sets.is_empty() {
            sql += &format!(" SET {}", sets.join(", "));
        }
        sql
    }

    /// The columns' names, to find out which column a warning is about.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }
}

fn without_transactions(conn: &mut Conn, schema: &str, table: &str) -> Result<bool> {
    let sql = format!(
        "SELECT e.transactions FROM information_schema.tables t JOIN information_schema.engines e ON e.engine = t.engine \
         WHERE t.table_schema = {} AND t.table_name = {}",
        quote::text(schema),
        quote::text(table)
    );
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot look at the tables' engines", e))?;
    Ok(rows.into_iter().flatten().flatten().any(|c| c != b"YES"))
}

/// How literals for a column of this type are written into lines.
fn literal(kind: &str, charset: &str) -> Literal {
    match kind {
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => match charset {
            "ucs2" | "utf16" | "utf16le" | "utf32" => Literal::Quoted,
            // MariaDB's JSON is a longtext; this is for what has no character set at all.
            "" => Literal::Quoted,
            _ => Literal::Text,
        },
        "json" => Literal::Text,
        "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "decimal"
        | "numeric" | "float" | "double" | "real" => Literal::Number,
        "year" => Literal::Year,
        "bit" => Literal::Hex,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "geometry"
        | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
        | "multipolygon" | "geometrycollection" | "geomcollection" | "vector" => Literal::Base64,
        // Dates and times, ENUM, SET, MariaDB's INET and UUID.
        _ => Literal::Quoted,
    }
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "''".to_owned();
    }
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("0x{digits}")
}
