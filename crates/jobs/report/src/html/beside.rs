//! Several runs side by side: one column a run, one row a figure.

use super::bars;
use super::names::short_name;
use super::page::Page;
use super::quantity::{change, show};
use crate::record::{Bar, Bars, Better, Figure, Record};

/// Figures that are drawn as bars, too.
const DRAWN: usize = 4;

/// The comparison.
pub fn beside(p: &mut Page, records: &[Record]) {
    let mut names: Vec<&Figure> = Vec::new();
    for f in records.iter().flat_map(|r| &r.figures) {
        if !names.iter().any(|n| n.name == f.name && n.unit == f.unit) {
            names.push(f);
        }
    }
    // Articles have tables of their own.
    if names.is_empty() {
        return;
    }
    p.raw("<section><h2>Side by side</h2>");
    let shared = |f: &&&Figure| records.iter().all(|r| find(r, f).is_some());
    p.raw("<div class='grid2'>");
    let judged = |f: &&&Figure| f.better != Better::Neither;
    for f in names.iter().filter(shared).filter(judged).take(DRAWN) {
        let items = records.iter().enumerate().map(|(i, r)| Bar {
            label: short_name(i, r),
            mean: find(r, f).map(|f| f.value),
            ..Bar::default()
        });
        bars::bars(
            p,
            &Bars {
                title: f.name.clone(),
                unit: f.unit.clone(),
                better: f.better,
                to_first: true,
                items: items.collect(),
                ..Bars::default()
            },
            false,
        );
    }
    p.raw("</div><div class='table scroll'><table><thead><tr><th>figure</th>");
    for (i, r) in records.iter().enumerate() {
        p.raw("<th class='n'>").text(&short_name(i, r)).raw("</th>");
    }
    p.raw("</tr></thead><tbody>");
    for f in names {
        p.raw("<tr><td>").text(&f.name).raw("</td>");
        let base = find(&records[0], f).map(|f| f.value);
        for (i, r) in records.iter().enumerate() {
            p.raw("<td class='n'>");
            match find(r, f) {
                None => {
                    p.raw("–");
                }
                Some(found) => {
                    p.text(&show(found.value, &found.unit));
                    let change = base.filter(|_| i > 0).and_then(|b| change(found.value, b));
                    if let Some(text) = change {
                        p.raw("<span class='runs'>").text(&text).raw("</span>");
                    }
                }
            }
            p.raw("</td>");
        }
        p.raw("</tr>");
    }
    p.raw("</tbody></table></div></section>");
}

fn find<'r>(r: &'r Record, f: &Figure) -> Option<&'r Figure> {
    r.figures
        .iter()
        .find(|o| o.name == f.name && o.unit == f.unit)
}
