//! Horizontal bars that compare a few things: the value of each, the spread of its runs, and the
//! difference from the first.

use super::page::Page;
use super::quantity::{change, sane, show};
use crate::record::{Bar, Bars, Better};

/// Largest number of bars; more belong in a table.
const MOST: usize = 60;

/// Draws them; the first of several explains how to read them.
pub fn bars(p: &mut Page, b: &Bars, first: bool) {
    let ends = b.items.iter().flat_map(|i| [i.mean, i.high]).flatten();
    let most = ends.filter(|v| sane(*v)).fold(0.0, f64::max);
    let most = if most > 0.0 { most } else { 1.0 };
    p.raw("<figure class='bars'>");
    if !b.title.is_empty() {
        p.raw("<figcaption><b>").text(&b.title).raw("</b>");
        if !b.unit.is_empty() {
            p.raw(" <span class='unit'>")
                .text(unit(&b.unit))
                .raw("</span>");
        }
        p.raw(match b.better {
            Better::Higher => "<span class='key'>longer is better</span>",
            Better::Lower => "<span class='key'>shorter is better</span>",
            Better::Neither => "",
        });
        p.raw("</figcaption>");
    }
    let base = b.items.first().and_then(|i| i.mean).filter(|_| b.to_first);
    for (i, item) in b.items.iter().take(MOST).enumerate() {
        let base = base.filter(|_| i > 0);
        one(p, b, item, base, most);
    }
    if b.items.len() > MOST {
        p.raw("<p class='note'>")
            .text(&format!("{MOST} of {} are shown.", b.items.len()))
            .raw("</p>");
    }
    if first && b.items.iter().any(|i| i.n > 1) {
        p.raw("<p class='note'>A bar is the ")
            .raw(if b.median { "median" } else { "mean" })
            .raw(" of its runs, the thin line on it reaches from the least to the most.</p>");
    }
    if !b.note.is_empty() {
        p.raw("<p class='note'>").text(&b.note).raw("</p>");
    }
    p.raw("</figure>");
}

/// Bytes are shown with a prefix (kB, MB), so their unit would mislead.
fn unit(unit: &str) -> &str {
    match unit {
        "B" | "B/s" | "s" | "ms" => "",
        other => other,
    }
}

fn one(p: &mut Page, b: &Bars, item: &Bar, base: Option<f64>, most: f64) {
    p.raw(if item.strong {
        "<div class='bar strong'>"
    } else {
        "<div class='bar'>"
    });
    p.raw("<div class='label'>").text(&item.label).raw("</div>");
    p.raw("<svg class='track' height='22' aria-hidden='true'>");
    let at = |v: f64| (v / most * 100.0).clamp(0.0, 100.0);
    if let Some(mean) = item.mean.filter(|v| sane(*v)) {
        p.raw("<rect class='fill' x='0' y='2' height='18' rx='2' width='")
            .number(at(mean).max(0.15))
            .raw("%'/>");
    }
    if let (Some(low), Some(high)) = (item.low, item.high)
        && sane(low)
        && sane(high)
        && item.n != 1
    {
        let (l, h) = (at(low), at(high));
        p.raw("<line class='reach' y1='11' y2='11' x1='")
            .number(l)
            .raw("%' x2='")
            .number(h)
            .raw("%'/>");
        for x in [l, h] {
            p.raw("<line class='reach' y1='6' y2='16' x1='")
                .number(x)
                .raw("%' x2='")
                .number(x)
                .raw("%'/>");
        }
    }
    p.raw("</svg><div class='value'><b>");
    match item.mean {
        Some(mean) => p.text(&show(mean, &b.unit)),
        None => p.raw("not measured"),
    };
    p.raw("</b>");
    if let Some(text) = item.mean.zip(base).and_then(|(v, base)| change(v, base)) {
        p.raw(" <span class='change'>").text(&text).raw("</span>");
    }
    if let (Some(low), Some(high)) = (item.low, item.high)
        && item.n > 1
    {
        let text = format!(
            "{} to {}, {} runs",
            bare(low, b),
            show(high, &b.unit),
            item.n
        );
        p.raw("<span class='runs'>").text(&text).raw("</span>");
    }
    p.raw("</div></div>");
}

/// Without the unit where the next number has it.
fn bare(v: f64, b: &Bars) -> String {
    match b.unit.as_str() {
        "B" | "B/s" | "s" | "ms" => show(v, &b.unit),
        _ => show(v, ""),
    }
}
