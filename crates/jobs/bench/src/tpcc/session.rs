//! One connection of a terminal: statements with literal values, answers as
//! numbers and texts.
//!
//! Values of ours are numbers, letters and digits; text that comes from the
//! server goes back only through [`server::quote`].

use std::fmt::{Arguments, Write};
use wire::Conn;

/// Why a transaction did not come to its end.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server or the connection.
    Wire(wire::Error),
    /// The rows are not those of TPC-C.
    Data(String),
}

impl Trouble {
    /// Whether the same again may do: a deadlock, a lock not had in time, or
    /// (MariaDB's snapshot isolation) a row that changed since the snapshot.
    pub(super) fn passes(&self) -> bool {
        matches!(self, Trouble::Wire(e) if matches!(e.code(), Some(1205 | 1213 | 1020)))
    }
}

impl From<wire::Error> for Trouble {
    fn from(e: wire::Error) -> Self {
        Trouble::Wire(e)
    }
}

pub(super) type Result<T, E = Trouble> = std::result::Result<T, E>;

/// A connection, and the statement that is being written.
pub(super) struct Session {
    conn: Conn,
    text: String,
}

impl Session {
    pub(super) fn new(conn: Conn) -> Session {
        Session {
            conn,
            text: String::with_capacity(4096),
        }
    }

    /// Runs a statement and gives the number of rows changed.
    pub(super) fn run(&mut self, sql: Arguments<'_>) -> Result<u64> {
        self.write(sql);
        Ok(self.conn.execute(&self.text)?.affected)
    }

    /// As [`Session::run`], but exactly one row has to change.
    pub(super) fn change(&mut self, sql: Arguments<'_>) -> Result<()> {
        match self.run(sql)? {
            1 => Ok(()),
            n => Err(self.wrong(&format!("{n} rows changed"))),
        }
    }

    /// Hands each row's cells (at most `N`; NULL is empty) to `each`.
    pub(super) fn rows<const N: usize>(
        &mut self,
        sql: Arguments<'_>,
        mut each: impl FnMut([&str; N]),
    ) -> Result<u64> {
        self.write(sql);
        let mut rows = self.conn.query(&self.text)?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let mut cells = [""; N];
            for (cell, slot) in row.cells().zip(&mut cells) {
                // A session of utf8mb4 sends nothing else.
                *slot = std::str::from_utf8(cell?.unwrap_or_default()).unwrap_or_default();
            }
            each(cells);
            count += 1;
        }
        Ok(count)
    }

    /// The first cell of the first row as a number; `None` without a row, or for NULL.
    pub(super) fn number(&mut self, sql: Arguments<'_>) -> Result<Option<u64>> {
        let mut found = None;
        self.rows(sql, |[cell]: [&str; 1]| {
            found = found.or_else(|| cell.parse().ok());
        })?;
        Ok(found)
    }

    /// As [`Session::number`], where there has to be one.
    pub(super) fn one(&mut self, sql: Arguments<'_>) -> Result<u64> {
        match self.number(sql)? {
            Some(n) => Ok(n),
            None => Err(self.wrong("no number")),
        }
    }

    /// What the last statement answered is not possible with the rows of TPC-C.
    pub(super) fn wrong(&self, what: &str) -> Trouble {
        Trouble::Data(format!("{what} from {}", self.text))
    }

    fn write(&mut self, sql: Arguments<'_>) {
        self.text.clear();
        // Writing into a string cannot fail.
        let _ = self.text.write_fmt(sql);
    }
}

/// `12.34` as 1234; a sum of money that the server wrote.
pub(super) fn cents(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "00"));
    if part.len() != 2 {
        return None;
    }
    Some(sign * (whole.parse::<i64>().ok()? * 100 + part.parse::<i64>().ok()?))
}

/// Money, given in cents, as SQL wants it.
pub(super) struct Money(pub(super) i64);

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let n = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:02}", n / 100, n % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_there_and_back() {
        for (text, n) in [
            ("12.34", 1234),
            ("0.05", 5),
            ("-10.00", -1000),
            ("7.00", 700),
        ] {
            assert_eq!(cents(text), Some(n));
            assert_eq!(Money(n).to_string(), text);
        }
        assert_eq!(cents("7"), Some(700));
        assert_eq!(cents("7.1"), None);
        assert_eq!(cents(""), None);
    }
}
