//! Splits an SQL script into statements as a stream, like the mysql client
//! does, but without executing any client command.
//!
//! - Understood: delimiters (`;` and client `DELIMITER` lines), strings, quoted
//!   names, comments.
//! - Removed: comments and white space before a statement, empty statements, and
//!   the line that switches MariaDB's client to sandbox mode
//!   (`/*M!999999\- enable the sandbox mode */`), which no server understands.
//! - Kept: every byte of a statement, `/*! … */` included, for it contains live
//!   SQL.
//! - Never executed: `\!`, `source` and other client commands. They are text
//!   like any other, and the server refuses them.
//!
//! Invariants: a delimiter inside a string, a quoted name or a comment never
//! ends a statement. A script that ends inside a statement is an error, never a
//! shorter statement. Memory is bounded by the largest statement and one read
//! buffer.
//!
//! A script sets how its own strings are read (`SET sql_mode`, `SET NAMES`).
//! The splitter follows this, and each statement carries the [`Dialect`] that
//! was in force before it.

mod info;
mod mode;
mod scan;

pub use info::{ScriptInfo, Tool};

use crate::dialect::Dialect;
use crate::error::{Error, Result};
use mode::Mode;
use scan::{Scan, Step};
use std::io::{ErrorKind, Read};

/// Bytes read in one call.
const READ: usize = 512 * 1024;

/// The default size limit of a statement: the most that a server accepts.
pub const LIMIT: usize = 1 << 30;

/// One statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// Its bytes, without the delimiter and without white space around it.
    pub text: Vec<u8>,
    /// Its first byte in the uncompressed script, from 0.
    pub offset: u64,
    /// The line where it begins, from 1.
    pub line: u64,
    /// How to read it: the dialect in force before it.
    pub dialect: Dialect,
}

