//! Cuts an SQL script into statements, as the mysql client would, without ever
//! being the mysql client.
//!
//! Understood: delimiters (`;` and client `DELIMITER` lines), strings, quoted
//! names, comments. Kept: every byte of a statement, comments within and before
//! it included, for `/*! … */` holds live SQL. Never acted upon: `\!`,
//! `source`, `\.` and all other client commands; they are text like any other
//! and the server refuses them.
//!
//! Invariant: a delimiter inside a string, a quoted name or a comment never ends
//! a statement. Scripts are bytes in an encoding where bytes below 0x80 mean
//! ASCII (utf8mb4, latin1; not sjis or gbk).

/// How the script's text is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The script was written for a session with NO_BACKSLASH_ESCAPES.
    pub no_backslash_escapes: bool,
}

/// The statements of `script`; an unclosed string or comment runs to the end.
pub fn statements(script: &[u8], dialect: Dialect) -> Statements<'_> {
    Statements {
        script,
        at: 0,
        delimiter: b";",
        dialect,
        first: dialect,
    }
}

/// Iterates over the statements, each without its delimiter and without white
/// space around it. Parts that hold nothing but white space and plain comments
/// are left out.
#[derive(Clone, Debug)]
pub struct Statements<'a> {
    script: &'a [u8],
    at: usize,
    delimiter: &'a [u8],
    dialect: Dialect,
    /// As the script began; what `SET sql_mode = @saved` goes back to.
    first: Dialect,
}

impl Statements<'_> {
    /// Changes how the rest is read.
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.dialect = dialect;
    }

    /// Follows a `SET … sql_mode = …`, as dumps write it around triggers and
    /// routines: the mode decides where strings in the next statement end, and
    /// the client learns it from the server. A mode taken from a variable is the
    /// one of the script's beginning, put back.
    fn follow(&mut self, statement: &[u8]) {
        if let Some(value) = mode_set(statement) {
            self.dialect.no_backslash_escapes = if value.starts_with(b"@") {
                self.first.no_backslash_escapes
            } else {
                value.windows(MODE.len()).any(|w| w == MODE)
            };
        }
    }
}

const MODE: &[u8] = b"NO_BACKSLASH_ESCAPES";

/// What a SET statement assigns to `sql_mode`, in upper case.
fn mode_set(statement: &[u8]) -> Option<Vec<u8>> {
    let mut rest = statement;
    loop {
        rest = rest.trim_ascii_start();
        let skip = match rest {
            [b'#', ..] | [b'-', b'-', ..] => line(rest),
            [b'/', b'*', b'!', ..] => {
                3 + rest[3..].iter().take_while(|b| b.is_ascii_digit()).count()
            }
            [b'/', b'*', ..] => comment(rest),
            _ => break,
        };
        rest = &rest[skip..];
    }
    if rest.len() < 4 || !rest[..3].eq_ignore_ascii_case(b"SET") || !rest[3].is_ascii_whitespace() {
        return None;
    }
    let upper = rest[3..].to_ascii_uppercase();
    let equals = upper.iter().position(|b| *b == b'=')?;
    let target = upper[..equals].trim_ascii();
    // `SET @saved_sql_mode = @@sql_mode` keeps the mode, it does not change it.
    let ours = target.starts_with(b"@") && !target.starts_with(b"@@");
    (target.ends_with(b"SQL_MODE") && !ours).then(|| upper[equals + 1..].trim_ascii().to_vec())
}

impl<'a> Iterator for Statements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let start = self.at;
            let mut live = false;
            let mut end = self.script.len();
            let mut cursor = start;
            let mut ended = false;
            while cursor < self.script.len() {
                let rest = &self.script[cursor..];
                if !live
                    && line_start(self.script, cursor)
                    && let Some((delimiter, length)) = delimiter_line(rest)
                {
                    self.delimiter = delimiter;
                    cursor += length;
                    end = cursor;
                    ended = true;
                    break;
                }
                if rest.starts_with(self.delimiter) {
                    end = cursor;
                    cursor += self.delimiter.len();
                    ended = true;
                    break;
                }
                let (length, counts) = token(rest, self.dialect);
                live |= counts;
                cursor += length;
            }
            self.at = cursor;
            if live {
                let statement = self.script[start..end].trim_ascii();
                self.follow(statement);
                return Some(statement);
            }
            if !ended {
                return None;
            }
        }
    }
}

