//! A `CREATE TABLE` that a user or a server wrote, taken apart into columns and keys.
//!
//! Every word that says how values are stored must be known; what follows it (defaults, comments, conditions) is passed
//! over.

use crate::Dialect;
use crate::tokens::{Token, Tokens};

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type in words, as `information_schema.columns` has it.
    pub column_type: String,
    /// The character set that it names; that of the table may be meant where it names none.
    pub charset: Option<String>,
    /// The same of its collation.
    pub collation: Option<String>,
    /// What it says of NULL; nothing in most definitions that people write.
    pub nullable: Option<bool>,
    /// Whether it is computed, and whether rows keep the value.
    pub generated: Option<bool>,
}

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE KEY.
    Unique,
    /// FULLTEXT KEY.
    FullText,
    /// Any other.
    Other,
}

/// A key: its columns, and of how many characters or bytes of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: KeyKind,
    /// Its columns, with the length of a prefix.
    pub parts: Vec<(String, Option<u32>)>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Created {
    /// Its schema, where the statement names it.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
    /// In their order.
    pub columns: Vec<Column>,
    /// In the order of the statement.
    pub keys: Vec<Key>,
    /// The character set of columns that name none.
    pub charset: Option<String>,
    /// Their collation.
    pub collation: Option<String>,
    /// Its storage engine.
    pub engine: Option<String>,
}

impl Created {
    /// The character set of a column, by its own words or those of the table: also of columns that have no text.
    pub fn charset_of(&self, column: &Column) -> Option<String> {
        let of_collation = |c: &Option<String>| {
            let collation = c.as_deref()?;
            Some(collation.split('_').next().unwrap_or(collation).to_owned())
        };
        let own = column.charset.clone();
        let own = own.or_else(|| of_collation(&column.collation));
        let of_table = || {
            let charset = self.charset.clone();
            charset.or_else(|| of_collation(&self.collation))
        };
        own.or_else(of_table).map(|c| c.to_ascii_lowercase())
    }

    /// The columns of its primary key; none without one.
    pub fn primary_columns(&self) -> Vec<&str> {
        let primary = self.keys.iter().find(|k| k.kind == KeyKind::Primary);
        let parts = primary.map(|k| &k.parts[..]).unwrap_or_default();
        parts.iter().map(|(name, _)| name.as_str()).collect()
    }
}

impl Column {
    /// Whether its values are text, which has a character set.
    pub fn is_text(&self) -> bool {
        matches!(
            self.column_type
                .split(['(', ' '])
                .next()
                .unwrap_or_default(),
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set"
        )
    }
}

/// Tokens that can be looked at twice.
struct Words<'a> {
    all: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.all.get(self.at).copied()
    }

    fn take(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn is(&self, word: &str) -> bool {
        self.peek().is_some_and(|t| t.is(word))
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.peek() == Some(Token::Symbol(symbol));
        self.at += usize::from(found);
        found
    }

    fn name(&mut self) -> Option<String> {
        self.take()?.name()
    }

    /// The tokens in brackets, if some follow.
    fn brackets(&mut self) -> Option<Vec<Token<'a>>> {
        if !self.symbol(b'(') {
            return None;
        }
        let (begin, mut depth) = (self.at, 1);
        while depth > 0 {
            match self.take()? {
                Token::Symbol(b'(') => depth += 1,
                Token::Symbol(b')') => depth -= 1,
                _ => {}
            }
        }
        Some(self.all[begin..self.at - 1].to_vec())
    }
}

/// Divided at the commas that are in no brackets.
fn divided<'a>(all: &[Token<'a>]) -> Vec<Words<'a>> {
    let (mut parts, mut depth) = (vec![Vec::new()], 0);
    for token in all {
        match token {
            Token::Symbol(b'(') => depth += 1,
            Token::Symbol(b')') => depth -= 1,
            Token::Symbol(b',') if depth == 0 => {
                parts.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(*token);
        }
    }
    parts.into_iter().map(|all| Words { all, at: 0 }).collect()
}

