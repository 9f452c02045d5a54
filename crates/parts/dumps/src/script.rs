//! Cuts an SQL script into statements while it streams by, as the mysql client
//! would, without ever being the mysql client.
//!
//! Understood: delimiters (`;` and client `DELIMITER` lines), strings, quoted
//! names, comments. Left out: comments and white space before a statement, empty
//! statements, and the line with which MariaDB's client locks itself in
//! (`/*M!999999\- enable the sandbox mode */`), which no server understands.
//! Kept: every byte of a statement, `/*! … */` included, for it holds live SQL.
//! Never acted upon: `\!`, `source` and other client commands; they are text
//! like any other and the server refuses them.
//!
//! Invariants: a delimiter inside a string, a quoted name or a comment never
//! ends a statement. A script that stops in the midst of one is an error, never
//! a shorter statement. Memory is bounded by the largest statement and one read
//! buffer.
//!
//! A script says itself how its strings are to be read (`SET sql_mode`, `SET
//! NAMES`). That is followed, and each statement carries the [`Dialect`] it
//! was written under.

mod frame;
mod mode;
mod scan;

pub use frame::{Frame, Tool};

use crate::dialect::Dialect;
use crate::error::{Error, Result};
use mode::Mode;
use scan::{Scan, Step};
use std::io::{ErrorKind, Read};

/// Bytes asked of the reader at once.
const READ: usize = 512 * 1024;

/// Most bytes a statement may have unless told otherwise: what a server accepts at most.
pub const LIMIT: usize = 1 << 30;

/// One statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// Its bytes without the delimiter and without white space around it.
    pub text: Vec<u8>,
    /// Its first byte in the uncompressed script, from 0.
    pub offset: u64,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// How it is to be read: what was in force before it.
    pub dialect: Dialect,
}

