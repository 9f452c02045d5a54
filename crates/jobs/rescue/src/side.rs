//! Tables beside a rescued one, for rows that must not be mixed with its own: rows that lack values, deleted rows, and rows of
//! pages that the tree does not have any more.

use server::catalog::Table;
use server::quote;
use std::collections::HashSet;
use std::fmt::Write;

/// The longest name of a table, in characters.
const LONGEST: usize = 64;

/// A table in the archive: its name there, and what its files begin with.
#[derive(Clone, Debug, Default)]
pub struct Named {
    pub table: String,
    pub base: String,
}

/// The names of a table and of those beside it.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub own: Named,
    pub partial: Named,
    pub deleted: Named,
    pub old: Named,
}

/// What the names of the tables beside it end with.
pub const PARTIAL: &str = "__partial";
pub const DELETED: &str = "__deleted";
pub const OLD: &str = "__old_pages";

/// A name that no table of the schema has; `taken` are those, in lower case.
pub fn name(table: &str, suffix: &str, taken: &mut HashSet<String>) -> String {
    for n in 0u32.. {
        let end = match n {
            0 => suffix.to_owned(),
            n => format!("{suffix}{n}"),
        };
        let begin: String = table.chars().take(LONGEST - end.len()).collect();
        let name = begin + &end;
        if taken.insert(name.to_lowercase()) {
            return name;
        }
    }
    table.to_owned()
}

/// The definition of a table for rows of this one: the columns that hold data, all of which may be NULL, and no keys.
pub fn create(table: &Table, name: &str) -> String {
    let mut lines = Vec::new();
    for c in table.data_columns() {
        let mut line = format!("{} {}", quote::ident(&c.name), c.column_type);
        if let Some(set) = &c.charset {
            let _ = write!(line, " CHARACTER SET {set}");
        }
        if let Some(collation) = &c.collation {
            let _ = write!(line, " COLLATE {collation}");
        }
        lines.push(line + " NULL");
    }
    format!(
        "CREATE TABLE {} (\n  {}\n) ENGINE=InnoDB",
        quote::ident(name),
        lines.join(",\n  ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_new_and_fit() {
        let mut taken = HashSet::from(["t".to_owned(), "t__deleted".to_owned()]);
        assert_eq!(name("t", PARTIAL, &mut taken), "t__partial");
        assert_eq!(name("T", DELETED, &mut taken), "T__deleted1");
        let long = "ü".repeat(64);
        let cut = name(&long, OLD, &mut taken);
        assert_eq!(cut.chars().count(), 64);
        assert!(cut.ends_with(OLD));
    }
}
