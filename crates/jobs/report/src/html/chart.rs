//! Charts over time, as inline SVG.
//!
//! A drawing is as wide as the window and as high as the style says: horizontal positions are per
//! cent, so text keeps its size and no script is needed. `<title>` has the values under the pointer.

use super::curve::{Curve, MOST};
use super::page::Page;
use super::quantity::{Axis, moment, sane, show, time_ticks};
use crate::record::{Chart, Limit, Span, SpanKind, Timeline};

/// Number of areas with values under the pointer.
const CELLS: usize = 120;

/// Lines that a chart draws; more are not distinguishable.
const LINES: usize = 6;

/// Classes of lines, in their order.
const COLOURS: [&str; LINES] = ["c1", "c2", "c3", "c4", "c5", "c6"];

/// Spans and marks that are drawn.
const SHADES: usize = 300;

/// Marks that get a number, which a table below explains.
pub const NUMBERED: usize = 40;

/// How a chart is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Height of the plot, in pixels.
    pub height: f64,
    /// Ticks across.
    pub across: usize,
    /// Ticks upwards.
    pub upwards: usize,
    /// Whether there is room for few words only.
    pub short: bool,
}

/// Over the full width.
pub const WIDE: Style = Style {
    height: 220.0,
    across: 8,
    upwards: 5,
    short: false,
};

/// Over half of it.
pub const HALF: Style = Style {
    height: 110.0,
    across: 5,
    upwards: 3,
    short: true,
};

/// One of several.
pub const SMALL: Style = Style {
    height: 120.0,
    across: 4,
    upwards: 3,
    short: true,
};

/// How long the time axis is.
pub fn seconds(t: &Timeline) -> f64 {
    if sane(t.seconds) && t.seconds > 0.0 {
        return t.seconds;
    }
    let points = t
        .charts
        .iter()
        .flat_map(|c| &c.series)
        .flat_map(|s| &s.points);
    let ends = points.map(|p| p.0).chain(t.spans.iter().map(|s| s.to));
    ends.filter(|v| sane(*v)).fold(1e-3, f64::max)
}

/// Whether there are enough points for a curve.
pub fn drawable(c: &Chart) -> bool {
    c.series
        .iter()
        .any(|s| s.points.iter().filter(|p| p.1.is_some_and(sane)).count() >= 3)
}

/// The greatest value of a chart, its limits included.
pub fn most(c: &Chart, seconds: f64) -> f64 {
    let lines = c
        .series
        .iter()
        .take(LINES)
        .map(|s| Curve::new(s, seconds).most());
    let limits = c.limits.iter().map(|l| l.value).filter(|v| sane(*v));
    lines.chain(limits).fold(0.0, f64::max)
}

/// The strip of phases above the charts.
pub fn strip(p: &mut Page, t: &Timeline, seconds: f64) {
    let phases: Vec<&Span> = t
        .spans
        .iter()
        .filter(|s| s.kind == SpanKind::Phase)
        .collect();
    if phases.len() < 2 {
        return;
    }
    p.raw("<div class='frame steps'><svg class='strip' height='26' role='img' aria-label='steps of the run'>");
    for s in phases.into_iter().take(SHADES) {
        let (x, width) = place(s, seconds);
        p.raw("<svg x='")
            .number(x)
            .raw("%' y='0' width='")
            .number(width);
        p.raw("%' height='26'><rect class='step' x='0' y='0' width='100%' height='26'/><title>");
        p.text(&s.name).raw(": ").text(&show(s.to - s.from, "s"));
        p.raw("</title>");
        // The words must fit in half of a narrow window.
        if width > s.name.chars().count() as f64 * 1.4 {
            p.raw("<text class='tick' x='50%' y='17' text-anchor='middle'>")
                .text(&s.name)
                .raw("</text>");
        }
        p.raw("</svg>");
    }
    p.raw("</svg></div>");
}

