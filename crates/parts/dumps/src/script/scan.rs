//! Where a statement begins and where it ends, in text that arrives in pieces.
//!
//! Inside strings and comments only the bytes that can end them are looked
//! for, many at a time; outside a table says which bytes mean anything.
//! A doubled quote closes a string and opens the next, which for finding the
//! end of a statement is the same as staying inside.

use crate::dialect::Dialect;
use memchr::{memchr, memchr2, memmem};

/// The state of a scan between two pieces of text.
pub(super) struct Scan {
    delimiter: Vec<u8>,
    /// Bytes that mean something outside strings and comments.
    stops: [bool; 256],
    within: Within,
    /// Inside `/*! … */`, where everything is live but no delimiter counts.
    conditional: bool,
    /// Only white space was seen since the last line feed; what a DELIMITER line needs.
    line_start: bool,
    /// The last answer was for want of text to look ahead into.
    ahead: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    Plain,
    Quoted(u8),
    Line,
    Block,
}

/// What a scan came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The statement ends before `delimiter_at`; the next may begin at `behind`.
    Found { delimiter_at: usize, behind: usize },
    /// All is looked at up to `from`; more text is needed.
    More { from: usize },
}

/// What stands where a statement may begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leading {
    /// A statement.
    Live,
    /// So many bytes that are none.
    Skip(usize),
    /// So many bytes of a comment.
    Note(usize),
    /// More text is needed.
    More,
    /// A comment that never ends.
    Open,
}

/// With it MariaDB's dumps begin since 2024; the backslash keeps servers from
/// taking it for a version comment, and old clients from going on.
const SANDBOX: [&[u8]; 2] = [b"/*M!999999\\-", b"/*!999999\\-"];

impl Scan {
    pub(super) fn new() -> Self {
        let mut scan = Scan {
            delimiter: Vec::new(),
            stops: [false; 256],
            within: Within::Plain,
            conditional: false,
            line_start: true,
            ahead: false,
        };
        scan.delimit(b";");
        scan
    }

    pub(super) fn delimit(&mut self, delimiter: &[u8]) {
        self.delimiter = delimiter.to_vec();
        self.stops = [false; 256];
        for b in b"'\"`#-/*".iter().chain(delimiter.first()) {
            self.stops[usize::from(*b)] = true;
        }
    }

    /// A statement begins.
    pub(super) fn begin(&mut self) {
        self.within = Within::Plain;
        self.conditional = false;
        self.line_start = false;
    }

    /// Whether the end of the script could make a difference to what was seen last.
    pub(super) fn looks_ahead(&self) -> bool {
        self.ahead
    }

