//! Statements that scripts of other tools have besides definitions: those that fill and change a table.

use super::{Edits, Names, Piece, name_at, pieces, table};
use dumps::Dialect;
use dumps::tokens::{Token, Tokens};
use server::quote;

/// An INSERT or REPLACE for a table with another name, if it reads no other table. Nothing behind `rows_at` is looked at:
/// rows may be of many megabytes.
pub(crate) fn rows(
    text: &[u8],
    dialect: Dialect,
    new: &str,
    rows_at: Option<usize>,
) -> Option<Vec<u8>> {
    let mut tokens = Tokens::new(&text[..rows_at.unwrap_or(text.len())], dialect);
    let first = tokens.next()?;
    if !first.is("INSERT") && !first.is("REPLACE") {
        return None;
    }
    loop {
        let modifiers = ["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "IGNORE", "INTO"];
        if !modifiers.iter().any(|word| tokens.accept(word)) {
            break;
        }
    }
    let (start, end) = whole_name(text, &mut tokens)?;
    Some([&text[..start], new.as_bytes(), &text[end..]].concat())
}

/// Where `name` or `schema.name` begins and ends, which is next.
fn whole_name(text: &[u8], tokens: &mut Tokens<'_>) -> Option<(usize, usize)> {
    let length = |token: Token<'_>| match token {
        Token::Word(t) | Token::Variable(t) | Token::Text(t) | Token::Name(t) => t.len(),
        Token::Symbol(_) => 1,
    };
    let first = tokens.next()?;
    first.name()?;
    let (start, mut end) = (
        Tokens::position(tokens) - length(first),
        Tokens::position(tokens),
    );
    if tokens.peek() == Some(Token::Symbol(b'.')) {
        tokens.next();
        tokens.next()?.name()?;
        end = Tokens::position(tokens);
    }
    (end <= text.len()).then_some((start, end))
}

/// `ALTER TABLE t …`, `TRUNCATE TABLE t`, `CREATE INDEX i ON t …`, `DROP INDEX i ON t`; gives what else changes. `None`:
/// its names are not where they should be, or it gives names itself.
pub(crate) fn alter(
    text: &str,
    dialect: Dialect,
    names: &Names<'_>,
) -> Option<(String, Vec<String>)> {
    let list = pieces(text, dialect);
    let mut edits = Edits::default();
    let is_name = |p: &&Piece<'_>| p.is_any(&["RENAME", "EXCHANGE"]);
    let notes = match list.first() {
        Some(first) if first.is("ALTER") => {
            if list.iter().any(|p| is_name(&p)) {
                return None;
            }
            table::table(&list, names, &mut edits)?
        }
        Some(first) => {
            let at = match first.is("TRUNCATE") {
                true => 1 + usize::from(list.get(1).is_some_and(|p| p.is("TABLE"))),
                false => list.iter().position(|p| p.is("ON"))? + 1,
            };
            let (last, schema, name) = name_at(&list, at)?;
            if schema.is_some_and(|s| s != names.home) {
                return None;
            }
            let (_, new) = names.map.table(names.home, &name);
            edits.replace(&list[at], &list[last], quote::ident(&new));
            Vec::new()
        }
        None => return None,
    };
    Some((edits.apply(text), notes))
}

/// Functions whose result is that of their arguments and the session, and does not depend on tables.
const HARMLESS: [&str; 52] = [
    "NOW",
    "CURRENT_TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURDATE",
    "CURTIME",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "SYSDATE",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "FROM_UNIXTIME",
    "UNIX_TIMESTAMP",
    "UUID",
    "UUID_TO_BIN",
    "UNHEX",
    "HEX",
    "CHAR",
    "CONCAT",
    "CONCAT_WS",
    "CONVERT",
    "CAST",
    "BINARY",
    "COMPRESS",
    "UNCOMPRESS",
    "FROM_BASE64",
    "TO_BASE64",
    "MD5",
    "SHA1",
    "SHA2",
    "IF",
    "IFNULL",
    "NULLIF",
    "COALESCE",
    "REPEAT",
    "REPLACE",
    "TRIM",
    "UPPER",
    "LOWER",
    "JSON_OBJECT",
    "JSON_ARRAY",
    "JSON_COMPACT",
    "POINT",
    "ST_GEOMFROMTEXT",
    "ST_GEOMFROMWKB",
    "GEOMFROMTEXT",
    "GEOMFROMWKB",
    "STRING_TO_VECTOR",
    "VEC_FROMTEXT",
    "INET6_ATON",
    "INET_ATON",
];

/// What a statement's values need besides literals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// A variable of the session.
    pub(crate) variables: bool,
    /// Rows of tables, as far as it says so.
    pub(crate) rows: bool,
    /// A function that may read or change tables.
    pub(crate) functions: bool,
}

impl Needs {
    /// Whether tables besides its own may matter.
    pub(crate) fn other_tables(self) -> bool {
        self.rows || self.functions
    }
}

/// What the values need. Strings are passed over, so this is quick.
pub(crate) fn needs(values: &[u8], dialect: Dialect) -> Needs {
    let (mut needs, mut before) = (Needs::default(), None);
    for token in Tokens::new(values, dialect) {
        match token {
            Token::Variable(name) if !name.starts_with(b"@@") => needs.variables = true,
            Token::Symbol(b'(') => {
                let word: Option<Token<'_>> = before;
                needs.functions |= match word {
                    Some(Token::Name(_)) => true,
                    Some(word @ Token::Word(_)) => {
                        !HARMLESS.iter().any(|f| word.is(f)) && !is_introduced(word)
                    }
                    _ => false,
                };
            }
            token => needs.rows |= token.is("SELECT") || token.is("TABLE"),
        }
        before = Some(token);
    }
    needs
}