/// A script being read.
pub struct Script<R> {
    reader: R,
    ended: bool,
    /// `buf[start..end]` is what has been read and not been given out; all of
    /// `buf` is initialised, so that reading into it needs no unsafe code.
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buf[0]` in the script.
    base: u64,
    /// Line of `buf[counted]`.
    line: u64,
    counted: usize,
    scan: Scan,
    mode: Mode,
    frame: Frame,
    limit: usize,
    open_end: bool,
    spare: Vec<Vec<u8>>,
}

impl<R: Read> Script<R> {
    /// Starts to read.
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
            frame: Frame::default(),
            limit: LIMIT,
            open_end: false,
            spare: Vec::new(),
        }
    }

    /// Most bytes a statement may have.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Takes a last statement without a delimiter as whole. Only for scripts that
    /// are known to be complete: that is also what a cut dump looks like.
    pub fn with_open_end(mut self, open_end: bool) -> Self {
        self.open_end = open_end;
        self
    }

    /// What ends a statement, until a DELIMITER line says otherwise. mydumper
    /// ends one with `;` and a line end, and puts something between the two
    /// where they stand within a body.
    pub fn with_delimiter(mut self, delimiter: &[u8]) -> Self {
        self.scan.delimit(delimiter);
        self
    }

    /// How the script begins, for scripts that do not say it themselves: some
    /// tools rely on the settings of whoever loads what they wrote.
    pub fn with_dialect(mut self, dialect: Dialect) -> Self {
        self.mode = Mode::beginning(dialect);
        self
    }

    /// How what comes next will be read.
    pub fn dialect(&self) -> Dialect {
        self.mode.now()
    }

    /// Changes how the rest is read, until the script changes it again.
    pub fn set_dialect(&mut self, dialect: Dialect) {
        self.mode.set(dialect);
    }

    /// What the script has said of itself so far; whole after [`next`](Self::next) gave `None`.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Bytes of the uncompressed script that have been given out or left out.
    pub fn position(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Gives a buffer back to be used again.
    pub fn recycle(&mut self, mut text: Vec<u8>) {
        if self.spare.len() < 16 && text.capacity() <= 64 << 20 {
            text.clear();
            self.spare.push(text);
        }
    }

    /// The next statement; `None` at the end of the script. After an error
    /// there is no going on.
    #[expect(clippy::should_implement_trait, reason = "it fails, and lends no item")]
    pub fn next(&mut self) -> Result<Option<Statement>> {
        if !self.skip_leading()? {
            return Ok(None);
        }
        self.scan.begin();
        let mut at = self.start;
        let (stop, behind) = loop {
            match self
                .scan
                .advance(&self.buf[..self.end], at, self.ended, self.mode.now())
            {
                Step::Found {
                    delimiter_at,
                    behind,
                } => break (delimiter_at, behind),
                Step::More { from } => at = from,
            }
            let moved = self.start;
            if !self.fill()? {
                let Some(what) = self.scan.unfinished() else {
                    if self.open_end {
                        break (self.end, self.end);
                    }
                    return Err(self.cut("a statement", self.start));
                };
                return Err(self.cut(what, self.start));
            }
            // Filling may have moved the statement to the front.
            at -= moved - self.start;
        };
        let dialect = self.mode.now();
        let statement = self.take(stop, behind, dialect)?;
        self.mode.follow(&statement.text);
        Ok(Some(statement))
    }

    /// Hands out `buf[start..stop]`; the rest begins at `behind`.
    fn take(&mut self, stop: usize, behind: usize, dialect: Dialect) -> Result<Statement> {
        let offset = self.position();
        let line = self.line_at(self.start);
        let length = self.buf[self.start..stop].trim_ascii_end().len();
        if length > self.limit {
            return Err(self.too_large());
        }
        let mut text = self.spare.pop().unwrap_or_default();
        let rest = self.end - behind;
        if self.start == 0 && length > rest && behind > READ {
            // A large one goes out with the buffer it is in.
            self.line_at(behind);
            text.clear();
            text.resize(rest + READ, 0);
            text[..rest].copy_from_slice(&self.buf[behind..self.end]);
            std::mem::swap(&mut text, &mut self.buf);
            text.truncate(length);
            self.base += behind as u64;
            self.counted = 0;
            self.start = 0;
            self.end = rest;
        } else {
            text.extend_from_slice(&self.buf[self.start..self.start + length]);
            self.start = behind;
        }
        Ok(Statement {
            text,
            offset,
            line,
            dialect,
        })
    }

    /// Moves `start` to the first byte of the next statement; false at the end.
    fn skip_leading(&mut self) -> Result<bool> {
        loop {
            let found = self
                .scan
                .leading(&self.buf[self.start..self.end], self.ended);
            match found {
                scan::Leading::Live => return Ok(true),
                scan::Leading::Skip(n) => self.start += n,
                scan::Leading::Note(n) => {
                    self.frame.note(&self.buf[self.start..self.start + n]);
                    self.start += n;
                }
                scan::Leading::More => {
                    if !self.fill()? && self.start == self.end {
                        return Ok(false);
                    }
                }
                scan::Leading::Open => return Err(self.cut("a comment", self.start)),
            }
        }
    }

    /// Reads more behind `end`; false if there is no more, which is known from then on.
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
            // No more at once than stays in the cache until it is scanned.
            let until = self.buf.len().min(self.end + READ);
            match self.reader.read(&mut self.buf[self.end..until]) {
                Ok(0) => {
                    self.ended = true;
                    // What was waiting for more to look at has to be looked at again.
                    return Ok(self.start < self.end && self.scan.looks_ahead());
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

    /// The line of `buf[at]`; `at` never goes back.
    fn line_at(&mut self, at: usize) -> u64 {
        let passed = memchr::memchr_iter(b'\n', &self.buf[self.counted..at]).count();
        self.line += passed as u64;
        self.counted = at;
        self.line
    }

    fn cut(&mut self, what: &'static str, at: usize) -> Error {
        Error::Cut {
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
