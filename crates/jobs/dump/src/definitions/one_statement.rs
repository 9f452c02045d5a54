//! The proof that a definition, as it is written, is read back as the one statement that it is.
//!
//! A body that hides its delimiter (in a line comment, say), or opens a string that it never closes, would swallow
//! what follows it in the file. The files are read here as a load reads them.

use dumps::script::Script;
use dumps::statement::{Kind, classify};

/// Whether a file has exactly one statement that creates something, which ends where `create` ends, and whether the
/// file ends after a whole statement.
pub(super) fn is_one(file: &str, create: &str) -> bool {
    // The writer adds words before the name only.
    let name = create.find('`').unwrap_or(0);
    let end = create[name..].trim_end();
    let mut script = Script::new(file.as_bytes());
    let mut found = 0;
    loop {
        let statement = match script.next() {
            Ok(Some(statement)) => statement,
            Ok(None) => return found == 1,
            Err(_) => return false,
        };
        let text = statement.text.trim_ascii();
        match classify(text, statement.dialect).kind {
            Kind::Set(_) | Kind::Use(_) | Kind::AlterDatabase(_) => {}
            _ if starts_with(text, b"DROP ") || starts_with(text, b"/*!50003 DROP ") => {}
            _ if starts_with(text, b"/*!50001 DROP ") || starts_with(text, b"DO SETVAL(") => {}
            _ if text.ends_with(end.as_bytes()) && starts_with(text, b"CREATE") => found += 1,
            _ => return false,
        }
    }
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len())
        .is_some_and(|t| t.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::sqlfile::{Header, Program, ProgramKind, triggers_sql};

    fn file(create: &str) -> String {
        let program = Program {
            kind: ProgramKind::Procedure,
            name: "p".to_owned(),
            create: create.to_owned(),
            sql_mode: String::new(),
            character_set_client: "utf8mb4".to_owned(),
            collation_connection: String::new(),
            database_collation: String::new(),
            time_zone: String::new(),
        };
        triggers_sql(&Header::default(), "s", "t", "", &[program])
    }

    #[test]
    fn a_body_ends_where_it_should() {
        for good in [
            "CREATE PROCEDURE `p`() SELECT 1",
            "CREATE PROCEDURE `p`() SELECT 1 # it's; like this;",
            "CREATE PROCEDURE `p`() SELECT 1 -- like \"this",
            "CREATE PROCEDURE `p`() BEGIN SELECT ';;'; /* ;; */ END",
        ] {
            assert!(is_one(&file(good), good), "{good}");
        }
        for bad in [
            "CREATE PROCEDURE `p`() SELECT 'a",
            "CREATE PROCEDURE `p`() SELECT 1 /* it",
            "CREATE FUNCTION `p`() RETURNS int LANGUAGE JAVASCRIPT AS $$ // don't $$",
        ] {
            assert!(!is_one(&file(bad), bad), "{bad}");
        }
        let hidden = "-- \nCREATE VIEW `v` AS SELECT 1 -- x;\nSET a = 1;\n";
        assert!(!is_one(hidden, "CREATE VIEW `v` AS SELECT 1 -- x"));
        let two = "CREATE VIEW `v` AS SELECT 1;\nCREATE VIEW `w` AS SELECT 1;\n";
        assert!(!is_one(two, "CREATE VIEW `v` AS SELECT 1"));
    }
}
