//! Statements of an archive, or of another tool's dump, for objects that get other names than those they were dumped with.
//!
//! A definition names its own object, and others: the tables of foreign keys and of views, what triggers, routines and events
//! read and write. Names without a schema mean that of the object, so they follow it by themselves when a schema is mapped;
//! all others are rewritten. A name is rewritten only where no other reading of the statement is possible (`references`
//! says when that is); otherwise the statement is [`Statement::unsure`], and the object is not created: one that works with
//! the original instead of the copy would be worse than none. Names in strings are never touched, only named.
//!
//! What this does not do: look at a server.

mod references;
pub(crate) mod script;
mod table;
#[cfg(test)]
mod tests;

use crate::script::{Allowed, Statement};
use dumps::Dialect;
use dumps::tokens::{Token, Tokens};
use server::{NameMap, quote};
use std::collections::BTreeSet;

/// What the names of one object's definition mean, and what they become.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    /// Which names change.
    pub(crate) map: &'a NameMap,
    /// The schema of the object where it was dumped.
    pub(crate) home: &'a str,
    /// Its schema on the target.
    pub(crate) to: &'a str,
    /// All schemas of the archive.
    pub(crate) schemas: &'a BTreeSet<String>,
    /// Functions of the archive, without their schemas.
    pub(crate) functions: &'a BTreeSet<String>,
    /// Views are as a server prints them: every table in one is behind FROM, JOIN or a comma of its own.
    pub(crate) printed: bool,
}

impl Names<'_> {
    /// A table or view for a statement of this object.
    fn table(&self, schema: &str, table: &str) -> String {
        let (schema, table) = self.map.table(schema, table);
        match schema == self.to {
            true => quote::ident(&table),
            false => quote::qualified(&schema, &table),
        }
    }

    /// Whether a name without a schema means another one's where the object goes.
    fn leaves_home(&self) -> bool {
        self.to != self.map.schema(self.home)
    }
}

/// Why an object is not created whose own name is not where it should be.
const UNREADABLE: &str = "its names cannot be found";

/// A token and where it is.
#[derive(Clone, Copy)]
struct Piece<'t> {
    token: Token<'t>,
    start: usize,
    end: usize,
}

impl Piece<'_> {
    fn is(&self, word: &str) -> bool {
        self.token.is(word)
    }

    fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.token.is(w))
    }

    fn symbol(&self, symbol: u8) -> bool {
        self.token == Token::Symbol(symbol)
    }
}

fn pieces(text: &str, dialect: Dialect) -> Vec<Piece<'_>> {
    let mut tokens = Tokens::new(text.as_bytes(), dialect);
    let mut list = Vec::new();
    while let Some(token) = tokens.next() {
        let end = tokens.position();
        let length = match token {
            Token::Word(t) | Token::Variable(t) | Token::Text(t) | Token::Name(t) => t.len(),
            Token::Symbol(_) => 1,
        };
        list.push(Piece {
            token,
            start: end - length,
            end,
        });
    }
    list
}

/// Replacements in a text.
#[derive(Default)]
struct Edits(Vec<(usize, usize, String)>);

impl Edits {
    /// Replaces what is from one piece to another.
    fn replace(&mut self, first: &Piece<'_>, last: &Piece<'_>, with: String) {
        self.0.push((first.start, last.end, with));
    }

    fn apply(mut self, text: &str) -> String {
        self.0.sort();
        self.0.dedup();
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for (start, end, with) in &self.0 {
            // One name is part of one reference only.
            if *start < at {
                continue;
            }
            out.push_str(&text[at..*start]);
            out.push_str(with);
            at = *end;
        }
        out.push_str(&text[at..]);
        out
    }
}

