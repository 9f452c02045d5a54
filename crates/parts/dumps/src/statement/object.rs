//! CREATE, DROP and ALTER: of what, and of which name.

use super::{Kind, Name};
use crate::tokens::{Token, Tokens};

/// Words that may stand between CREATE and the sort of object.
const BETWEEN: [&str; 15] = [
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

/// Behind CREATE.
pub(super) fn create(mut t: Tokens<'_>) -> Option<Kind> {
    loop {
        if t.accept("DEFINER") {
            definer(&mut t)?;
        } else if t.accept("ALGORITHM") {
            t.accept_symbol(b'=');
            t.next()?;
        } else if t.accept_all(&["SQL", "SECURITY"]) {
            t.next()?;
        } else if !BETWEEN.iter().any(|w| t.accept(w)) {
            break;
        }
    }
    let Some(Token::Word(sort)) = t.next() else {
        return None;
    };
    let sort = String::from_utf8_lossy(sort).to_ascii_uppercase();
    if sort == "PACKAGE" {
        t.accept("BODY");
    }
    t.accept_all(&["IF", "NOT", "EXISTS"]);
    // Reserved words: none of them is a name unless it has quotes.
    if ["IF", "NOT", "EXISTS"].iter().any(|w| t.accept(w)) {
        return None;
    }
    if matches!(sort.as_str(), "DATABASE" | "SCHEMA") {
        return t.next()?.name().map(Kind::CreateDatabase);
    }
    let name = Name::of(t.qualified()?);
    match sort.as_str() {
        "TABLE" => Some(Kind::CreateTable(name)),
        "VIEW" => Some(Kind::CreateView(name)),
        "PROCEDURE" | "FUNCTION" | "PACKAGE" => Some(Kind::CreateRoutine(name)),
        "EVENT" => Some(Kind::CreateEvent(name)),
        "SEQUENCE" => Some(Kind::Sequence(name)),
        "INDEX" | "TRIGGER" => {
            // BEFORE INSERT, AFTER UPDATE OF a, b, USING BTREE: all before ON.
            t.by_ref().find(|token| token.is("ON"))?;
            let table = Name::of(t.qualified()?);
            Some(if sort == "INDEX" {
                Kind::AlterTable(table)
            } else {
                let trigger = name;
                Kind::CreateTrigger { trigger, table }
            })
        }
        _ => None,
    }
}

/// `= user@host`, `= CURRENT_USER()`, behind DEFINER.
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

/// Behind DROP.
pub(super) fn drop(mut t: Tokens<'_>) -> Option<Kind> {
    t.accept("TEMPORARY");
    let Some(Token::Word(sort)) = t.next() else {
        return None;
    };
    let sort = String::from_utf8_lossy(sort).to_ascii_uppercase();
    if sort == "PACKAGE" {
        t.accept("BODY");
    }
    t.accept_all(&["IF", "EXISTS"]);
    match sort.as_str() {
        "TABLE" | "TABLES" => Some(Kind::DropTable(list(t))),
        "VIEW" => Some(Kind::DropView(list(t))),
        "DATABASE" | "SCHEMA" => t.next()?.name().map(Kind::DropDatabase),
        "SEQUENCE" => t.qualified().map(|n| Kind::Sequence(Name::of(n))),
        "TRIGGER" | "PROCEDURE" | "FUNCTION" | "PACKAGE" | "EVENT" => {
            t.qualified().map(|n| Kind::DropObject(Name::of(n)))
        }
        "INDEX" => {
            t.by_ref().find(|token| token.is("ON"))?;
            t.qualified().map(|n| Kind::AlterTable(Name::of(n)))
        }
        _ => None,
    }
}

/// Names with commas between them.
fn list(mut t: Tokens<'_>) -> Vec<Name> {
    let mut list = Vec::new();
    while let Some(name) = t.qualified() {
        list.push(Name::of(name));
        if !t.accept_symbol(b',') {
            break;
        }
    }
    list
}

/// Behind ALTER.
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
        return t.qualified().map(|n| Kind::CreateEvent(Name::of(n)));
    }
    if t.accept("SEQUENCE") {
        return t.qualified().map(|n| Kind::Sequence(Name::of(n)));
    }
    if !t.accept("TABLE") {
        return None;
    }
    t.accept_all(&["IF", "EXISTS"]);
    let name = Name::of(t.qualified()?);
    for (words, enable) in [(["DISABLE", "KEYS"], false), (["ENABLE", "KEYS"], true)] {
        if t.accept_all(&words) && t.peek().is_none() {
            return Some(Kind::AlterKeys(name, enable));
        }
    }
    Some(Kind::AlterTable(name))
}