fn text(token: &Token<'_>) -> String {
    let bytes = match token {
        Token::Word(w) | Token::Variable(w) | Token::Text(w) | Token::Name(w) => w,
        Token::Symbol(s) => std::slice::from_ref(s),
    };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Comments that servers write behind types whose values have the format of before MySQL 5.6, and the word that takes their
/// place.
const OLD: [&str; 2] = ["/* 5.5 binary format */", "/* mariadb-5.3 */"];
const OLD_WORD: &str = " OLD_BINARY_FORMAT ";

/// The table of a statement; `None`: it creates no table. The error says what is not understood.
pub fn parse(statement: &[u8], dialect: Dialect) -> Option<Result<Created, String>> {
    let Ok(text) = std::str::from_utf8(statement) else {
        return Some(Err("it is not UTF-8".to_owned())).filter(|_| {
            let mut words = Tokens::new(statement, dialect);
            words.accept("CREATE") && words.accept("TABLE")
        });
    };
    let text = OLD
        .iter()
        .fold(text.to_owned(), |t, c| t.replace(c, OLD_WORD));
    let mut words = Words {
        all: Tokens::new(text.as_bytes(), dialect).collect(),
        at: 0,
    };
    if !words.accept("CREATE") {
        return None;
    }
    if words.accept("OR") {
        words.accept("REPLACE");
    }
    words.accept("TEMPORARY");
    words.accept("TABLE").then(|| {
        let broken = || "a CREATE TABLE of it is not understood".to_owned();
        created(&mut words).unwrap_or_else(|| Err(broken()))
    })
}

fn created(words: &mut Words<'_>) -> Option<Result<Created, String>> {
    if words.accept("IF") {
        words.accept("NOT");
        words.accept("EXISTS");
    }
    let mut table = Created {
        name: words.name()?,
        ..Created::default()
    };
    if words.symbol(b'.') {
        table.schema = Some(std::mem::replace(&mut table.name, words.name()?));
    }
    let inner = words.brackets()?;
    options(words, &mut table);
    for mut part in divided(&inner) {
        if let Err(why) = element(&mut part, &mut table)? {
            return Some(Err(format!("table {}: {why}", table.name)));
        }
    }
    Some(Ok(table))
}

/// Character set, collation and engine after the brackets.
fn options(words: &mut Words<'_>, table: &mut Created) {
    while let Some(token) = words.take() {
        let slot = if token.is("PARTITION") {
            return;
        } else if token.is("CHARSET") || token.is("CHARACTER") && words.accept("SET") {
            &mut table.charset
        } else if token.is("COLLATE") {
            &mut table.collation
        } else if token.is("ENGINE") {
            &mut table.engine
        } else {
            continue;
        };
        words.symbol(b'=');
        *slot = words.name();
    }
}

/// A column or a key.
fn element(words: &mut Words<'_>, table: &mut Created) -> Option<Result<(), String>> {
    const OTHERS: [&str; 5] = ["FOREIGN", "CHECK", "PERIOD", "LIKE", "EXCLUDE"];
    if words.accept("CONSTRAINT")
        && !["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"]
            .iter()
            .any(|w| words.is(w))
    {
        words.take();
    }
    if OTHERS.iter().any(|w| words.is(w)) {
        return Some(Ok(()));
    }
    let kind = if words.accept("PRIMARY") {
        KeyKind::Primary
    } else if words.accept("UNIQUE") {
        KeyKind::Unique
    } else if words.accept("FULLTEXT") {
        KeyKind::FullText
    } else if ["SPATIAL", "VECTOR"].iter().any(|w| words.is(w)) && words.all.len() > 2 {
        words.take();
        KeyKind::Other
    } else if words.is("KEY") || words.is("INDEX") {
        KeyKind::Other
    } else {
        return column(words, table);
    };
    let _ = words.accept("KEY") || words.accept("INDEX");
    let mut name = String::new();
    while words.peek() != Some(Token::Symbol(b'(')) {
        if words.accept("USING") {
            words.take()?;
        } else {
            name = words.name()?;
        }
    }
    let mut parts = Vec::new();
    for mut part in divided(&words.brackets()?) {
        // An expression has no column; keys of that kind are not the rows' own.
        let Some(column) = part.name() else { continue };
        let length = part.brackets();
        let length = length.and_then(|l| text(l.first()?).parse().ok());
        parts.push((column, length));
    }
    if kind == KeyKind::Primary {
        "PRIMARY".clone_into(&mut name);
    }
    table.keys.push(Key { name, kind, parts });
    Some(Ok(()))
}

fn column(words: &mut Words<'_>, table: &mut Created) -> Option<Result<(), String>> {
    let mut column = Column {
        name: words.name()?,
        ..Column::default()
    };
    let mut key = None;
    if let Err(why) = column_type(words, &mut column, &mut key)? {
        return Some(Err(why));
    }
    while let Some(token) = words.take() {
        if token.is("CHARSET") || token.is("CHARACTER") && words.accept("SET") {
            column.charset = Some(words.name()?);
        } else if token.is("COLLATE") {
            column.collation = Some(words.name()?);
        } else if token.is("NOT") && words.accept("NULL") {
            column.nullable = Some(false);
        } else if token.is("NULL") {
            column.nullable = Some(true);
        } else if token.is("PRIMARY") {
            key = Some(KeyKind::Primary);
        } else if token.is("UNIQUE") {
            key = Some(KeyKind::Unique);
        } else if token.is("AS") {
            words.brackets()?;
            column.generated = Some(false);
        } else if token.is("STORED") || token.is("PERSISTENT") {
            column.generated = column.generated.map(|_| true);
        } else if token.is(OLD_WORD.trim()) {
            column.column_type += " /* mariadb-5.3 */";
        } else if token.is("COMPRESSED") {
            column.column_type += " /*M!100301 COMPRESSED*/";
        } else if token.is("DEFAULT") || token.is("COMMENT") || token.is("CHECK") {
            // A value may be the word NULL, or a function.
            if words.peek() != Some(Token::Symbol(b'(')) {
                words.take();
            }
            words.brackets();
        } else if token == Token::Symbol(b'(') {
            words.at -= 1;
            words.brackets()?;
        }
    }
    if let Some(kind) = key {
        table.keys.push(Key {
            name: match kind {
                KeyKind::Primary => "PRIMARY".to_owned(),
                _ => column.name.clone(),
            },
            kind,
            parts: vec![(column.name.clone(), None)],
        });
    }
    table.columns.push(column);
    Some(Ok(()))
}

/// The type, and what belongs to it.
fn column_type(
    words: &mut Words<'_>,
    column: &mut Column,
    key: &mut Option<KeyKind>,
) -> Option<Result<(), String>> {
    let Token::Word(word) = words.take()? else {
        return Some(Err(format!("column {} has no type", column.name)));
    };
    let mut name = String::from_utf8_lossy(word).to_ascii_lowercase();
    let mut default = "";
    let varying = words.accept("VARYING");
    match name.as_str() {
        "integer" => "int".clone_into(&mut name),
        "bool" | "boolean" => (name, default) = ("tinyint".to_owned(), "(1)"),
        "dec" | "numeric" | "fixed" => "decimal".clone_into(&mut name),
        "real" => "double".clone_into(&mut name),
        "double" => {
            words.accept("PRECISION");
        }
        "character" | "char" if varying => "varchar".clone_into(&mut name),
        "character" => "char".clone_into(&mut name),
        "serial" => {
            "bigint".clone_into(&mut name);
            default = " unsigned";
            column.nullable = Some(false);
            *key = Some(KeyKind::Unique);
        }
        _ => {}
    }
    match name.as_str() {
        "decimal" => default = "(10,0)",
        "char" | "binary" | "bit" => default = "(1)",
        _ => {}
    }
    column.column_type = name;
    match words.brackets() {
        Some(inner) => {
            let inner: String = inner.iter().map(text).collect();
            column.column_type += &format!("({inner})");
            if column.column_type.starts_with("decimal") && !inner.contains(',') {
                column.column_type = format!("decimal({inner},0)");
            }
        }
        None => column.column_type += default,
    }
    loop {
        if words.accept("UNSIGNED") {
            column.column_type += " unsigned";
        } else if words.accept("ZEROFILL") {
            column.column_type += " zerofill";
        } else if !words.accept("SIGNED") {
            return Some(Ok(()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Created {
        parse(sql.as_bytes(), Dialect::default())
            .expect("a table")
            .expect("understood")
    }

    #[test]
    fn definitions_are_taken_apart() {
        let table = of(
            "CREATE TABLE IF NOT EXISTS s.`t``x` (id INTEGER UNSIGNED NOT NULL PRIMARY KEY, \
            v CHARACTER VARYING(20) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT 'a, b' COMMENT 'NOT NULL', \
            e ENUM('a','it''s') NOT NULL, d NUMERIC(5) NULL, g INT GENERATED ALWAYS AS (id + (1)) STORED, \
            w INT AS (id) VIRTUAL, b BOOL DEFAULT NULL, c DOUBLE PRECISION, t TIMESTAMP DEFAULT CURRENT_TIMESTAMP(3), \
            UNIQUE KEY u (v(5), d DESC) USING BTREE, CONSTRAINT f FOREIGN KEY (d) REFERENCES x (y), KEY ((id + 1)), \
            CONSTRAINT CHECK (id > 0)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_bin \
            PARTITION BY HASH (id) PARTITIONS 2",
        );
        assert_eq!(table.schema.as_deref(), Some("s"));
        assert_eq!(table.name, "t`x");
        let types: Vec<&str> = table.columns.iter().map(|c| &*c.column_type).collect();
        assert_eq!(
            types,
            [
                "int unsigned",
                "varchar(20)",
                "enum('a','it''s')",
                "decimal(5,0)",
                "int",
                "int",
                "tinyint(1)",
                "double",
                "timestamp"
            ]
        );
        let nullable: Vec<_> = table.columns.iter().map(|c| c.nullable).collect();
        let none = None;
        assert_eq!(
            nullable,
            [
                Some(false),
                none,
                Some(false),
                Some(true),
                none,
                none,
                none,
                none,
                none
            ]
        );
        assert_eq!(table.columns[4].generated, Some(true));
        assert_eq!(table.columns[5].generated, Some(false));
        assert_eq!(table.columns[1].charset.as_deref(), Some("latin1"));
        assert_eq!(table.charset.as_deref(), Some("utf8mb4"));
        assert_eq!(table.keys[0].kind, KeyKind::Primary);
        assert_eq!(
            table.keys[1].parts,
            [("v".to_owned(), Some(5)), ("d".to_owned(), None)]
        );
        assert_eq!(table.keys.len(), 3);
    }

    #[test]
    fn what_is_no_definition_is_an_error() {
        let of = |sql: &str| parse(sql.as_bytes(), Dialect::default());
        assert_eq!(of("INSERT INTO t VALUES (1)"), None);
        assert_eq!(of("CREATE VIEW t AS SELECT 1"), None);
        for sql in [
            "CREATE TABLE t",
            "CREATE TABLE t (",
            "CREATE TABLE t LIKE x",
            "CREATE TABLE t (a)",
            "CREATE TABLE t (a 'x')",
            "CREATE TABLE t (KEY",
            "CREATE TABLE t (a INT AS)",
        ] {
            assert!(matches!(of(sql), Some(Err(_))), "{sql}");
        }
    }
}
