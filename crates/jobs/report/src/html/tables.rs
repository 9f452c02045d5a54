//! Tables of a record, and the lists of settings and facts.

use super::page::Page;
use super::quantity::show;
use crate::record::{Cell, Table};

/// Largest number of rows that are shown.
const MOST: usize = 500;

/// Largest number of columns that are shown.
const WIDEST: usize = 40;

/// One table.
pub fn table(p: &mut Page, t: &Table) {
    p.raw("<div class='table'>");
    if !t.title.is_empty() {
        p.raw("<h3>").text(&t.title).raw("</h3>");
    }
    p.raw("<div class='scroll'><table><thead><tr>");
    let columns = t.columns.len().min(WIDEST);
    let numbers: Vec<bool> = (0..columns).map(|c| numeric(t, c)).collect();
    for (c, column) in t.columns.iter().take(columns).enumerate() {
        p.raw(if numbers[c] { "<th class='n'>" } else { "<th>" })
            .text(&column.name)
            .raw("</th>");
    }
    p.raw("</tr></thead><tbody>");
    for row in t.rows.iter().take(MOST) {
        p.raw("<tr>");
        for (c, column) in t.columns.iter().take(columns).enumerate() {
            p.raw(if numbers[c] { "<td class='n'>" } else { "<td>" });
            match row.get(c) {
                None | Some(Cell::None) => p.raw("–"),
                Some(Cell::Text(text)) => p.lines(text),
                Some(Cell::Number(v)) => p.text(&show(*v, &column.unit)),
                Some(Cell::Spread(mean, low, high)) => {
                    p.text(&show(*mean, &column.unit))
                        .raw("<span class='runs'>");
                    p.text(&format!("{} to {}", show(*low, ""), show(*high, "")))
                        .raw("</span>")
                }
            };
            p.raw("</td>");
        }
        p.raw("</tr>");
    }
    p.raw("</tbody></table></div>");
    if t.rows.len() > MOST {
        p.raw("<p class='note'>")
            .text(&format!("{MOST} of {} rows are shown.", t.rows.len()))
            .raw("</p>");
    }
    if !t.note.is_empty() {
        p.raw("<p class='note'>").text(&t.note).raw("</p>");
    }
    p.raw("</div>");
}

/// Whether a column holds numbers, which are aligned to the right.
fn numeric(t: &Table, column: usize) -> bool {
    let cells = t.rows.iter().filter_map(|r| r.get(column));
    let mut any = false;
    for c in cells {
        match c {
            Cell::Text(_) => return false,
            Cell::Number(_) | Cell::Spread(..) => any = true,
            Cell::None => {}
        }
    }
    any
}

/// Names and values.
pub fn pairs(p: &mut Page, title: &'static str, list: &[(String, String)]) {
    if list.is_empty() {
        return;
    }
    p.raw("<div class='table'><h3>").raw(title).raw("</h3><dl>");
    for (name, value) in list.iter().take(MOST) {
        p.raw("<dt>")
            .text(name)
            .raw("</dt><dd>")
            .lines(value)
            .raw("</dd>");
    }
    p.raw("</dl></div>");
}