/// `name` or `schema.name` at a piece: where it ends, its schema, its name.
fn name_at(list: &[Piece<'_>], at: usize) -> Option<(usize, Option<String>, String)> {
    let first = list.get(at)?.token.name()?;
    match list.get(at + 1) {
        Some(dot) if dot.symbol(b'.') => {
            let second = list.get(at + 2)?.token.name()?;
            Some((at + 2, Some(first), second))
        }
        _ => Some((at, None, first)),
    }
}

/// Which names are others than those of the source, for the user.
pub(crate) fn in_words(map: &NameMap) -> Vec<String> {
    let schemas = map
        .schemas()
        .map(|(old, new)| (quote::ident(old), quote::ident(new)));
    let name = |n: &(String, String)| quote::qualified(&n.0, &n.1);
    let tables = map.tables().map(|(old, new)| (name(old), name(new)));
    schemas
        .chain(tables)
        .map(|(old, new)| format!("{old} of the source is {new} here"))
        .collect()
}

/// Rewrites a statement.
pub(crate) fn statement(s: &mut Statement, names: &Names<'_>) {
    let text = std::mem::take(&mut s.text);
    let list = pieces(&text, s.dialect);
    let mut edits = Edits::default();
    match s.kind {
        Allowed::Set | Allowed::Use | Allowed::Drop | Allowed::Empty => {}
        Allowed::Database => database(&list, names, &mut edits),
        Allowed::Table | Allowed::Elsewhere => match table::table(&list, names, &mut edits) {
            Some(notes) => s.notes = notes,
            None => s.unsure = Some(UNREADABLE.to_owned()),
        },
        Allowed::Sequence => {
            if sequence(&list, names, &mut edits).is_none() {
                s.unsure = Some(UNREADABLE.to_owned());
            }
        }
        Allowed::View | Allowed::Trigger | Allowed::Routine | Allowed::Event => {
            let found = program(s.kind, &list, names, &mut edits);
            s.notes = found.notes;
            s.unsure = found.unsure;
            s.left = found.left;
            // An event runs by itself: what it may do to others is no surprise that can wait.
            if s.kind == Allowed::Event && s.unsure.is_none() {
                s.unsure = s.left.pop();
            }
        }
    }
    s.text = edits.apply(&text);
}

/// `CREATE DATABASE x`, `ALTER DATABASE x`.
fn database(list: &[Piece<'_>], names: &Names<'_>, edits: &mut Edits) {
    let kind = list.iter().position(|p| p.is_any(&["DATABASE", "SCHEMA"]));
    let Some(mut at) = kind.map(|at| at + 1) else {
        return;
    };
    while list
        .get(at)
        .is_some_and(|p| p.is_any(&["IF", "NOT", "EXISTS"]))
    {
        at += 1;
    }
    let Some(name) = list.get(at) else { return };
    // Without a name it is the schema in use.
    if name.token.name().as_deref() == Some(names.home) {
        edits.replace(name, name, quote::ident(names.to));
    }
}

/// `CREATE SEQUENCE x`, `DO SETVAL(x, …)`.
fn sequence(list: &[Piece<'_>], names: &Names<'_>, edits: &mut Edits) -> Option<()> {
    let is_setval = |p: &Piece<'_>| p.is("SETVAL");
    let at = match list.iter().position(is_setval) {
        Some(at) => at + 2,
        None => header(list)?.1,
    };
    let (last, schema, name) = name_at(list, at)?;
    if schema.is_some_and(|s| s != names.home) {
        return None;
    }
    let (_, new) = names.map.table(names.home, &name);
    edits.replace(&list[at], &list[last], quote::ident(&new));
    Some(())
}

/// Words for kinds of objects.
const KINDS: [&str; 8] = [
    "TABLE",
    "VIEW",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "PACKAGE",
    "EVENT",
    "SEQUENCE",
];

/// Where the kind of a CREATE statement is, and where its name begins.
fn header(list: &[Piece<'_>]) -> Option<(usize, usize)> {
    let mut at = 0;
    let kind = loop {
        let piece = list.get(at)?;
        if piece.is("DEFINER") && list.get(at + 1).is_some_and(|p| p.symbol(b'=')) {
            // `= user@host`; without quotes the user may be called like a kind.
            at += 3;
            if let Some(Token::Variable(_)) = list.get(at).map(|p| p.token) {
                at += 1;
            }
            continue;
        }
        if piece.is_any(&KINDS) {
            break at;
        }
        at += 1;
    };
    at = kind + 1;
    while list
        .get(at)
        .is_some_and(|p| p.is_any(&["BODY", "IF", "NOT", "EXISTS"]))
    {
        at += 1;
    }
    Some((kind, at))
}

/// What was found in a view, trigger, routine or event.
#[derive(Default)]
struct Found {
    /// Names that exist once in a schema and change, for the user.
    notes: Vec<String>,
    /// What is in strings, for the user.
    left: Vec<String>,
    /// Why it must not be created.
    unsure: Option<String>,
}

fn program(kind: Allowed, list: &[Piece<'_>], names: &Names<'_>, edits: &mut Edits) -> Found {
    let mut found = Found::default();
    let unreadable = || Some(UNREADABLE.to_owned());
    let Some((_, first)) = header(list) else {
        found.unsure = unreadable();
        return found;
    };
    let Some((last, _, name)) = name_at(list, first) else {
        found.unsure = unreadable();
        return found;
    };
    let mut body = last + 1;
    match kind {
        Allowed::View => {
            let (_, new) = names.map.table(names.home, &name);
            edits.replace(&list[first], &list[last], quote::ident(&new));
        }
        Allowed::Trigger => {
            let on = list[body..].iter().position(|p| p.is("ON"));
            let table = on.and_then(|on| Some((body + on + 1, name_at(list, body + on + 1)?)));
            let Some((at, (end, _, table))) = table else {
                found.unsure = unreadable();
                return found;
            };
            let (_, new_table) = names.map.table(names.home, &table);
            edits.replace(&list[at], &list[end], quote::ident(&new_table));
            let inner = |name: &str| names.map.inner(names.home, &table, name);
            let new = inner(&name);
            if let Some(new) = &new {
                found.notes.push(format!(
                    "trigger {} of table {} becomes {}: the original may have that name",
                    quote::ident(&name),
                    quote::qualified(names.to, &new_table),
                    quote::ident(new)
                ));
            }
            let new = new.unwrap_or_else(|| name.clone());
            edits.replace(&list[first], &list[last], quote::ident(&new));
            body = end + 1;
            // FOR EACH ROW [FOLLOWS x]
            if list
                .get(body + 3)
                .is_some_and(|p| p.is_any(&["FOLLOWS", "PRECEDES"]))
                && let Some((end, _, other)) = name_at(list, body + 4)
            {
                let new = inner(&other).unwrap_or(other);
                edits.replace(&list[body + 4], &list[end], quote::ident(&new));
                body = end + 1;
            }
        }
        _ => {}
    }
    let body = references::Body::new(list, body, kind, names);
    found.unsure = body.rewrite(edits);
    if kind == Allowed::Trigger && !found.notes.is_empty() && body.names_without_schema() {
        found.notes.push(format!(
            "trigger {} reads or writes other tables: those that are not renamed are the originals",
            quote::ident(&name)
        ));
    }
    found.left = body.strings();
    found
}