/// The position of a span, in per cent.
fn place(s: &Span, seconds: f64) -> (f64, f64) {
    let at = |t: f64| {
        if sane(t) {
            (t / seconds * 100.0).clamp(0.0, 100.0)
        } else {
            0.0
        }
    };
    (at(s.from), (at(s.to) - at(s.from)).max(0.05))
}

/// One chart; `top` is the greatest value of all charts that share its scale.
pub fn chart(p: &mut Page, t: &Timeline, c: &Chart, seconds: f64, top: f64, style: Style) {
    let axis = Axis::new(top, &c.unit, style.upwards);
    let curves: Vec<Curve> = c
        .series
        .iter()
        .take(LINES)
        .map(|s| Curve::new(s, seconds))
        .collect();
    let drawing = Drawing {
        t,
        c,
        axis,
        curves,
        seconds,
        height: style.height,
    };
    p.raw(if t.marks.is_empty() {
        "<figure class='chart'><figcaption><b>"
    } else {
        "<figure class='chart marked'><figcaption><b>"
    })
    .text(&c.title)
    .raw("</b>");
    if !drawing.axis.unit.is_empty() {
        p.raw(" <span class='unit'>")
            .text(&drawing.axis.unit)
            .raw("</span>");
    }
    drawing.legend(p);
    p.raw("</figcaption><div class='frame'><svg class='plot' role='img' height='")
        .number(style.height + 24.0);
    p.raw("' aria-label='").text(&drawing.spoken()).raw("'>");
    drawing.shades(p);
    drawing.grid(p, style);
    drawing.lines(p);
    drawing.limit_lines(p);
    drawing.marks(p);
    drawing.cells(p);
    p.raw("</svg></div>");
    if c.series.len() > LINES {
        p.raw("<p class='note'>")
            .text(&format!("{LINES} of {} lines are drawn.", c.series.len()))
            .raw("</p>");
    }
    if !c.note.is_empty() {
        p.raw("<p class='note'>").text(&c.note).raw("</p>");
    }
    p.raw("</figure>");
}

struct Drawing<'a> {
    t: &'a Timeline,
    c: &'a Chart,
    axis: Axis,
    curves: Vec<Curve>,
    seconds: f64,
    height: f64,
}