/// Whether only white space stands before `at` on its line.
fn line_start(script: &[u8], at: usize) -> bool {
    script[..at]
        .iter()
        .rev()
        .find(|b| !matches!(b, b' ' | b'\t'))
        .is_none_or(|b| matches!(b, b'\n' | b'\r'))
}

/// A `DELIMITER xyz` line: the new delimiter, and the bytes up to the end of the line.
fn delimiter_line(rest: &[u8]) -> Option<(&[u8], usize)> {
    const WORD: usize = "DELIMITER".len();
    if rest.len() <= WORD
        || !rest[..WORD].eq_ignore_ascii_case(b"DELIMITER")
        || !matches!(rest[WORD], b' ' | b'\t')
    {
        return None;
    }
    let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    let delimiter = rest[WORD..end]
        .split(u8::is_ascii_whitespace)
        .find(|w| !w.is_empty())?;
    // The client refuses a backslash, for it would escape it.
    (!delimiter.contains(&b'\\')).then_some((delimiter, end))
}

/// The length of what stands at the beginning of `rest`, and whether it makes a statement.
fn token(rest: &[u8], dialect: Dialect) -> (usize, bool) {
    match rest[0] {
        b if b.is_ascii_whitespace() => (1, false),
        quote @ (b'\'' | b'"' | b'`') => (quoted(rest, quote, dialect), true),
        b'#' => (line(rest), false),
        b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(|b| *b <= b' ' || *b == 0x7f) => {
            (line(rest), false)
        }
        b'/' if rest.starts_with(b"/*!") || rest.starts_with(b"/*M!") => {
            (conditional(rest, dialect), true)
        }
        b'/' if rest.starts_with(b"/*") => (comment(rest), false),
        _ => (1, true),
    }
}

/// Up to the end of the line, the line feed left out.
fn line(rest: &[u8]) -> usize {
    rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
}

/// A plain comment with its end.
fn comment(rest: &[u8]) -> usize {
    rest[2..]
        .windows(2)
        .position(|w| w == b"*/")
        .map_or(rest.len(), |p| p + 4)
}

/// A conditional comment with its end: what is in it are tokens, so `*/` in a string does not end it.
fn conditional(rest: &[u8], dialect: Dialect) -> usize {
    let mut at = 3;
    while at < rest.len() {
        if rest[at..].starts_with(b"*/") {
            return at + 2;
        }
        // A nested one is not legal; read as a plain comment it ends where the server thinks it ends.
        at += if rest[at..].starts_with(b"/*") {
            comment(&rest[at..])
        } else {
            token(&rest[at..], dialect).0
        };
    }
    rest.len()
}