/// Whether the values need the session of the script: its variables, or the rows that it has stored.
pub(crate) fn needs_session(values: &[u8], dialect: Dialect) -> bool {
    let word = |w: &[u8]| w.eq_ignore_ascii_case(b"SELECT");
    let at = |i: usize| values.get(i..i + 6).is_some_and(word);
    // Most statements have nothing of the kind, and are not taken apart.
    let perhaps =
        memchr::memchr(b'@', values).is_some() || memchr::memchr2_iter(b's', b'S', values).any(at);
    if !perhaps {
        return false;
    }
    let needs = needs(values, dialect);
    needs.variables || needs.rows
}

/// The same of a whole REPLACE, or INSERT that is not a plain one. What is in parentheses before the values is a list of columns.
pub(crate) fn needs_of_values(text: &[u8], dialect: Dialect) -> Needs {
    let mut tokens = Tokens::new(text, dialect);
    let begin = ["VALUES", "VALUE", "SET"];
    let found = tokens.any(|t| begin.iter().any(|w| t.is(w)));
    match found {
        true => needs(&text[Tokens::position(&tokens)..], dialect),
        // Its rows are those of a query.
        false => Needs {
            rows: true,
            ..Needs::default()
        },
    }
}

/// Words of the grammar that parentheses follow.
fn is_introduced(word: Token<'_>) -> bool {
    [
        "VALUES", "VALUE", "ROW", "AND", "OR", "NOT", "IN", "AS", "DEFAULT",
    ]
    .iter()
    .any(|w| word.is(w))
}

/// Whether a `CREATE TABLE` takes its columns or rows from another table.
pub(crate) fn takes_from_others(text: &str, dialect: Dialect) -> bool {
    let list = pieces(text, dialect);
    let like =
        |p: &[Piece<'_>]| p[1].is("LIKE") && (p[0].symbol(b'(') || p[0].token.name().is_some());
    // In a CHECK, LIKE is behind a column too, and that is behind the parenthesis that begins the columns.
    let columns = list
        .iter()
        .position(|p| p.symbol(b'('))
        .unwrap_or(list.len());
    let until = list.len().min(columns + 2);
    let rows = |p: &Piece<'_>| p.is_any(&["SELECT", "TABLE"]);
    // The first one is that of CREATE TABLE.
    let others = list.iter().filter(|p| rows(p)).count() > 1;
    list[..until].windows(2).any(like) || others
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::NameMap;
    use std::collections::BTreeSet;

    fn changed(text: &str) -> Option<String> {
        let map = NameMap::new(&["b=c"], &["a.t=a.u"]).expect("a map");
        let none = BTreeSet::new();
        let names = Names {
            map: &map,
            home: "a",
            to: "a",
            schemas: &none,
            functions: &none,
            printed: false,
        };
        alter(text, Dialect::default(), &names).map(|(text, _)| text)
    }

    #[test]
    fn rows_go_into_the_other_table() {
        let into = |text: &str| {
            let new = rows(text.as_bytes(), Dialect::default(), "`u`", text.find("(1"))?;
            Some(String::from_utf8(new).expect("text"))
        };
        let all = [
            (
                "INSERT INTO `t` VALUES (1,'t')",
                "INSERT INTO `u` VALUES (1,'t')",
            ),
            ("insert  t(a) values (1)", "insert  `u`(a) values (1)"),
            (
                "REPLACE INTO `a`.`t` (`t`) VALUES (1)",
                "REPLACE INTO `u` (`t`) VALUES (1)",
            ),
            (
                "INSERT IGNORE INTO a . t VALUES (1)",
                "INSERT IGNORE INTO `u` VALUES (1)",
            ),
        ];
        for (text, new) in all {
            assert_eq!(into(text).as_deref(), Some(new));
        }
        assert_eq!(into("UPDATE t SET a = 1"), None);
    }

    #[test]
    fn statements_about_a_table_name_the_other() {
        let all = [
            (
                "ALTER TABLE `t` ADD CONSTRAINT `t_ibfk_1` FOREIGN KEY (`t`) REFERENCES `b`.`t` (`t`)",
                "ALTER TABLE `u` ADD CONSTRAINT `u_ibfk_1` FOREIGN KEY (`t`) REFERENCES `c`.`t` (`t`)",
            ),
            ("TRUNCATE TABLE a.t", "TRUNCATE TABLE `u`"),
            ("TRUNCATE t", "TRUNCATE `u`"),
            (
                "CREATE UNIQUE INDEX t ON t (t)",
                "CREATE UNIQUE INDEX t ON `u` (t)",
            ),
        ];
        for (text, new) in all {
            assert_eq!(changed(text).as_deref(), Some(new));
        }
        assert_eq!(changed("ALTER TABLE t RENAME TO x"), None);
    }

    #[test]
    fn tables_made_of_others_are_found() {
        let found = |text: &str| takes_from_others(text, Dialect::default());
        assert!(found("CREATE TABLE t LIKE u") && found("CREATE TABLE t (LIKE u)"));
        assert!(found("CREATE TABLE t (a INT) AS SELECT 1"));
        assert!(found("CREATE TABLE t TABLE u"));
        assert!(!found("CREATE TABLE t (a TEXT, CHECK (a LIKE 'x'))"));
        assert!(!found("CREATE TABLE `like` (`select` INT)"));
    }
}
