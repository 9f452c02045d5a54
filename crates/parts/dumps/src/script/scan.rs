//! Finds where a statement begins and ends, in text that arrives in pieces.
//!
//! Inside strings and comments the scan only searches for the bytes that can
//! end them, many at a time. Outside, a table says which bytes have a meaning.
//! A doubled quote closes a string and opens the next one. For finding the end
//! of a statement that is the same as staying inside.

use crate::dialect::Dialect;
use memchr::{memchr, memchr2, memmem};

/// The state of a scan between two pieces of text.
pub(super) struct Scan {
    delimiter: Vec<u8>,
    /// Bytes that have a meaning outside strings and comments.
    stops: [bool; 256],
    state: State,
    /// Inside `/*! … */`, where everything is live SQL but a delimiter does not count.
    version_comment: bool,
    /// Only white space since the last line feed; a DELIMITER line needs that.
    line_start: bool,
    /// The last answer was [`Step::More`] because too little text was left to look ahead.
    lookahead: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Plain,
    Quoted(u8),
    Line,
    Block,
}

/// The result of a scan.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The statement ends before `delimiter_at`; the next may begin at `next`.
    Found { delimiter_at: usize, next: usize },
    /// Everything before `from` is scanned; more text is needed.
    More { from: usize },
}

/// What is at a place where a statement may begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leading {
    /// A statement.
    Statement,
    /// This number of bytes that are no statement.
    Skip(usize),
    /// A comment of this number of bytes.
    Comment(usize),
    /// More text is needed.
    More,
    /// A comment that is never closed.
    UnclosedComment,
}

/// MariaDB's dumps begin with it since 2024. The backslash makes old clients
/// stop, and keeps servers from reading it as a version comment.
const SANDBOX: [&[u8]; 2] = [b"/*M!999999\\-", b"/*!999999\\-"];

impl Scan {
    pub(super) fn new() -> Self {
        let mut scan = Scan {
            delimiter: Vec::new(),
            stops: [false; 256],
            state: State::Plain,
            version_comment: false,
            line_start: true,
            lookahead: false,
        };
        scan.set_delimiter(b";");
        scan
    }

    pub(super) fn set_delimiter(&mut self, delimiter: &[u8]) {
        self.delimiter = delimiter.to_vec();
        self.stops = [false; 256];
        for b in b"'\"`#-/*".iter().chain(delimiter.first()) {
            self.stops[usize::from(*b)] = true;
        }
    }

    /// Begins a statement.
    pub(super) fn begin(&mut self) {
        self.state = State::Plain;
        self.version_comment = false;
        self.line_start = false;
    }

    /// Whether the last text has to be scanned again if the script ends after it.
    pub(super) fn needs_lookahead(&self) -> bool {
        self.lookahead
    }

