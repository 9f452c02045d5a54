//! What is lost of a table: counted to the last, named up to a limit.

use base::units::{count, printable};

/// Losses of each kind that are named of one table.
const NAMED: usize = 50;

/// Losses of one kind, and how many more there are.
#[derive(Clone, Debug, Default)]
struct List {
    named: Vec<String>,
    more: u64,
}

impl List {
    fn add(&mut self, line: impl FnOnce() -> String) {
        if self.named.len() < NAMED {
            self.named.push(printable(&line()));
        } else {
            self.more += 1;
        }
    }

    fn len(&self) -> u64 {
        self.named.len() as u64 + self.more
    }
}

/// What is lost of a table.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pages: List,
    rows: List,
    partial: List,
    notes: Vec<String>,
}

impl Account {
    /// A page, with all of its rows or those from some place on.
    pub fn page(&mut self, line: impl FnOnce() -> String) {
        self.pages.add(line);
    }

    /// A row of a whole page.
    pub fn row(&mut self, line: impl FnOnce() -> String) {
        self.rows.add(line);
    }

    /// A row that lacks values.
    pub fn partial(&mut self, line: impl FnOnce() -> String) {
        self.partial.add(line);
    }

    /// Anything else that is not as it should be.
    pub fn note(&mut self, line: String) {
        self.notes.push(printable(&line));
    }

    /// Pages, rows, and rows that lack values.
    pub fn counts(&self) -> [u64; 3] {
        [self.pages.len(), self.rows.len(), self.partial.len()]
    }

    /// All that is named, each line with the table's name before it.
    pub fn lines(&self, table: &str) -> Vec<String> {
        let mut all: Vec<String> = self
            .notes
            .iter()
            .map(|n| format!("table {table}: {n}"))
            .collect();
        for (list, what) in [
            (&self.pages, "pages"),
            (&self.rows, "rows"),
            (&self.partial, "rows that lack values"),
        ] {
            all.extend(list.named.iter().map(|n| format!("table {table}: {n}")));
            if list.more > 0 {
                all.push(format!(
                    "table {table}: and {} more {what}",
                    count(list.more)
                ));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_counted() {
        let mut account = Account::default();
        for n in 0..NAMED + 7 {
            account.page(|| format!("page {n}"));
        }
        account.note("a\u{7}note".to_owned());
        assert_eq!(account.counts(), [NAMED as u64 + 7, 0, 0]);
        let lines = account.lines("`t`");
        assert_eq!(lines[0], "table `t`: a\\u{7}note");
        assert_eq!(
            lines.last().map(String::as_str),
            Some("table `t`: and 7 more pages")
        );
        assert_eq!(lines.len(), NAMED + 2);
    }
}
