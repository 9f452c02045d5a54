//! Tables of the MERGE engine: they have no rows of their own, but show those of other tables.

use dumps::Dialect;
use dumps::tokens::{Token, Tokens};
use server::Catalog;
use server::catalog::Table;
use server::quote::qualified;

/// Whether it is one.
pub(crate) fn is_merge(table: &Table) -> bool {
    table.engine.eq_ignore_ascii_case("MRG_MYISAM") || table.engine.eq_ignore_ascii_case("MERGE")
}

/// The tables that it shows and that are not dumped.
pub(super) fn not_dumped(catalog: &Catalog, schema: &str, create: &str) -> Vec<String> {
    let shown = union(schema, create).into_iter();
    let missing = shown.filter(|(schema, table)| catalog.table(schema, table).is_none());
    missing
        .map(|(schema, table)| qualified(&schema, &table))
        .collect()
}

/// What stands in `UNION=(…)`.
fn union(schema: &str, create: &str) -> Vec<(String, String)> {
    let mut tokens = Tokens::new(create.as_bytes(), Dialect::default());
    let mut found = Vec::new();
    if !tokens.any(|t| t.is("UNION")) {
        return found;
    }
    let mut parts: Vec<String> = Vec::new();
    for token in tokens {
        match token {
            Token::Name(_) => parts.extend(token.name()),
            Token::Symbol(b',' | b')') => {
                let table = parts.pop();
                let schema = parts.pop().unwrap_or_else(|| schema.to_owned());
                found.extend(table.map(|table| (schema, table)));
                if token == Token::Symbol(b')') {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_a_union() {
        let create = "CREATE TABLE `all` (\n  `UNION` int\n) ENGINE=MRG_MyISAM INSERT_METHOD=LAST UNION=(`a,b`,`o`.`c)`) COMMENT='`x`'";
        let pair = |s: &str, t: &str| (s.to_owned(), t.to_owned());
        assert_eq!(union("s", create), [pair("s", "a,b"), pair("o", "c)")]);
        assert!(union("s", "CREATE TABLE `a` (`b` int) ENGINE=MRG_MyISAM").is_empty());
    }
}
