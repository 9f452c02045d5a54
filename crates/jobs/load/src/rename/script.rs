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
    // Another table that it reads may have another name too.
    if tokens.any(|t| t.is("SELECT") || t.is("TABLE")) {
        return None;
    }
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
    list[..until].windows(2).any(like) || list.iter().any(|p| p.is("SELECT"))
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
        assert_eq!(into("INSERT INTO t SELECT * FROM t"), None);
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
        assert!(!found("CREATE TABLE t (a TEXT, CHECK (a LIKE 'x'))"));
        assert!(!found("CREATE TABLE `like` (`select` INT)"));
    }
}
