//! Names of other objects in the text of a view, trigger, routine or event.
//!
//! There is no parser of all of SQL here, so certainty comes from looking at every place where a name is written. `s`.`x` is an
//! object of schema `s` if the text has no other use of `s`: a column's qualifier that is an alias, a table or a
//! variable would be written somewhere without a dot behind it. A table without a schema is one where only a table can be:
//! after FROM, JOIN, INSERT INTO, UPDATE, TABLE; and each other place of its name has to be a column's qualifier. One place
//! that may be something else makes all of them unsure.

use super::{Edits, Names, Piece};
use crate::script::Allowed;
use base::units::printable;
use dumps::tokens::Token;
use server::quote;
use std::collections::BTreeSet;

/// The part of a definition that names other objects.
pub(super) struct Body<'a, 't> {
    list: &'a [Piece<'t>],
    from: usize,
    kind: Allowed,
    names: &'a Names<'a>,
    /// The name that each piece may be.
    words: Vec<Option<String>>,
}

/// Functions that have FROM between their arguments.
const FROM_INSIDE: [&str; 6] = ["EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "MID", "OVERLAY"];

/// Words of statements that name tables or routines.
const NAMING: [&str; 8] = [
    "SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "CALL", "FROM", "TABLE",
];

impl<'a, 't> Body<'a, 't> {
    /// What begins at a piece.
    pub(super) fn new(
        list: &'a [Piece<'t>],
        from: usize,
        kind: Allowed,
        names: &'a Names<'a>,
    ) -> Body<'a, 't> {
        Body {
            words: list.iter().map(|p| p.token.name()).collect(),
            list,
            from,
            kind,
            names,
        }
    }

    /// Rewrites what it names; says why, if that is not certain.
    pub(super) fn rewrite(&self, edits: &mut Edits) -> Option<String> {
        if self.names.leaves_home() && self.names_without_schema() {
            return Some(format!(
                "its table goes to schema {}, and what it names without a schema is in {}",
                quote::ident(self.names.to),
                quote::ident(self.names.home)
            ));
        }
        let map = self.names.map;
        let of_tables = map.tables().map(|((schema, _), _)| schema.as_str());
        let schemas: BTreeSet<&str> = map.schemas().map(|(old, _)| old).chain(of_tables).collect();
        for schema in schemas {
            if let Err(why) = self.schema(schema, edits) {
                return Some(why);
            }
        }
        for (old, new) in map.tables() {
            if let Err(why) = self.table(old, new, edits) {
                return Some(why);
            }
        }
        None
    }

    /// Names in strings, and statements made of strings, for the user.
    pub(super) fn strings(&self) -> Vec<String> {
        let map = self.names.map;
        let schemas = map.schemas().map(|(old, _)| old);
        let tables = map.tables().map(|((_, table), _)| table.as_str());
        let old: BTreeSet<&str> = schemas.chain(tables).collect();
        let mut left: BTreeSet<String> = BTreeSet::new();
        for at in self.from..self.list.len() {
            let piece = &self.list[at];
            let next = |n: usize| self.list.get(at + n);
            let prepares = piece.is("PREPARE") && next(2).is_some_and(|p| p.is("FROM"))
                || piece.is("EXECUTE") && next(1).is_some_and(|p| p.is("IMMEDIATE"));
            if prepares {
                left.insert(
                    "it makes statements of strings when it runs, and names in them stay as they are"
                        .to_owned(),
                );
            }
            let Token::Text(text) = piece.token else {
                continue;
            };
            if self.list[at - 1].is("COMMENT") {
                continue;
            }
            let text = String::from_utf8_lossy(text);
            let named = old.iter().filter(|name| has_word(&text, name));
            left.extend(named.map(|name| {
                format!(
                    "a string in it has the name {}, which stays as it is",
                    printable(&quote::ident(name))
                )
            }));
        }
        left.into_iter().collect()
    }

    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.from..self.list.len()
    }

    fn is(&self, at: usize, name: &str) -> bool {
        self.words[at].as_deref() == Some(name)
    }

    fn dot_after(&self, at: usize) -> bool {
        self.list.get(at + 1).is_some_and(|p| p.symbol(b'.'))
    }

    fn dot_before(&self, at: usize) -> bool {
        at > 0 && self.list[at - 1].symbol(b'.')
    }

    /// Whether it is the last part of `a.b.c`: a column.
    fn is_third(&self, at: usize) -> bool {
        self.dot_before(at) && at >= 4 && self.list[at - 3].symbol(b'.')
    }

    /// Whether it is the name that a view gives to a column. Servers print the aliases of tables without AS.
    fn names_column(&self, at: usize) -> bool {
        self.kind == Allowed::View && self.list[at - 1].is("AS")
    }

    fn opens_after(&self, at: usize) -> bool {
        self.list.get(at + 1).is_some_and(|p| p.symbol(b'('))
    }

    /// Whether only a table can be here.
    fn is_table(&self, at: usize) -> bool {
        if at > 0 && self.list[at - 1].symbol(b',') {
            return self.is_in_list(at);
        }
        let mut before = at;
        while before > 0 && self.list[before - 1].symbol(b'(') {
            before -= 1;
        }
        let parentheses = before != at;
        let Some(mut word) = before.checked_sub(1) else {
            return false;
        };
        let list = self.list;
        let previous = |at: usize, words: &[&str]| at > 0 && list[at - 1].is_any(words);
        if list[word].is("FROM") {
            let other = ["FETCH", "NEXT", "DISTINCT"];
            let prepare = word > 1 && list[word - 2].is("PREPARE");
            return !previous(word, &other) && !prepare && !self.is_argument(word);
        }
        if list[word].is_any(&["JOIN", "STRAIGHT_JOIN"]) {
            return true;
        }
        if parentheses {
            return false;
        }
        while word > 0 && list[word].is_any(&["IGNORE", "LOW_PRIORITY"]) {
            word -= 1;
        }
        if list[word].is("UPDATE") {
            return !previous(word, &["KEY", "FOR", "ON", "BEFORE", "AFTER"]);
        }
        if list[word].is("INTO") {
            let mut verb = word;
            let modifiers = ["IGNORE", "LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED"];
            while previous(verb, &modifiers) {
                verb -= 1;
            }
            return previous(verb, &["INSERT", "REPLACE"]);
        }
        list[word].is_any(&["TABLE", "REFERENCES"])
    }

    /// Whether it is in `FROM a, b x, c AS y`: each is a name, perhaps with its schema, and perhaps an alias. One word
    /// more, such as ORDER BY, and it may be something else.
    fn is_in_list(&self, at: usize) -> bool {
        let (mut end, mut words) = (at - 1, 0);
        while end > self.from {
            let piece = &self.list[end - 1];
            if piece.is("FROM") {
                return (1..=2).contains(&words) && self.is_table(end);
            }
            if piece.symbol(b',') {
                if !(1..=2).contains(&words) {
                    return false;
                }
                words = 0;
            } else if piece.symbol(b'.') {
                words -= 1;
            } else if self.words[end - 1].is_some() {
                words += i32::from(!piece.is("AS"));
            } else {
                return false;
            }
            end -= 1;
        }
        false
    }

    /// Whether a FROM is between the arguments of a function.
    fn is_argument(&self, from: usize) -> bool {
        let mut depth = 0;
        for at in (self.from..from).rev() {
            let piece = &self.list[at];
            if piece.symbol(b')') {
                depth += 1;
            } else if piece.symbol(b'(') && depth > 0 {
                depth -= 1;
            } else if piece.symbol(b'(') {
                return at > 0 && self.list[at - 1].is_any(&FROM_INSIDE);
            } else if depth == 0 && piece.is_any(&["SELECT", "DELETE"]) {
                return false;
            }
        }
        false
    }

    /// Whether it may name tables or functions without their schema.
    pub(super) fn names_without_schema(&self) -> bool {
        self.all().any(|at| {
            let piece = &self.list[at];
            let function = self.opens_after(at)
                && self.words[at].as_ref().is_some_and(|w| {
                    self.names
                        .functions
                        .iter()
                        .any(|f| f.eq_ignore_ascii_case(w))
                });
            piece.is_any(&NAMING) || function
        })
    }

    /// Whether it is a schema without anything in it: `DROP DATABASE s`, `USE s`, `SHOW TABLES FROM s`, `GRANT … ON s.*`.
    fn is_bare_schema(&self, at: usize, schema: &str) -> bool {
        let same = |w: &String| w.eq_ignore_ascii_case(schema);
        if !self.words[at].as_ref().is_some_and(same) || self.dot_before(at) {
            return false;
        }
        let list = self.list;
        if self.dot_after(at) {
            let all = list.get(at + 2).is_some_and(|p| p.symbol(b'*'));
            return all && list[at - 1].is("ON");
        }
        let mut before = at;
        while before > 1 && list[before - 1].is_any(&["IF", "NOT", "EXISTS"]) {
            before -= 1;
        }
        let word = list[before - 1];
        word.is_any(&["DATABASE", "SCHEMA", "USE"])
            || word.is_any(&["FROM", "IN"]) && self.all().any(|at| list[at].is("SHOW"))
    }

    /// What is written with a schema.
    fn schema(&self, schema: &str, edits: &mut Edits) -> Result<(), String> {
        let map = self.names.map;
        let qualifies = |at: usize| self.dot_after(at) && !self.dot_before(at);
        let mut changed = Vec::new();
        for at in self.all().filter(|at| qualifies(*at)) {
            let Some(word) = &self.words[at] else {
                continue;
            };
            if word != schema {
                if word.eq_ignore_ascii_case(schema) {
                    return Err(format!(
                        "it writes {}, and the archive has schema {}",
                        quote::ident(word),
                        quote::ident(schema)
                    ));
                }
                continue;
            }
            let Some(member) = self.words.get(at + 2).cloned().flatten() else {
                continue;
            };
            let call =
                self.list[at - 1].is("CALL") || self.opens_after(at + 2) && !self.is_table(at);
            let (new_schema, new) = match call {
                true => (map.schema(schema).to_owned(), member.clone()),
                false => map.table(schema, &member),
            };
            if (new_schema.as_str(), &new) != (schema, &member) {
                changed.push((at, quote::qualified(&new_schema, &new)));
            }
        }
        if self.all().any(|at| self.is_bare_schema(at, schema)) {
            return Err(also(schema, "schema"));
        }
        if changed.is_empty() {
            return Ok(());
        }
        // In a trigger these are rows, whatever schemas there are.
        let row = self.kind == Allowed::Trigger
            && ["NEW", "OLD"]
                .iter()
                .any(|w| schema.eq_ignore_ascii_case(w));
        let other = |at: &usize| {
            let same = self.words[*at]
                .as_ref()
                .is_some_and(|w| w.eq_ignore_ascii_case(schema));
            same && !qualifies(*at) && !self.is_third(*at) && !self.names_column(*at)
        };
        if row || self.all().any(|at| other(&at)) {
            return Err(also(schema, "schema"));
        }
        for (at, new) in changed {
            edits.replace(&self.list[at], &self.list[at + 2], new);
        }
        Ok(())
    }

    /// What is written without a schema, and the qualifiers of columns.
    fn table(
        &self,
        old: &(String, String),
        new: &(String, String),
        edits: &mut Edits,
    ) -> Result<(), String> {
        let at_home = old.0 == self.names.home;
        let (mut named, mut other_table, mut unknown) = (false, false, Vec::new());
        let (mut tables, mut qualifiers) = (Vec::new(), Vec::new());
        for at in self.all() {
            let Some(word) = &self.words[at] else {
                continue;
            };
            if word != &old.1 {
                let alone = !self.dot_before(at) && !self.dot_after(at);
                let table = self.is_table(at) || self.kind != Allowed::View && alone;
                if at_home
                    && !self.dot_before(at)
                    && table
                    && word.eq_ignore_ascii_case(&old.1)
                    && !self.list[at - 1].is("CALL")
                {
                    return Err(format!(
                        "it writes {}, and the archive has table {}",
                        quote::ident(word),
                        quote::ident(&old.1)
                    ));
                }
                continue;
            }
            if self.dot_before(at) {
                let of = at - 2;
                let first = !self.dot_before(of);
                if first && self.is(of, &old.0) {
                    named = true;
                } else if first && self.is_table(of) {
                    other_table = true;
                }
            } else if self.is_table(at) && !self.dot_after(at) {
                match at_home {
                    true => tables.push(at),
                    false => other_table = true,
                }
            } else if self.dot_after(at) {
                qualifiers.push(at);
            } else if !self.names_column(at)
                && !self.list[at - 1].is("CALL")
                // INSERT t(a, b): only a view, as servers print it, has nothing of the kind.
                && (self.kind != Allowed::View || !self.opens_after(at))
            {
                unknown.push(at);
            }
        }
        if !named && tables.is_empty() {
            // TRUNCATE t, CREATE INDEX i ON t, SHOW COLUMNS IN t, a list of tables: statements name tables in more places
            // than can be told from those of columns and variables.
            let printed = self.kind == Allowed::View && self.names.printed;
            return match at_home && !printed && !unknown.is_empty() {
                true => Err(also(&old.1, "table")),
                false => Ok(()),
            };
        }
        if other_table || !unknown.is_empty() {
            return Err(also(&old.1, "table"));
        }
        if !qualifiers.is_empty() && self.names.schemas.contains(&old.1) {
            return Err(also(&old.1, "table"));
        }
        let taken = |w: &Option<String>| w.as_ref().is_some_and(|w| w.eq_ignore_ascii_case(&new.1));
        if new.1 != old.1 && self.all().any(|at| taken(&self.words[at])) {
            return Err(format!("it has the name {} already", quote::ident(&new.1)));
        }
        for at in tables {
            let text = match new.0 == self.names.to {
                true => quote::ident(&new.1),
                false => quote::qualified(&new.0, &new.1),
            };
            edits.replace(&self.list[at], &self.list[at], text);
        }
        for at in qualifiers {
            edits.replace(&self.list[at], &self.list[at], quote::ident(&new.1));
        }
        Ok(())
    }
}

/// Why a name is not certain.
fn also(name: &str, kind: &str) -> String {
    format!(
        "{} in it may be the {kind}, or something else",
        quote::ident(name)
    )
}

/// Whether a text has a name as a word.
fn has_word(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}
