//! The clause `DEFINER = …` of a definition: found, left out, or given another account (`--definer`).

use crate::options::Definers;
use crate::script::Statement;
use dumps::Dialect;
use dumps::tokens::{Token, Tokens};
use rows::accounts::Name;
use std::ops::Range;

/// Where the clause is in a statement that creates something after the rows, and whom it names.
pub(super) fn find(statement: &Statement) -> Option<(Range<usize>, Name)> {
    statement.object()?;
    let mut tokens = Tokens::new(statement.text.as_bytes(), Dialect::default());
    if !tokens.next()?.is("CREATE") {
        return None;
    }
    let objects = [
        "VIEW",
        "TRIGGER",
        "PROCEDURE",
        "FUNCTION",
        "EVENT",
        "PACKAGE",
    ];
    loop {
        let token = tokens.next()?;
        if objects.iter().any(|o| token.is(o)) {
            return None;
        }
        let end = tokens.position();
        if token.is("DEFINER") && tokens.next()? == Token::Symbol(b'=') {
            let name = Name::read(&mut tokens)?;
            return Some((end - "DEFINER".len()..tokens.position(), name));
        }
    }
}

/// Changes the clause as asked for; the statement keeps who it was.
pub(super) fn change(statement: &mut Statement, definers: &Definers) {
    if *definers == Definers::Keep {
        return;
    }
    let Some((range, name)) = find(statement) else {
        return;
    };
    let clause = match definers {
        Definers::Keep => return,
        Definers::Strip => String::new(),
        Definers::Map(map) => match map.get(&name.key()) {
            Some(new) => format!("DEFINER={}", new.sql()),
            None => return,
        },
    };
    statement.text.replace_range(range, &clause);
    statement.definer = Some(name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script;
    use std::collections::BTreeMap;

    fn changed(text: &str, definers: &Definers) -> (String, Option<Name>) {
        let mut all = script::statements("x", text).expect("a script");
        let last = all.last_mut().expect("a statement");
        change(last, definers);
        (last.text.clone(), last.definer.clone())
    }

    #[test]
    fn clauses_are_left_out_or_replaced() {
        let view = "CREATE ALGORITHM=UNDEFINED DEFINER=`a``b`@`%` SQL SECURITY DEFINER VIEW `v` AS SELECT 'DEFINER=`a`@`%`'";
        let (text, was) = changed(view, &Definers::Strip);
        assert_eq!(
            text,
            "CREATE ALGORITHM=UNDEFINED  SQL SECURITY DEFINER VIEW `v` AS SELECT 'DEFINER=`a`@`%`'"
        );
        assert_eq!(was, Some(Name::account("a`b", "%")));
        let new = Name::account("app", "10.%");
        let map = Definers::Map(BTreeMap::from([(
            ("old".to_owned(), "db.host".to_owned()),
            new,
        )]));
        let procedure = "CREATE DEFINER = 'old'@'DB.host' PROCEDURE `p`() SELECT 1";
        assert_eq!(
            changed(procedure, &map).0,
            "CREATE DEFINER=`app`@`10.%` PROCEDURE `p`() SELECT 1"
        );
        for same in [
            "CREATE DEFINER=`other`@`%` PROCEDURE `p`() SELECT 1",
            "CREATE PROCEDURE `DEFINER`(`=` int) SELECT 1",
            "CREATE TABLE t (`DEFINER` int)",
        ] {
            assert_eq!(changed(same, &map), (same.to_owned(), None));
        }
    }
}
