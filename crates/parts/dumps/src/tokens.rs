//! Splits a statement into tokens.
//!
//! Comments are skipped. Version comments (`/*!50003 … */`, `/*M! … */`) are
//! read as if their marks were not there, because it is not known here which
//! server will run them.

use crate::dialect::Dialect;
use memchr::memchr;

/// A piece of a statement, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A keyword, an unquoted name or a number.
    Word(&'a [u8]),
    /// `@x`, `@@x`, `@'x'`, `@@global.x`, with its signs.
    Variable(&'a [u8]),
    /// A string with its quotes.
    Text(&'a [u8]),
    /// A quoted name with its quotes.
    Name(&'a [u8]),
    /// Any other character.
    Symbol(u8),
}

impl Token<'_> {
    /// Whether it is this keyword; `word` is in upper case.
    pub fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(w) if w.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// The name that it is, without quotes; `None` if it cannot be a name.
    pub fn name(&self) -> Option<String> {
        match self {
            Token::Word(w) => Some(lossy(w)),
            Token::Name(quoted) => Some(lossy(&unquoted(quoted, false))),
            _ => None,
        }
    }

    /// The name of a user, which may also be quoted as a string.
    pub fn user(&self) -> Option<String> {
        match self {
            Token::Text(quoted) => Some(lossy(&unquoted(quoted, true))),
            other => other.name(),
        }
    }

    /// The host that follows a user: `@'%'`, `@localhost`.
    pub fn host(&self) -> Option<String> {
        let Token::Variable(variable) = self else {
            return None;
        };
        match variable.strip_prefix(b"@")? {
            quoted @ [b'\'' | b'"', ..] => Some(lossy(&unquoted(quoted, true))),
            quoted @ [b'`', ..] => Some(lossy(&unquoted(quoted, false))),
            [b'@', ..] => None,
            word => Some(lossy(word)),
        }
    }
}

/// Iterates over the tokens of `text`.
#[derive(Clone, Copy)]
pub struct Tokens<'a> {
    text: &'a [u8],
    /// Where the next token is searched.
    pub(crate) at: usize,
    dialect: Dialect,
}

impl<'a> Tokens<'a> {
    /// The tokens of `text`, read in this dialect.
    pub fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Tokens {
            text,
            at: 0,
            dialect,
        }
    }

    /// Offset in the text behind the token that was read last.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next token; stays where it is.
    pub fn peek(&self) -> Option<Token<'a>> {
        let mut ahead = *self;
        ahead.next()
    }

    /// Skips the next token if it is this keyword.
    pub fn accept(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|t| t.is(word));
        if found {
            self.next();
        }
        found
    }

    /// Skips the next tokens if they are these keywords.
    pub fn accept_all(&mut self, words: &[&str]) -> bool {
        let mut ahead = *self;
        let found = words.iter().all(|w| ahead.accept(w));
        if found {
            *self = ahead;
        }
        found
    }

    /// Skips the next token if it is this character.
    pub(crate) fn accept_symbol(&mut self, symbol: u8) -> bool {
        let found = self.peek() == Some(Token::Symbol(symbol));
        if found {
            self.next();
        }
        found
    }

    /// `name` or `schema.name`.
    pub(crate) fn qualified(&mut self) -> Option<(Option<String>, String)> {
        let first = self.next()?.name()?;
        if self.accept_symbol(b'.') {
            return Some((Some(first), self.next()?.name()?));
        }
        Some((None, first))
    }

    /// The rest of the text, comments included.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.text[self.at.min(self.text.len())..]
    }

    /// Skips white space, comments and the marks of version comments.
    pub(crate) fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let skip = match rest {
                [b, ..] if b.is_ascii_whitespace() || *b == 0x0b => 1,
                [b'#', ..] | [b'-', b'-'] => line(rest),
                [b'-', b'-', c, ..] if *c <= b' ' || *c == 0x7f => line(rest),
                [b'/', b'*', b'!', tail @ ..] => 3 + digits(tail),
                [b'/', b'*', b'M', b'!', tail @ ..] => 4 + digits(tail),
                [b'/', b'*', ..] => {
                    memchr::memmem::find(&rest[2..], b"*/").map_or(rest.len(), |n| n + 4)
                }
                // The end of a version comment; nothing else in SQL is written like this.
                [b'*', b'/', ..] => 2,
                _ => return,
            };
            self.at += skip;
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blank();
        let rest = self.rest();
        let first = *rest.first()?;
        let (length, token): (usize, fn(&'a [u8]) -> Token<'a>) = match first {
            b'\'' => (quoted(rest, self.dialect), Token::Text),
            b'"' if !self.dialect.ansi_quotes => (quoted(rest, self.dialect), Token::Text),
            b'"' | b'`' => (quoted(rest, self.dialect), Token::Name),
            b'@' => (variable(rest, self.dialect), Token::Variable),
            b if is_word(b) => (word(rest), Token::Word),
            b => {
                self.at += 1;
                return Some(Token::Symbol(b));
            }
        };
        self.at += length;
        Some(token(&rest[..length]))
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

fn word(text: &[u8]) -> usize {
    text.iter().position(|b| !is_word(*b)).unwrap_or(text.len())
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn line(text: &[u8]) -> usize {
    memchr(b'\n', text).unwrap_or(text.len())
}

/// `@x`, `@@x.y`, `@'x'` with the signs.
fn variable(text: &[u8], dialect: Dialect) -> usize {
    let mut at = text.iter().take_while(|b| **b == b'@').count();
    loop {
        at += match text.get(at) {
            Some(b'\'' | b'"' | b'`') => quoted(&text[at..], dialect),
            _ => word(&text[at..]),
        };
        if text.get(at) != Some(&b'.') {
            return at;
        }
        at += 1;
    }
}

/// The length of a string or quoted name, both quotes included.
pub(crate) fn quoted(text: &[u8], dialect: Dialect) -> usize {
    let quote = text[0];
    let escapes = dialect.escapes(quote);
    let mut at = 1;
    while let Some(b) = text.get(at) {
        if *b == b'\\' && escapes && !dialect.ends_in_half_character(&text[..at]) {
            at += 2;
        } else if *b == quote {
            if text.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 2;
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The content of a string or quoted name: doubled quotes halved, escapes resolved.
pub(crate) fn unquoted(text: &[u8], escapes: bool) -> Vec<u8> {
    let Some((quote, inner)) = text.split_first() else {
        return Vec::new();
    };
    let inner = inner.strip_suffix(&[*quote]).unwrap_or(inner);
    let mut out = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(b) = inner.get(at) {
        at += 1;
        if *b == b'\\' && escapes {
            let Some(letter) = inner.get(at) else { break };
            at += 1;
            match letter {
                b'0' => out.push(0),
                b'b' => out.push(8),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'Z' => out.push(26),
                b'%' | b'_' => out.extend([b'\\', *letter]),
                other => out.push(*other),
            }
        } else {
            out.push(*b);
            if b == quote {
                at += 1;
            }
        }
    }
    out
}

/// A name or setting as text; dumps write them in UTF-8.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_comments_are_read_and_others_skipped() {
        let text = b"/*!50003 CREATE*/ /* x */ /*!50017 DEFINER=`r``x`@`h`*/ -- y\n /*M!100 TRIGGER */ a.b 'it''s\\n' @@GLOBAL.x @'u v'";
        let got: Vec<Token<'_>> = Tokens::new(text, Dialect::default()).collect();
        use Token::*;
        assert_eq!(
            got,
            [
                Word(b"CREATE"),
                Word(b"DEFINER"),
                Symbol(b'='),
                Name(b"`r``x`"),
                Variable(b"@`h`"),
                Word(b"TRIGGER"),
                Word(b"a"),
                Symbol(b'.'),
                Word(b"b"),
                Text(b"'it''s\\n'"),
                Variable(b"@@GLOBAL.x"),
                Variable(b"@'u v'"),
            ]
        );
        assert_eq!(got[3].name().as_deref(), Some("r`x"));
        assert_eq!(unquoted(b"'it''s\\n\\%'", true), b"it's\n\\%");
    }

    #[test]
    fn a_backslash_that_is_a_second_byte_escapes_nothing() {
        let gbk = Dialect {
            charset: crate::Charset::named("gbk"),
            ..Dialect::default()
        };
        let text = b"'\xd5\\', x, '\xd5\xd5\\', x'";
        let count = |dialect| Tokens::new(text, dialect).count();
        assert_eq!((count(gbk), count(Dialect::default())), (5, 4));
    }

    #[test]
    fn an_unclosed_token_runs_to_the_end() {
        for text in ["'a", "'a\\", "`", "/*!1", "/*", "@'", "@@", "--"] {
            assert!(Tokens::new(text.as_bytes(), Dialect::default()).count() <= 1);
        }
    }
}