/// Reads a script.
pub struct Script<R> {
    reader: R,
    ended: bool,
    /// `buf[start..end]` has been read and not returned yet. All of `buf` is
    /// initialised, so that reading into it needs no unsafe code.
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buf[0]` in the script.
    base: u64,
    /// The line of `buf[counted]`.
    line: u64,
    counted: usize,
    scan: Scan,
    mode: Mode,
    info: ScriptInfo,
    limit: usize,
    unterminated: bool,
    spare: Vec<Vec<u8>>,
}

impl<R: Read> Script<R> {
    /// A script from this reader.
    pub fn new(reader: R) -> Self {
        Script {
            reader,
            ended: false,
            buf: Vec::new(),
            start: 0,
            end: 0,
            base: 0,
            line: 1,
            counted: 0,
            scan: Scan::new(),
            mode: Mode::default(),
            info: ScriptInfo::default(),
            limit: LIMIT,
            unterminated: false,
            spare: Vec::new(),
        }
    }

    /// Sets the size limit of a statement, in bytes.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Accepts a last statement without a delimiter. Only for scripts that are
    /// known to be complete: a truncated dump looks the same.
    pub fn allow_unterminated(mut self, unterminated: bool) -> Self {
        self.unterminated = unterminated;
        self
    }

    /// Sets what ends a statement, until a DELIMITER line changes it. mydumper
    /// ends a statement with `;` and a line end, and puts something between the
    /// two where both occur inside a body.
    pub fn with_delimiter(mut self, delimiter: &[u8]) -> Self {
        self.scan.set_delimiter(delimiter);
        self
    }

    /// Sets the dialect at the beginning, for scripts that do not set it
    /// themselves: some tools rely on the settings of the loading session.
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.mode = Mode::starting_in(dialect);
        self
    }

    /// The dialect in which the next statement will be read.
    pub fn dialect(&self) -> Dialect {
        self.mode.current()
    }

    /// Changes the dialect of the rest, until the script changes it again.
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.mode.set(dialect);
    }

    /// What the script's comments have said so far; complete after [`next`](Self::next) returned `None`.
    pub fn info(&self) -> &ScriptInfo {
        &self.info
    }

    /// Bytes of the uncompressed script that have been returned or skipped.
    pub fn position(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Takes back the buffer of a statement for reuse.
    pub fn recycle(&mut self, mut text: Vec<u8>) {
        if self.spare.len() < 16 && text.capacity() <= 64 << 20 {
            text.clear();
            self.spare.push(text);
        }
    }

    /// The next statement; `None` at the end of the script. Not to be called
    /// again after an error.
    #[expect(clippy::should_implement_trait, reason = "it fails, and lends no item")]
    pub fn next(&mut self) -> Result<Option<Statement>> {
        if !self.skip_leading()? {
            return Ok(None);
        }
        self.scan.begin();
        let mut at = self.start;
        let (stop, next) = loop {
            match self
                .scan
                .advance(&self.buf[..self.end], at, self.ended, self.mode.current())
            {
                Step::Found { delimiter_at, next } => break (delimiter_at, next),
                Step::More { from } => at = from,
            }
            let moved = self.start;
            if !self.fill()? {
                let Some(what) = self.scan.unfinished() else {
                    if self.unterminated {
                        break (self.end, self.end);
                    }
                    return Err(self.unexpected_end("a statement", self.start));
                };
                return Err(self.unexpected_end(what, self.start));
            }
            // `fill` may have moved the statement to the front of the buffer.
            at -= moved - self.start;
        };
        let dialect = self.mode.current();
        let statement = self.take(stop, next, dialect)?;
        self.mode.follow(&statement.text);
        Ok(Some(statement))
    }

    /// Returns `buf[start..stop]`; the rest begins at `next`.
    fn take(&mut self, stop: usize, next: usize, dialect: Dialect) -> Result<Statement> {
        let offset = self.position();
        let line = self.line_at(self.start);
        let length = self.buf[self.start..stop].trim_ascii_end().len();
        if length > self.limit {
            return Err(self.too_large());
        }
        let mut text = self.spare.pop().unwrap_or_default();
        let rest = self.end - next;
        if self.start == 0 && length > rest && next > READ {
            // A large one is returned with its buffer instead of being copied.
            self.line_at(next);
            text.clear();
            text.resize(rest + READ, 0);
            text[..rest].copy_from_slice(&self.buf[next..self.end]);
            std::mem::swap(&mut text, &mut self.buf);
            text.truncate(length);
            self.base += next as u64;
            self.counted = 0;
            self.start = 0;
            self.end = rest;
        } else {
            text.extend_from_slice(&self.buf[self.start..self.start + length]);
            self.start = next;
        }
        Ok(Statement {
            text,
            offset,
            line,
            dialect,
        })
    }

    /// Moves `start` to the first byte of the next statement; false at the end of the script.
    fn skip_leading(&mut self) -> Result<bool> {
        loop {
            let found = self
                .scan
                .leading(&self.buf[self.start..self.end], self.ended);
            match found {
                scan::Leading::Statement => return Ok(true),
                scan::Leading::Skip(n) => self.start += n,
                scan::Leading::Comment(n) => {
                    self.info.add_comment(&self.buf[self.start..self.start + n]);
                    self.start += n;
                }
                scan::Leading::More => {
                    if !self.fill()? && self.start == self.end {
                        return Ok(false);
                    }
                }
                scan::Leading::UnclosedComment => {
                    return Err(self.unexpected_end("a comment", self.start));
                }
            }
        }
    }

    /// Reads more to the end of the buffer; false if the script has ended, which is remembered.
    fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.buf.len() - self.end < READ / 8 {
            self.line_at(self.start);
            self.buf.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.counted = 0;
            self.end -= self.start;
            self.start = 0;
            if self.buf.len() - self.end < READ {
                if self.end > self.limit {
                    return Err(self.too_large());
                }
                let size = (2 * self.end).min(self.limit) + READ;
                self.buf.resize(size.max(self.end + READ), 0);
            }
        }
        loop {
            // No more in one call than stays in the CPU cache until it is scanned.
            let until = self.buf.len().min(self.end + READ);
            match self.reader.read(&mut self.buf[self.end..until]) {
                Ok(0) => {
                    self.ended = true;
                    // What waited for more text has to be scanned again.
                    return Ok(self.start < self.end && self.scan.needs_lookahead());
                }
                Ok(n) => {
                    self.end += n;
                    return Ok(true);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::from_read(e)),
            }
        }
    }

    /// The line of `buf[at]`; `at` never decreases.
    fn line_at(&mut self, at: usize) -> u64 {
        let lines = memchr::memchr_iter(b'\n', &self.buf[self.counted..at]).count();
        self.line += lines as u64;
        self.counted = at;
        self.line
    }

    fn unexpected_end(&mut self, what: &'static str, at: usize) -> Error {
        Error::UnexpectedEnd {
            what,
            line: self.line_at(at),
            offset: self.base + at as u64,
        }
    }

    fn too_large(&mut self) -> Error {
        Error::TooLarge {
            limit: self.limit,
            line: self.line_at(self.start),
            offset: self.position(),
        }
    }
}

#[cfg(test)]
mod tests;