    /// What the end of the script would leave unclosed; `None` if only the delimiter is missing.
    pub(super) fn unfinished(&self) -> Option<&'static str> {
        match self.state {
            State::Quoted(b'`') => Some("a quoted name"),
            State::Quoted(_) => Some("a string"),
            State::Block => Some("a comment"),
            State::Plain | State::Line if self.version_comment => Some("a comment"),
            State::Plain | State::Line => None,
        }
    }

    /// Continues at `text[at]` to find the end of the statement; `ended` if no text follows.
    pub(super) fn advance(
        &mut self,
        text: &[u8],
        mut at: usize,
        ended: bool,
        dialect: Dialect,
    ) -> Step {
        self.lookahead = false;
        loop {
            match self.state {
                State::Plain => match self.plain(text, at, ended) {
                    Ok(next) => at = next,
                    Err(step) => return step,
                },
                State::Quoted(quote) => match closing(text, at, quote, dialect) {
                    Ok(next) => {
                        at = next;
                        self.state = State::Plain;
                    }
                    Err(from) => return Step::More { from },
                },
                State::Line => match memchr(b'\n', &text[at..]) {
                    Some(n) => {
                        at += n;
                        self.state = State::Plain;
                    }
                    None => return Step::More { from: text.len() },
                },
                State::Block => match memmem::find(&text[at..], b"*/") {
                    Some(n) => {
                        at += n + 2;
                        self.state = State::Plain;
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

    /// Scans outside strings and comments until one begins. Returns where, or the result of the scan.
    #[inline(always)]
    fn plain(&mut self, text: &[u8], mut at: usize, ended: bool) -> Result<usize, Step> {
        loop {
            let Some(n) = text[at..].iter().position(|b| self.stops[usize::from(*b)]) else {
                return Err(Step::More { from: text.len() });
            };
            at += n;
            let rest = &text[at..];
            let byte = rest[0];
            if byte == self.delimiter[0] && !self.version_comment {
                if rest.starts_with(&self.delimiter) {
                    return Err(Step::Found {
                        delimiter_at: at,
                        next: at + self.delimiter.len(),
                    });
                }
                if self.delimiter.starts_with(rest) && !ended {
                    self.lookahead = true;
                    return Err(Step::More { from: at });
                }
            }
            if matches!(byte, b'\'' | b'"' | b'`') {
                self.state = State::Quoted(byte);
                return Ok(at + 1);
            }
            // The patterns below have up to four bytes.
            if rest.len() < 4 && matches!(byte, b'-' | b'/' | b'*') && !ended {
                self.lookahead = true;
                return Err(Step::More { from: at });
            }
            match rest {
                [b'#', ..] => {
                    self.state = State::Line;
                    return Ok(at + 1);
                }
                [b'-', b'-'] => return Ok(at + 2),
                [b'-', b'-', c, ..] if *c <= b' ' || *c == 0x7f => {
                    self.state = State::Line;
                    return Ok(at + 2);
                }
                [b'/', b'*', b'!', ..] if !self.version_comment => {
                    self.version_comment = true;
                    at += 3;
                }
                [b'/', b'*', b'M', b'!', ..] if !self.version_comment => {
                    self.version_comment = true;
                    at += 4;
                }
                [b'/', b'*', ..] => {
                    self.state = State::Block;
                    return Ok(at + 2);
                }
                [b'*', b'/', ..] if self.version_comment => {
                    self.version_comment = false;
                    at += 2;
                }
                _ => at += 1,
            }
        }
    }

    /// What is at the beginning of `text`, before a statement.
    pub(super) fn leading(&mut self, text: &[u8], ended: bool) -> Leading {
        self.lookahead = true;
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
        // Editors on Windows write it at the beginning of a file.
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
            // The client rejects a backslash, because it is an escape.
            if let Some(word) = word.filter(|w| !w.contains(&b'\\')) {
                self.set_delimiter(word);
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
            return line().map_or(Leading::More, Leading::Comment);
        }
        let sandbox = SANDBOX.iter().any(|s| text.starts_with(s));
        let live = text.starts_with(b"/*!") || text.starts_with(b"/*M!");
        if text.starts_with(b"/*") && (sandbox || !live) {
            return match memmem::find(&text[2..], b"*/") {
                Some(n) => {
                    self.line_start = false;
                    Leading::Comment(n + 4)
                }
                None if ended => Leading::UnclosedComment,
                None => Leading::More,
            };
        }
        Leading::Statement
    }
}

const DELIMITER: &[u8] = b"DELIMITER";

fn is_delimiter_line(text: &[u8]) -> bool {
    text.len() > DELIMITER.len()
        && text[..DELIMITER.len()].eq_ignore_ascii_case(DELIMITER)
        && matches!(text[DELIMITER.len()], b' ' | b'\t')
}

/// The place after the next closing quote, or else where to continue once there is more text.
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
        if dialect.ends_in_half_character(&text[..at]) {
            at += 1;
            continue;
        }
        if at + 1 == text.len() {
            // The backslash and the next byte belong together.
            return Err(at);
        }
        at += 2;
    }
}