impl Drawing<'_> {
    fn y(&self, v: f64) -> f64 {
        self.height - (v / self.axis.top).clamp(0.0, 1.0) * self.height
    }

    fn percent(&self, t: f64) -> f64 {
        (t / self.seconds * 100.0).clamp(0.0, 100.0)
    }

    fn has(&self, kind: SpanKind) -> bool {
        self.t.spans.iter().any(|s| s.kind == kind)
    }

    /// The names of the lines; a single line has the title.
    fn legend(&self, p: &mut Page) {
        let several = self.c.series.len() > 1;
        let lines = self.c.series.iter().zip(COLOURS);
        for (s, colour) in lines.filter(|_| several) {
            p.raw("<span class='key'><svg width='22' height='8' aria-hidden='true'><line class='line ");
            p.raw(colour)
                .raw("' x1='1' x2='21' y1='4' y2='4'/></svg>")
                .text(&s.name)
                .raw("</span>");
        }
        for l in self.limits() {
            p.raw("<span class='key'><svg width='22' height='8' aria-hidden='true'><line class='limit' x1='1' x2='21' y1='4' y2='4'/></svg>");
            p.text(&format!("{} {}", l.label, show(l.value, &self.c.unit)))
                .raw("</span>");
        }
        let shades = [
            (SpanKind::Backup, "shade backup", "backup"),
            (SpanKind::Waiting, "shade waiting", "waiting"),
        ];
        for (kind, class, name) in shades {
            if self.has(kind) {
                p.raw("<span class='key shading'><svg width='14' height='12' aria-hidden='true'><rect class='").raw(class);
                p.raw("' width='14' height='12'/></svg>")
                    .raw(name)
                    .raw("</span>");
            }
        }
    }

    /// The text for screen readers.
    fn spoken(&self) -> String {
        let mut text = format!("{} over {}", self.c.title, moment(self.seconds));
        for (s, curve) in self.c.series.iter().zip(&self.curves) {
            let n = curve.points().count().max(1) as f64;
            let mean = curve.points().map(|p| p.mean / n).sum::<f64>();
            text += &format!(
                "; {}: mean {}, most {}",
                s.name,
                show(mean, &self.c.unit),
                show(curve.most(), &self.c.unit)
            );
        }
        text
    }

    fn shades(&self, p: &mut Page) {
        let shaded = self.t.spans.iter().filter(|s| s.kind != SpanKind::Phase);
        for s in shaded.take(SHADES) {
            let (x, width) = place(s, self.seconds);
            let class = if s.kind == SpanKind::Backup {
                "shade backup"
            } else {
                "shade waiting"
            };
            p.raw("<rect class='")
                .raw(class)
                .raw("' x='")
                .number(x)
                .raw("%' y='0' width='")
                .number(width);
            p.raw("%' height='")
                .number(self.height)
                .raw("'><title>")
                .text(&s.name)
                .raw("</title></rect>");
        }
    }

    fn grid(&self, p: &mut Page, style: Style) {
        for (v, label) in &self.axis.ticks {
            let y = self.y(*v);
            p.raw("<line class='grid' x1='0' x2='100%' y1='")
                .number(y)
                .raw("' y2='")
                .number(y);
            p.raw("'/><text class='tick' x='-8' text-anchor='end' y='")
                .number(y + 4.0)
                .raw("'>");
            p.text(label).raw("</text>");
        }
        let (ticks, [words, short]) = time_ticks(self.seconds, style.across);
        let words = if style.short { short } else { words };
        for (t, label) in ticks {
            let x = self.percent(t);
            p.raw("<line class='axis' x1='")
                .number(x)
                .raw("%' x2='")
                .number(x)
                .raw("%' y1='")
                .number(self.height);
            p.raw("' y2='").number(self.height + 5.0).raw("'/>");
            // The label of the axis is at its end.
            if x < 88.0 {
                p.raw("<text class='tick' text-anchor='middle' x='")
                    .number(x)
                    .raw("%' y='")
                    .number(self.height + 19.0);
                p.raw("'>").text(&label).raw("</text>");
            }
        }
        p.raw("<line class='axis' x1='0' x2='100%' y1='")
            .number(self.height)
            .raw("' y2='")
            .number(self.height);
        p.raw("'/><text class='tick' text-anchor='end' x='100%' y='")
            .number(self.height + 19.0)
            .raw("'>");
        p.raw(words).raw("</text>");
    }

    fn lines(&self, p: &mut Page) {
        p.raw("<svg x='0' y='0' width='100%' height='")
            .number(self.height)
            .raw("' viewBox='0 0 1000 ");
        p.number(self.height).raw("' preserveAspectRatio='none'>");
        let alone = self.c.series.len() == 1;
        let all = self.c.series.iter().zip(&self.curves).zip(COLOURS);
        for ((s, curve), colour) in all.rev() {
            for piece in &curve.pieces {
                let x = |t: f64| self.percent(t) * 10.0;
                if curve.thinned && !s.steps {
                    p.raw("<path class='band ").raw(colour).raw("' d='M");
                    for q in piece {
                        p.number(x(q.at)).raw(" ").number(self.y(q.high)).raw(" ");
                    }
                    for q in piece.iter().rev() {
                        p.number(x(q.at)).raw(" ").number(self.y(q.low)).raw(" ");
                    }
                    p.raw("Z'/>");
                }
                let mut line = Page::default();
                for (i, q) in piece.iter().enumerate() {
                    line.raw(if i == 0 { "M" } else { " " });
                    if s.steps && i > 0 {
                        line.number(x(q.at))
                            .raw(" ")
                            .number(self.y(piece[i - 1].mean))
                            .raw(" ");
                    }
                    line.number(x(q.at)).raw(" ").number(self.y(q.mean));
                }
                let (Some(first), Some(last)) = (piece.first(), piece.last()) else {
                    continue;
                };
                // A step holds until the end.
                let ends = if s.steps { self.seconds } else { last.at };
                if s.steps {
                    line.raw(" ")
                        .number(x(ends))
                        .raw(" ")
                        .number(self.y(last.mean));
                }
                if alone {
                    p.raw("<path class='area ")
                        .raw(colour)
                        .raw("' d='")
                        .part(&line);
                    p.raw(" L").number(x(ends)).raw(" ").number(self.height);
                    p.raw(" L")
                        .number(x(first.at))
                        .raw(" ")
                        .number(self.height)
                        .raw("Z'/>");
                }
                p.raw("<path class='line ")
                    .raw(colour)
                    .raw("' d='")
                    .part(&line)
                    .raw("'/>");
            }
        }
        p.raw("</svg>");
        // Where points are few, each is shown.
        for (curve, colour) in self.curves.iter().zip(COLOURS) {
            let alone = curve.pieces.iter().filter(|l| l.len() == 1).flatten();
            let few: Vec<_> = if curve.points().count() <= 12 {
                curve.points().collect()
            } else {
                alone.collect()
            };
            for q in few.into_iter().take(MOST) {
                p.raw("<circle class='dot ")
                    .raw(colour)
                    .raw("' r='2.5' cx='")
                    .number(self.percent(q.at));
                p.raw("%' cy='").number(self.y(q.mean)).raw("'/>");
            }
        }
    }

    fn limits(&self) -> impl Iterator<Item = &Limit> {
        let sound = self.c.limits.iter().filter(|l| sane(l.value));
        sound.take(LINES)
    }

    fn limit_lines(&self, p: &mut Page) {
        for l in self.limits() {
            let y = self.y(l.value);
            p.raw("<line class='limit' x1='0' x2='100%' y1='")
                .number(y)
                .raw("' y2='")
                .number(y)
                .raw("'/>");
        }
    }

    fn marks(&self, p: &mut Page) {
        let marks = self.t.marks.iter().filter(|m| sane(m.at)).enumerate();
        for (i, m) in marks.take(SHADES) {
            let x = self.percent(m.at);
            p.raw("<line class='mark' x1='")
                .number(x)
                .raw("%' x2='")
                .number(x)
                .raw("%' y1='0' y2='")
                .number(self.height);
            p.raw("'/>");
            if i < NUMBERED {
                p.raw("<text class='tick mark' text-anchor='middle' y='-3' x='")
                    .number(x)
                    .raw("%'>");
                p.number((i + 1) as f64)
                    .raw("<title>")
                    .text(&m.text)
                    .raw("</title></text>");
            }
        }
    }

    /// Areas that show their values under the pointer.
    fn cells(&self, p: &mut Page) {
        let longest = self
            .curves
            .iter()
            .map(|c| c.points().count())
            .max()
            .unwrap_or(0);
        let cells = longest.min(CELLS);
        let width = self.seconds / cells.max(1) as f64;
        for i in 0..cells {
            let (from, to) = (width * i as f64, width * (i + 1) as f64);
            let mut text = Vec::new();
            for (s, curve) in self.c.series.iter().zip(&self.curves) {
                if let Some(v) = curve.between(from, to, s.steps) {
                    text.push(format!("{} {}", s.name, show(v, &self.c.unit)));
                }
            }
            if text.is_empty() {
                continue;
            }
            p.raw("<rect class='cell' y='0' x='")
                .number(from / self.seconds * 100.0)
                .raw("%' width='");
            p.number(100.0 / cells as f64)
                .raw("%' height='")
                .number(self.height)
                .raw("'><title>");
            p.text(&format!(
                "at {}: {}",
                moment(f64::midpoint(from, to)),
                text.join(", ")
            ));
            p.raw("</title></rect>");
        }
    }
}
