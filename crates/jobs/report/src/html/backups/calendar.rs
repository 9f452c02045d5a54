//! A time axis with dates (UTC).

use crate::html::page::Page;
use jiff::Timestamp;
use repository::{Entry, Listing};

/// A time axis with dates.
pub struct Calendar {
    from: Timestamp,
    seconds: f64,
}

impl Calendar {
    /// Of everything that is listed, and the present.
    pub fn of(l: &Listing, now: Timestamp) -> Calendar {
        let begins = l.entries.iter().filter_map(Entry::begin);
        let times: Vec<Timestamp> = begins.chain(l.proofs.iter().map(|p| p.at)).collect();
        let from = times.iter().min().copied().unwrap_or(now);
        let to = times.iter().max().copied().unwrap_or(now).max(now);
        // Room for the marks at both ends.
        let room = ((to.as_second() - from.as_second()) / 40).max(60);
        let second = |t: i64| Timestamp::from_second(t).unwrap_or(now);
        let from = second(from.as_second() - room);
        Calendar {
            seconds: (to.as_second() + room - from.as_second()) as f64,
            from,
        }
    }

    /// Where a moment is, in per cent.
    pub fn percent(&self, at: Timestamp) -> f64 {
        let since = at.as_second() - self.from.as_second();
        (since as f64 / self.seconds * 100.0).clamp(0.0, 100.0)
    }

    /// Moments with round dates or times, and their labels.
    fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        const HOUR: i64 = 3600;
        const DAY: i64 = 24 * HOUR;
        let steps = [
            60,
            300,
            900,
            HOUR,
            3 * HOUR,
            6 * HOUR,
            12 * HOUR,
            DAY,
            2 * DAY,
            7 * DAY,
            14 * DAY,
            28 * DAY,
            91 * DAY,
            182 * DAY,
            364 * DAY,
        ];
        let wanted = (self.seconds / most as f64) as i64;
        let found = steps.into_iter().find(|s| *s >= wanted);
        let step = found.unwrap_or(wanted / (364 * DAY) * 364 * DAY + 364 * DAY);
        let begin = self.from.as_second();
        let end = begin + self.seconds as i64;
        // 1970-01-01 was a Thursday; weeks begin on Monday.
        let offset = if step >= 7 * DAY { 4 * DAY } else { 0 };
        let first = begin - (begin - offset).rem_euclid(step) + step;
        let mut ticks = Vec::new();
        let mut at = first;
        while at < end && ticks.len() <= most + 1 {
            let Ok(t) = Timestamp::from_second(at) else {
                break;
            };
            let label = match step {
                s if s >= DAY => t.strftime("%Y-%m-%d"),
                _ if at.rem_euclid(DAY) == 0 => t.strftime("%m-%d"),
                _ => t.strftime("%H:%M"),
            };
            ticks.push((self.percent(t), label.to_string()));
            at += step;
        }
        ticks
    }

    /// Draws the axis below a drawing of this height.
    pub fn axis(&self, p: &mut Page, height: f64, most: usize) {
        for (x, label) in self.ticks(most) {
            p.raw("<line class='grid' x1='")
                .number(x)
                .raw("%' x2='")
                .number(x)
                .raw("%' y1='0' y2='")
                .number(height + 5.0)
                .raw("'/><text class='tick' text-anchor='middle' x='")
                .number(x)
                .raw("%' y='")
                .number(height + 19.0)
                .raw("'>")
                .text(&label)
                .raw("</text>");
        }
        p.raw("<line class='axis' x1='0' x2='100%' y1='")
            .number(height)
            .raw("' y2='")
            .number(height)
            .raw("'/>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let calendar = |from: &str, to: &str| {
            let (from, to) = (at(from), at(to));
            let seconds = (to.as_second() - from.as_second()) as f64;
            let ticks = Calendar { from, seconds }.ticks(7);
            ticks
                .into_iter()
                .map(|(_, label)| label)
                .collect::<Vec<_>>()
        };
        // Mondays.
        let weeks = calendar("2026-10-01T10:00:00Z", "2026-11-12T00:00:00Z");
        assert_eq!(weeks[..2], ["2026-10-05", "2026-10-12"]);
        let hours = calendar("2026-10-01T22:30:00Z", "2026-10-02T01:10:00Z");
        assert_eq!(hours, ["23:00", "10-02", "01:00"]);
        assert!(calendar("2000-01-01T00:00:00Z", "2026-10-02T01:10:00Z").len() <= 9);
        assert!(calendar("2026-10-01T00:00:00Z", "2026-10-01T00:00:01Z").len() <= 2);
    }
}
