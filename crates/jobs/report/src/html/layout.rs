//! The page as a whole: the story first, then charts, then numbers, settings last.

use super::names::command;
use super::page::Page;
use super::quantity::{moment, show};
use super::{MARK, bars, beside, chart, tables};
use crate::record::{Cell, Column, Record, Section, SpanKind, State, Table, Timeline};
use base::units::seconds;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");

/// Largest number of sections, timelines and other items that are shown.
const MOST: usize = 60;

/// The page of these records.
pub fn page(records: &[Record]) -> String {
    let mut p = Page::default();
    begin(&mut p, |p| {
        match records {
            [one] => p.text(&one.title),
            _ => p.text(&format!("{} runs of penstock", records.len())),
        };
    });
    if records.len() > 1 {
        p.raw("<header><p class='kind'>penstock</p><h1>")
            .text(&format!("{} runs", records.len()));
        p.raw("</h1><ol class='runs-list'>");
        for r in records {
            p.raw("<li>")
                .text(&r.title)
                .raw(", ")
                .text(&when(&r.begin))
                .raw(" ");
            badge(&mut p, r);
            p.raw("</li>");
        }
        p.raw("</ol></header>");
        beside::beside(&mut p, records);
    }
    for (i, r) in records.iter().enumerate() {
        let number = (records.len() > 1).then_some(i + 1);
        run(&mut p, r, number);
    }
    end(&mut p, "penstock report");
    p.into_string()
}

/// The beginning of a page, with what `title` writes as its title.
pub fn begin(p: &mut Page, title: impl FnOnce(&mut Page)) {
    p.raw("<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>")
        .raw(MARK);
    p.raw("<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-");
    p.text(&base64_simd::STANDARD.encode_to_string(Sha256::digest(STYLE)));
    p.raw("'\"><meta name='viewport' content='width=device-width, initial-scale=1'><meta name='color-scheme' content='light dark'>");
    p.raw("<meta name='referrer' content='no-referrer'><title>");
    title(p);
    p.raw("</title><style>")
        .raw(STYLE)
        .raw("</style></head><body><main>");
}

/// The end of a page that this command made.
pub fn end(p: &mut Page, command: &'static str) {
    p.raw("<footer>Made by ")
        .raw(command)
        .raw(" ")
        .text(env!("CARGO_PKG_VERSION"));
    p.raw(". This page is complete: it loads nothing and runs no script.</footer></main></body></html>\n");
}

fn badge(p: &mut Page, r: &Record) {
    p.raw(match r.outcome.state {
        State::Complete => "<span class='badge good'>✓ complete</span>",
        State::Exceptions => "<span class='badge warn'>! complete, with exceptions</span>",
        State::Interrupted => "<span class='badge warn'>■ interrupted</span>",
        State::Failed => "<span class='badge bad'>✕ failed</span>",
    });
}

fn run(p: &mut Page, r: &Record, number: Option<usize>) {
    p.raw("<article><header><p class='kind'>");
    if let Some(n) = number {
        p.text(&format!("Run {n}: "));
    }
    p.text(&command(r.kind))
        .raw("</p><h1>")
        .text(&r.title)
        .raw("</h1><p class='when'>");
    badge(p, r);
    p.text(&format!(
        "{}, {}",
        when(&r.begin),
        seconds(r.seconds.clamp(0.0, 1e9))
    ));
    p.raw("</p></header>");
    if !r.story.is_empty() {
        p.raw("<p class='story'>")
            .text(&r.story.join(" "))
            .raw("</p>");
    }
    let o = &r.outcome;
    if !o.message.is_empty() {
        p.raw("<div class='trouble bad'><b>")
            .lines(&o.message)
            .raw("</b>");
        p.text(&format!(" (exit code {})", o.code));
        if !o.hint.is_empty() {
            p.raw("<p>").lines(&o.hint).raw("</p>");
        }
        p.raw("</div>");
    }
    if !o.exceptions.is_empty() {
        p.raw("<div class='trouble warn'><b>Exceptions</b><ul>");
        for e in o.exceptions.iter().take(MOST) {
            p.raw("<li>").lines(e).raw("</li>");
        }
        if o.exceptions.len() > MOST {
            p.raw("<li>")
                .text(&format!("and {} more", o.exceptions.len() - MOST))
                .raw("</li>");
        }
        p.raw("</ul></div>");
    }
    if !r.figures.is_empty() {
        p.raw("<div class='tiles'>");
        for f in r.figures.iter().take(8) {
            p.raw("<div class='tile'><span class='name'>")
                .text(&f.name)
                .raw("</span><span class='number'>");
            p.text(&show(f.value, &f.unit))
                .raw("</span><span class='note'>")
                .text(&f.note)
                .raw("</span></div>");
        }
        p.raw("</div>");
    }
    for s in r.sections.iter().take(MOST) {
        section(p, s);
    }
    if !(r.facts.is_empty() && r.settings.is_empty()) {
        p.raw("<section><h2>Details</h2><div class='grid2'>");
        tables::pairs(p, "Facts", &r.facts);
        let mut settings = r.settings.clone();
        settings.push(("penstock".to_owned(), r.penstock.clone()));
        settings.push(("began".to_owned(), when(&r.begin)));
        settings.push(("ended".to_owned(), when(&r.end)));
        tables::pairs(p, "Settings", &settings);
        p.raw("</div></section>");
    }
    p.raw("</article>");
}

