//! The format of a file with rows as lines, in the terms of LOAD DATA.

use crate::dialect::{Charset, Dialect};
use crate::tokens::{Token, Tokens, unquoted};

/// The FIELDS and LINES clauses of a LOAD DATA, and what follows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delimited {
    /// FIELDS TERMINATED BY.
    pub fields: Vec<u8>,
    /// ENCLOSED BY; empty for none.
    pub enclosed: Vec<u8>,
    /// OPTIONALLY: only strings are enclosed.
    pub optionally: bool,
    /// ESCAPED BY; empty for none.
    pub escaped: Vec<u8>,
    /// LINES STARTING BY.
    pub starting: Vec<u8>,
    /// LINES TERMINATED BY.
    pub lines: Vec<u8>,
    /// Lines to skip at the beginning.
    pub ignore: u64,
    /// The columns of a line in order, `@x` for variables; `None` for all columns of the table.
    pub columns: Option<Vec<String>>,
    /// The text after SET.
    pub set: Option<String>,
    /// CHARACTER SET.
    pub charset: Option<Charset>,
}

impl Delimited {
    /// The default of LOAD DATA and SELECT INTO OUTFILE: tabs, line feeds,
    /// backslashes, `\N` for NULL. `--tab` and `--dir` write this unless their
    /// options change it, which the files do not show.
    pub fn tsv() -> Self {
        Delimited {
            fields: b"\t".to_vec(),
            enclosed: Vec::new(),
            optionally: false,
            escaped: b"\\".to_vec(),
            starting: Vec::new(),
            lines: b"\n".to_vec(),
            ignore: 0,
            columns: None,
            set: None,
            charset: None,
        }
    }

    /// Commas, and double quotes, which are doubled inside a value, as in RFC
    /// 4180; the lines end in LF. Only the user knows whether the first line has names.
    pub fn csv() -> Self {
        Delimited {
            fields: b",".to_vec(),
            enclosed: b"\"".to_vec(),
            optionally: true,
            escaped: Vec::new(),
            ..Self::tsv()
        }
    }

    /// The format that a LOAD DATA statement gives; `None` for any other
    /// statement, and for an unknown form of it.
    pub fn from_statement(text: &[u8], dialect: Dialect) -> Option<Self> {
        let mut t = Tokens::new(text, dialect);
        if !t.accept_all(&["LOAD", "DATA"]) {
            return None;
        }
        t.by_ref().find(|token| token.is("INFILE"))?;
        t.by_ref().find(|token| token.is("TABLE"))?;
        t.qualified()?;
        let mut out = Self::tsv();
        if t.accept_all(&["CHARACTER", "SET"]) {
            out.charset = Some(Charset::named(&literal_or_name(t.next()?, dialect)?)?);
        }
        if t.accept("FIELDS") || t.accept("COLUMNS") {
            loop {
                if t.accept_all(&["TERMINATED", "BY"]) {
                    out.fields = literal(t.next()?, dialect)?;
                } else if t.accept_all(&["OPTIONALLY", "ENCLOSED", "BY"]) {
                    out.optionally = true;
                    out.enclosed = literal(t.next()?, dialect)?;
                } else if t.accept_all(&["ENCLOSED", "BY"]) {
                    out.enclosed = literal(t.next()?, dialect)?;
                } else if t.accept_all(&["ESCAPED", "BY"]) {
                    out.escaped = literal(t.next()?, dialect)?;
                } else {
                    break;
                }
            }
        }
        if t.accept("LINES") {
            loop {
                if t.accept_all(&["STARTING", "BY"]) {
                    out.starting = literal(t.next()?, dialect)?;
                } else if t.accept_all(&["TERMINATED", "BY"]) {
                    out.lines = literal(t.next()?, dialect)?;
                } else {
                    break;
                }
            }
        }
        if t.accept("IGNORE") {
            let Token::Word(n) = t.next()? else {
                return None;
            };
            out.ignore = std::str::from_utf8(n).ok()?.parse().ok()?;
            let _ = t.accept("LINES") || t.accept("ROWS");
        }
        if t.accept_symbol(b'(') {
            let mut columns = Vec::new();
            loop {
                columns.push(match t.next()? {
                    Token::Variable(v) => String::from_utf8(v.to_vec()).ok()?,
                    other => other.name()?,
                });
                match t.next()? {
                    Token::Symbol(b',') => {}
                    Token::Symbol(b')') => break,
                    _ => return None,
                }
            }
            out.columns = Some(columns);
        }
        if t.accept("SET") {
            let text = String::from_utf8(t.rest().trim_ascii().to_vec()).ok()?;
            out.set = Some(text);
        } else if t.next().is_some() {
            return None;
        }
        Some(out)
    }
}

fn literal(token: Token<'_>, dialect: Dialect) -> Option<Vec<u8>> {
    match token {
        Token::Text(s) => Some(unquoted(s, dialect.escapes(s[0]))),
        _ => None,
    }
}

fn literal_or_name(token: Token<'_>, dialect: Dialect) -> Option<String> {
    match token {
        Token::Text(_) => String::from_utf8(literal(token, dialect)?).ok(),
        other => other.name(),
    }
}