/// A string or quoted name with its closing quote; a doubled quote stays inside.
fn quoted(rest: &[u8], quote: u8, dialect: Dialect) -> usize {
    let escapes = quote != b'`' && !dialect.no_backslash_escapes;
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' if escapes => at += 2,
            b if b == quote && rest.get(at + 1) == Some(&quote) => at += 2,
            b if b == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(script: &str) -> Vec<String> {
        statements(script.as_bytes(), Dialect::default())
            .map(|s| String::from_utf8(s.to_vec()).expect("whole characters"))
            .collect()
    }

    #[test]
    fn delimiters_inside_quotes_and_comments_do_not_count() {
        assert_eq!(
            split(
                "select ';', \"a\\\";b\", `x;``y`; -- c; d\n# e;f\n/* g;h */ select 2 /* i;j */;\n;;"
            ),
            [
                "select ';', \"a\\\";b\", `x;``y`",
                "-- c; d\n# e;f\n/* g;h */ select 2 /* i;j */"
            ]
        );
        assert_eq!(
            split("select 1--2; select 3 --\n;x"),
            ["select 1--2", "select 3 --", "x"]
        );
    }

    #[test]
    fn conditional_comments_are_statements() {
        assert_eq!(
            split("/*!50003 SET a='*/;' */;/*M!100000 x;y */; /* plain */;"),
            ["/*!50003 SET a='*/;' */", "/*M!100000 x;y */"]
        );
    }

    #[test]
    fn delimiter_lines_are_obeyed_and_left_out() {
        let script = "-- begin\nDELIMITER ;;\nCREATE TRIGGER t BEGIN a; b; END;;\n  delimiter ;\nselect 1;\nselect delimiter \n x;";
        assert_eq!(
            split(script),
            [
                "CREATE TRIGGER t BEGIN a; b; END",
                "select 1",
                "select delimiter \n x"
            ]
        );
        // Not at the start of a line, or in the midst of a statement: text.
        assert_eq!(
            split("select 'x\nDELIMITER //\n'; a"),
            ["select 'x\nDELIMITER //\n'", "a"]
        );
        assert_eq!(
            split("select 1\nDELIMITER //\n; b"),
            ["select 1\nDELIMITER //", "b"]
        );
    }

    #[test]
    fn client_commands_are_mere_text() {
        assert_eq!(
            split("\\! rm -rf /\n;source x;"),
            ["\\! rm -rf /", "source x"]
        );
    }

    #[test]
    fn backslashes_count_by_dialect() {
        let plain = Dialect {
            no_backslash_escapes: true,
        };
        let got: Vec<_> = statements(br"select '\'; select 2", plain).collect();
        assert_eq!(got, [&br"select '\'"[..], b"select 2"]);
        assert_eq!(split(r"select '\'; select 2"), [r"select '\'; select 2"]);
    }

    #[test]
    fn a_change_of_mode_is_followed() {
        let script = r"SET @saved_sql_mode = @@sql_mode;
            /*!50003 SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES' */;
            return '\';
            SET SESSION sql_mode = @saved_sql_mode;
            select '\';';";
        assert_eq!(
            split(script)[2..],
            [
                r"return '\'",
                "SET SESSION sql_mode = @saved_sql_mode",
                r"select '\';'"
            ]
        );
    }

    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z0-9 =(),.*\n]{1,8}",
            "[^'\\\\]{0,8}".prop_map(|s| format!("'{s}'")),
            "[^\"\\\\]{0,8}".prop_map(|s| format!("\"{s}\\\"\"")),
            "[^`]{0,8}".prop_map(|s| format!("`{s}``;`")),
            "[a-z;'\"` ]{0,8}".prop_map(|s| format!("/* {s} */")),
            "[a-z;'\"` ]{0,8}".prop_map(|s| format!("-- {s}\n")),
            "[a-z;'\"` ]{0,8}".prop_map(|s| format!("# {s}\n")),
            "[a-z; ]{0,8}".prop_map(|s| format!("/*!50001 {s} '*/' */")),
        ]
    }

    proptest! {
        #[test]
        fn joined_statements_come_apart_again(
            list in prop::collection::vec(prop::collection::vec(piece(), 0..6), 0..6),
            change in any::<bool>(),
        ) {
            let list: Vec<String> = list
                .iter()
                .map(|p| format!("x {} y", p.join(" ")))
                .collect();
            let script = if change {
                format!("DELIMITER $$\n{}", list.iter().map(|s| format!("{s}$$\n")).collect::<String>())
            } else {
                list.iter().map(|s| format!("{s};")).collect()
            };
            prop_assume!(!change || !list.iter().any(|s| s.contains("$$")));
            prop_assert_eq!(split(&script), list);
        }

        #[test]
        fn any_bytes_are_cut_without_loss_of_order(script in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut from = 0;
            for s in statements(&script, Dialect::default()) {
                prop_assert!(!s.is_empty());
                let at = s.as_ptr() as usize - script.as_ptr() as usize;
                prop_assert!(at >= from);
                from = at + s.len();
            }
            prop_assert!(from <= script.len());
        }
    }
}