fn section(p: &mut Page, s: &Section) {
    p.raw("<section>");
    if !s.title.is_empty() {
        p.raw("<h2>").text(&s.title).raw("</h2>");
    }
    for text in s.text.iter().take(MOST) {
        p.raw("<p class='text'>").lines(text).raw("</p>");
    }
    for (i, b) in s.bars.iter().take(MOST).enumerate() {
        bars::bars(p, b, i == 0);
    }
    match s.timelines.as_slice() {
        [] => {}
        [one] => timeline(p, one),
        several => multiples(p, several),
    }
    for t in s.tables.iter().take(MOST) {
        tables::table(p, t);
    }
    p.raw("</section>");
}

/// One timeline over the full width, and its steps and events as tables.
fn timeline(p: &mut Page, t: &Timeline) {
    let seconds = chart::seconds(t);
    if !t.title.is_empty() {
        p.raw("<h3>").text(&t.title).raw("</h3>");
    }
    let mut charts = t.charts.iter().filter(|c| chart::drawable(c)).take(MOST);
    match charts.next() {
        Some(c) => chart::chart(p, t, c, seconds, chart::most(c, seconds), chart::WIDE),
        None => {
            p.raw("<p class='note'>Too short for curves.</p>");
        }
    }
    chart::strip(p, t, seconds);
    p.raw("<div class='grid2'>");
    for c in charts {
        chart::chart(p, t, c, seconds, chart::most(c, seconds), chart::HALF);
    }
    p.raw("</div>");
    events(p, t);
}

/// Small charts side by side; those of one title share a scale, so that they can be compared.
fn multiples(p: &mut Page, list: &[Timeline]) {
    let mut titles: Vec<(&str, &str, f64)> = Vec::new();
    for t in list {
        let seconds = chart::seconds(t);
        for c in &t.charts {
            let most = chart::most(c, seconds);
            match titles.iter_mut().find(|k| k.0 == c.title && k.1 == c.unit) {
                Some(k) => k.2 = k.2.max(most),
                None => titles.push((&c.title, &c.unit, most)),
            }
        }
    }
    let seconds = list.iter().map(chart::seconds).fold(0.0, f64::max);
    p.raw("<div class='grid3'>");
    for t in list.iter().take(MOST) {
        p.raw("<div class='small'><h3>").text(&t.title).raw("</h3>");
        let charts: Vec<_> = t.charts.iter().filter(|c| chart::drawable(c)).collect();
        for c in charts.iter().take(MOST) {
            let top = titles.iter().find(|k| k.0 == c.title && k.1 == c.unit);
            let top = top.map_or(1.0, |k| k.2);
            chart::chart(p, t, c, seconds, top, chart::SMALL);
        }
        if charts.is_empty() {
            p.raw("<p class='note'>Nothing to draw.</p>");
        }
        p.raw("</div>");
    }
    p.raw("</div><p class='note'>Charts with the same title have the same scale");
    if list
        .iter()
        .flat_map(|t| &t.spans)
        .any(|s| s.kind == SpanKind::Backup)
    {
        p.raw("; a backup was running in the shaded time");
    }
    p.raw(".</p>");
}

/// Waits, decisions and warnings in their order.
fn events(p: &mut Page, t: &Timeline) {
    let waits = t.spans.iter().filter(|s| s.kind == SpanKind::Waiting);
    let waits = waits.map(|s| {
        (
            s.from,
            String::new(),
            format!("{} ({})", s.name, show(s.to - s.from, "s")),
        )
    });
    let marks = t.marks.iter().enumerate().map(|(i, m)| {
        let number = if i < chart::NUMBERED {
            (i + 1).to_string()
        } else {
            String::new()
        };
        (m.at, number, m.text.clone())
    });
    let mut all: Vec<_> = waits.chain(marks).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    if all.is_empty() {
        return;
    }
    tables::table(
        p,
        &Table {
            title: "What happened".to_owned(),
            columns: ["at", "", "what"].map(|n| Column::new(n, "")).to_vec(),
            rows: all
                .into_iter()
                .map(|(at, n, text)| vec![Cell::text(moment(at)), Cell::text(n), Cell::text(text)])
                .collect(),
            ..Table::default()
        },
    );
}

/// A timestamp as people write it; a text that is not one is shown unchanged.
fn when(text: &str) -> String {
    text.parse::<jiff::Timestamp>().map_or_else(
        |_| text.to_owned(),
        |t| t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}