    /// What the end of the script would cut short; `None` for a mere lack of a delimiter.
    pub(super) fn unfinished(&self) -> Option<&'static str> {
        match self.within {
            Within::Quoted(b'`') => Some("a quoted name"),
            Within::Quoted(_) => Some("a string"),
            Within::Block => Some("a comment"),
            Within::Plain | Within::Line if self.conditional => Some("a comment"),
            Within::Plain | Within::Line => None,
        }
    }

    /// Looks on from `text[at]` for the end of the statement; `ended` if no text follows.
    pub(super) fn advance(
        &mut self,
        text: &[u8],
        mut at: usize,
        ended: bool,
        dialect: Dialect,
    ) -> Step {
        self.ahead = false;
        loop {
            match self.within {
                Within::Plain => match self.plain(text, at, ended) {
                    Ok(next) => at = next,
                    Err(step) => return step,
                },
                Within::Quoted(quote) => match closing(text, at, quote, dialect) {
                    Ok(next) => {
                        at = next;
                        self.within = Within::Plain;
                    }
                    Err(from) => return Step::More { from },
                },
                Within::Line => match memchr(b'\n', &text[at..]) {
                    Some(n) => {
                        at += n;
                        self.within = Within::Plain;
                    }
                    None => return Step::More { from: text.len() },
                },
                Within::Block => match memmem::find(&text[at..], b"*/") {
                    Some(n) => {
                        at += n + 2;
                        self.within = Within::Plain;
                    }
                    // The last byte may be the first of the two.
                    None => {
                        let from = at.max(text.len().saturating_sub(1));
                        return Step::More { from };
                    }
                },
            }
        }
    }

    /// Goes on outside strings and comments until one begins: where, or how the scan ends.
    #[inline(always)]
    fn plain(&mut self, text: &[u8], mut at: usize, ended: bool) -> Result<usize, Step> {
        loop {
            let Some(n) = text[at..].iter().position(|b| self.stops[usize::from(*b)]) else {
                return Err(Step::More { from: text.len() });
            };
            at += n;
            let rest = &text[at..];
            let byte = rest[0];
            if byte == self.delimiter[0] && !self.conditional {
                if rest.starts_with(&self.delimiter) {
                    return Err(Step::Found {
                        delimiter_at: at,
                        behind: at + self.delimiter.len(),
                    });
                }
                if self.delimiter.starts_with(rest) && !ended {
                    self.ahead = true;
                    return Err(Step::More { from: at });
                }
            }
            if matches!(byte, b'\'' | b'"' | b'`') {
                self.within = Within::Quoted(byte);
                return Ok(at + 1);
            }
            // What follows is up to four bytes long.
            if rest.len() < 4 && matches!(byte, b'-' | b'/' | b'*') && !ended {
                self.ahead = true;
                return Err(Step::More { from: at });
            }
            match rest {
                [b'#', ..] => {
                    self.within = Within::Line;
                    return Ok(at + 1);
                }
                [b'-', b'-'] => return Ok(at + 2),
                [b'-', b'-', c, ..] if *c <= b' ' || *c == 0x7f => {
                    self.within = Within::Line;
                    return Ok(at + 2);
                }
                [b'/', b'*', b'!', ..] if !self.conditional => {
                    self.conditional = true;
                    at += 3;
                }
                [b'/', b'*', b'M', b'!', ..] if !self.conditional => {
                    self.conditional = true;
                    at += 4;
                }
                [b'/', b'*', ..] => {
                    self.within = Within::Block;
                    return Ok(at + 2);
                }
                [b'*', b'/', ..] if self.conditional => {
                    self.conditional = false;
                    at += 2;
                }
                _ => at += 1,
            }
        }
    }

    /// What stands at the beginning of `text`, where no statement has begun yet.
    pub(super) fn leading(&mut self, text: &[u8], ended: bool) -> Leading {
        self.ahead = true;
        let blank = text
            .iter()
            .position(|b| !b.is_ascii_whitespace() && *b != 0x0b)
            .unwrap_or(text.len());
        if blank > 0 {
            self.line_start |= text[..blank].iter().any(|b| matches!(b, b'\n' | b'\r'));
            return Leading::Skip(blank);
        }
        if text.is_empty() {
            return Leading::More;
        }
        const LONGEST: usize = 12;
        if text.len() < LONGEST.max(self.delimiter.len()) && !ended {
            return Leading::More;
        }
        // Editors on Windows begin a file with it.
        if text.starts_with(b"\xef\xbb\xbf") {
            return Leading::Skip(3);
        }
        let line = || match memchr(b'\n', text) {
            Some(n) => Some(n),
            None => ended.then_some(text.len()),
        };
        if self.line_start && is_delimiter_line(text) {
            let Some(end) = line() else {
                return Leading::More;
            };
            let word = text[DELIMITER.len()..end]
                .split(u8::is_ascii_whitespace)
                .find(|w| !w.is_empty());
            // The client refuses a backslash, for it would escape it.
            if let Some(word) = word.filter(|w| !w.contains(&b'\\')) {
                self.delimit(word);
                return Leading::Skip(end);
            }
        }
        if text.starts_with(&self.delimiter) {
            self.line_start = false;
            return Leading::Skip(self.delimiter.len());
        }
        let comment = match text {
            [b'#', ..] | [b'-', b'-'] => true,
            [b'-', b'-', c, ..] => *c <= b' ' || *c == 0x7f,
            _ => false,
        };
        if comment {
            return line().map_or(Leading::More, Leading::Note);
        }
        let sandbox = SANDBOX.iter().any(|s| text.starts_with(s));
        let live = text.starts_with(b"/*!") || text.starts_with(b"/*M!");
        if text.starts_with(b"/*") && (sandbox || !live) {
            return match memmem::find(&text[2..], b"*/") {
                Some(n) => {
                    self.line_start = false;
                    Leading::Note(n + 4)
                }
                None if ended => Leading::Open,
                None => Leading::More,
            };
        }
        Leading::Live
    }
}

const DELIMITER: &[u8] = b"DELIMITER";

fn is_delimiter_line(text: &[u8]) -> bool {
    text.len() > DELIMITER.len()
        && text[..DELIMITER.len()].eq_ignore_ascii_case(DELIMITER)
        && matches!(text[DELIMITER.len()], b' ' | b'\t')
}

/// Behind the next closing quote; else from where to look on once there is more.
#[inline(always)]
fn closing(text: &[u8], mut at: usize, quote: u8, dialect: Dialect) -> Result<usize, usize> {
    if !dialect.escapes(quote) {
        return match memchr(quote, &text[at..]) {
            Some(n) => Ok(at + n + 1),
            None => Err(text.len()),
        };
    }
    loop {
        let Some(n) = memchr2(quote, b'\\', text.get(at..).unwrap_or_default()) else {
            return Err(text.len().max(at));
        };
        at += n;
        if text[at] == quote {
            return Ok(at + 1);
        }
        if dialect.is_half_character(&text[..at]) {
            at += 1;
            continue;
        }
        if at + 1 == text.len() {
            // The backslash needs what follows it.
            return Err(at);
        }
        at += 2;
    }
}
