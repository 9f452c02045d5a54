//! CREATE, DROP and ALTER: the kind of object, and its name.

use super::{Kind, Name};
use crate::tokens::{Token, Tokens};

/// Words that may be between CREATE and the kind of object.
const MODIFIERS: [&str; 15] = [
    "OR",
    "REPLACE",
    "TEMPORARY",
    "AGGREGATE",
    "UNDEFINED",
    "MERGE",
    "TEMPTABLE",
    "UNIQUE",
    "FULLTEXT",
    "SPATIAL",
    "ONLINE",
    "OFFLINE",
    "JSON",
    "RELATIONAL",
    "DUALITY",
];

/// Parses what follows CREATE.
pub(super) fn create(mut t: Tokens<'_>) -> Option<Kind> {
    loop {
        if t.accept("DEFINER") {
            definer(&mut t)?;
        } else if t.accept("ALGORITHM") {
            t.accept_symbol(b'=');
            t.next()?;
        } else if t.accept_all(&["SQL", "SECURITY"]) {
            t.next()?;
        } else if !MODIFIERS.iter().any(|w| t.accept(w)) {
            break;
        }
    }
    let Some(Token::Word(word)) = t.next() else {
        return None;
    };
    let object = String::from_utf8_lossy(word).to_ascii_uppercase();
    if object == "PACKAGE" {
        t.accept("BODY");
    }
    t.accept_all(&["IF", "NOT", "EXISTS"]);
    // These are reserved words, and no name unless quoted.
    if ["IF", "NOT", "EXISTS"].iter().any(|w| t.accept(w)) {
        return None;
    }
    if matches!(object.as_str(), "DATABASE" | "SCHEMA") {
        return t.next()?.name().map(Kind::CreateDatabase);
    }
    let name = Name::from_parts(t.qualified()?);
    match object.as_str() {
        "TABLE" => Some(Kind::CreateTable(name)),
        "VIEW" => Some(Kind::CreateView(name)),
        "PROCEDURE" | "FUNCTION" | "PACKAGE" => Some(Kind::CreateRoutine(name)),
        "EVENT" => Some(Kind::CreateEvent(name)),
        "SEQUENCE" => Some(Kind::Sequence(name)),
        "INDEX" | "TRIGGER" => {
            // BEFORE INSERT, AFTER UPDATE OF a, b, USING BTREE are all before ON.
            t.by_ref().find(|token| token.is("ON"))?;
            let table = Name::from_parts(t.qualified()?);
            Some(if object == "INDEX" {
                Kind::AlterTable(table)
            } else {
                let trigger = name;
                Kind::CreateTrigger { trigger, table }
            })
        }
        _ => None,
    }
}

/// Skips `= user@host` or `= CURRENT_USER()` after DEFINER.
fn definer(t: &mut Tokens<'_>) -> Option<()> {
    t.accept_symbol(b'=');
    t.next()?;
    if let Some(Token::Variable(host)) = t.peek() {
        t.next();
        if host == b"@" {
            t.next()?;
        }
    }
    if t.accept_symbol(b'(') {
        t.accept_symbol(b')');
    }
    Some(())
}

/// Parses what follows DROP.
pub(super) fn drop(mut t: Tokens<'_>) -> Option<Kind> {
    t.accept("TEMPORARY");
    let Some(Token::Word(word)) = t.next() else {
        return None;
    };
    let object = String::from_utf8_lossy(word).to_ascii_uppercase();
    if object == "PACKAGE" {
        t.accept("BODY");
    }
    t.accept_all(&["IF", "EXISTS"]);
    match object.as_str() {
        "TABLE" | "TABLES" => Some(Kind::DropTable(list(t))),
        "VIEW" => Some(Kind::DropView(list(t))),
        "DATABASE" | "SCHEMA" => t.next()?.name().map(Kind::DropDatabase),
        "SEQUENCE" | "TRIGGER" | "PROCEDURE" | "FUNCTION" | "PACKAGE" | "EVENT" => {
            t.qualified().map(|n| Kind::DropObject(Name::from_parts(n)))
        }
        "INDEX" => {
            t.by_ref().find(|token| token.is("ON"))?;
            t.qualified().map(|n| Kind::AlterTable(Name::from_parts(n)))
        }
        _ => None,
    }
}

/// Names, separated by commas.
fn list(mut t: Tokens<'_>) -> Vec<Name> {
    let mut list = Vec::new();
    while let Some(name) = t.qualified() {
        list.push(Name::from_parts(name));
        if !t.accept_symbol(b',') {
            break;
        }
    }
    list
}

/// Parses what follows ALTER.
pub(super) fn alter(mut t: Tokens<'_>) -> Option<Kind> {
    let _ = t.accept("ONLINE") || t.accept("IGNORE");
    if t.accept("DATABASE") || t.accept("SCHEMA") {
        const OPTIONS: [&str; 8] = [
            "DEFAULT",
            "CHARACTER",
            "CHARSET",
            "COLLATE",
            "ENCRYPTION",
            "READ",
            "COMMENT",
            "UPGRADE",
        ];
        let named = t.peek().filter(|n| !OPTIONS.iter().any(|o| n.is(o)));
        return Some(Kind::AlterDatabase(named.and_then(|n| n.name())));
    }
    if t.accept("DEFINER") {
        definer(&mut t)?;
    }
    if t.accept("EVENT") {
        return t
            .qualified()
            .map(|n| Kind::CreateEvent(Name::from_parts(n)));
    }
    if t.accept("SEQUENCE") {
        return t.qualified().map(|n| Kind::Sequence(Name::from_parts(n)));
    }
    if !t.accept("TABLE") {
        return None;
    }
    t.accept_all(&["IF", "EXISTS"]);
    let name = Name::from_parts(t.qualified()?);
    for (words, enable) in [(["DISABLE", "KEYS"], false), (["ENABLE", "KEYS"], true)] {
        if t.accept_all(&words) && t.peek().is_none() {
            return Some(Kind::AlterKeys(name, enable));
        }
    }
    Some(Kind::AlterTable(name))
}
