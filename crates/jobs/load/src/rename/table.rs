//! A table's definition as servers print it: its own name, the tables of its foreign keys, sequences of its defaults, the
//! tables that a MERGE table shows, and names that exist once in a schema.
//!
//! Columns are printed without their table, so every `a`.`b` is an object of schema `a`.

use super::{Edits, Names, Piece, header, name_at};
use server::quote;

/// What a constraint without a name is followed by.
const AFTER_CONSTRAINT: [&str; 5] = ["FOREIGN", "CHECK", "PRIMARY", "UNIQUE", "REFERENCES"];

/// Rewrites it; returns what else changes than names that were asked for. `None`: its own name is not where it should be.
pub(super) fn table(
    list: &[Piece<'_>],
    names: &Names<'_>,
    edits: &mut Edits,
) -> Option<Vec<String>> {
    let mut notes = Vec::new();
    let (_, first) = header(list)?;
    let (mut at, schema, table) = name_at(list, first)?;
    // In a script it may be there.
    if schema.is_some_and(|s| s != names.home) {
        return None;
    }
    let (_, new_table) = names.map.table(names.home, &table);
    edits.replace(&list[first], &list[at], quote::ident(&new_table));
    at += 1;
    while at < list.len() {
        let piece = &list[at];
        if piece.is("CONSTRAINT")
            && list
                .get(at + 1)
                .is_some_and(|p| !p.is_any(&AFTER_CONSTRAINT))
            && let Some(name) = list[at + 1].token.name()
        {
            if let Some(new) = names.map.inner(names.home, &table, &name) {
                let kind = match list.get(at + 2) {
                    Some(next) if next.is("FOREIGN") => "foreign key",
                    _ => "constraint",
                };
                notes.push(format!(
                    "{kind} {} becomes {}: the original may have that name",
                    quote::ident(&name),
                    quote::ident(&new)
                ));
                edits.replace(&list[at + 1], &list[at + 1], quote::ident(&new));
            }
            at += 2;
            continue;
        }
        if piece.is("REFERENCES") {
            at = referenced(list, at + 1, names, edits);
            continue;
        }
        if piece.is("UNION") && list.get(at + 2).is_some_and(|p| p.symbol(b'(')) {
            at += 3;
            while list.get(at).is_some_and(|p| !p.symbol(b')')) {
                at = match list[at].symbol(b',') {
                    true => at + 1,
                    false => referenced(list, at, names, edits),
                };
            }
            continue;
        }
        if let Some((last, Some(schema), name)) = name_at(list, at) {
            let changed = names.map.table(&schema, &name);
            if changed != (schema, name) {
                let new = quote::qualified(&changed.0, &changed.1);
                edits.replace(piece, &list[last], new);
            }
            at = last + 1;
            continue;
        }
        at += 1;
    }
    Some(notes)
}

/// Rewrites the name of a table that another one refers to; returns what is after it.
fn referenced(list: &[Piece<'_>], at: usize, names: &Names<'_>, edits: &mut Edits) -> usize {
    let Some((last, schema, name)) = name_at(list, at) else {
        return at + 1;
    };
    let new = names.table(schema.as_deref().unwrap_or(names.home), &name);
    edits.replace(&list[at], &list[last], new);
    last + 1
}
