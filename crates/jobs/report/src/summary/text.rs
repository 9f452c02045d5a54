//! A summary for people: aligned lines, in the manner of MySQL Shell.
//!
//! Texts from servers and archives are escaped here, so that they cannot control a terminal.

use super::{Line, Summary, Table};
use base::units::printable;
use std::fmt::Write;

/// The whole summary.
pub fn lines(summary: &Summary) -> String {
    let mut out = format!("\n{}\n", printable(&summary.heading));
    for line in summary.items.iter().flat_map(|i| &i.lines) {
        one(&mut out, line);
    }
    out
}

fn one(out: &mut String, line: &Line) {
    let _ = match line {
        Line::Value(label, value) => writeln!(out, "  {label:<20}{}", printable(value)),
        Line::Plain(text) => writeln!(out, "  {}", printable(text)),
        Line::Blank => writeln!(out),
        Line::List(title, items) => {
            let _ = writeln!(out, "  {title}:");
            items
                .iter()
                .try_for_each(|item| writeln!(out, "    - {}", printable(item)))
        }
        Line::Table(table) => rows(out, table),
    };
}

fn rows(out: &mut String, table: &Table) -> std::fmt::Result {
    let cells: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| printable(cell)).collect())
        .collect();
    let columns = cells.first().map_or(0, Vec::len);
    let width = |at: usize| {
        let widths = cells.iter().filter_map(|r| r.get(at));
        widths.map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in &cells {
        let mut line = " ".repeat(table.indent);
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = if at == 0 { "" } else { "  " };
            let _ = if table.numbers && at > 0 {
                write!(line, "{gap}{cell:>width$}")
            } else {
                write!(line, "{gap}{cell:<width$}")
            };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Item;
    use super::*;

    #[test]
    fn a_table_is_as_wide_as_its_cells() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let mut s = Summary::new("x", "Title");
        s.add(Item::keys().with(Line::Blank).with(Line::Table(Table {
            indent: 2,
            numbers: true,
            rows: vec![row(["name", "n"]), row(["a\u{1b}", "1,000"])],
        })));
        assert_eq!(
            lines(&s),
            "\nTitle\n\n  name         n\n  a\\u{1b}  1,000\n"
        );
    }
}
