//! Tables of measured times: a row for each tool, a column for each server, and how each compares with the fastest other
//! tool.

use super::recorded::{FLAVOURS, Flavour, Group, Recording, Source};
use std::fmt::Write;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// penstock; `true` where the measured time includes the comparison of all rows with the archive's digests.
    Penstock(bool),
    /// Another tool. None of them compares rows.
    Other,
    /// Not a tool: less time than this is hardly possible.
    Limit,
}

/// One row: what it is called in the page, and the entries of recordings that it may come from (names differ by flavour).
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) label: &'static str,
    pub(crate) tool: Tool,
    pub(crate) entries: &'static [&'static str],
}

/// One column: a group of a recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) group: &'a Group,
}

impl Column<'_> {
    fn seconds(&self, row: &Row) -> Option<f64> {
        (row.entries.iter())
            .find_map(|name| self.group.entry(name))
            .map(|e| e.seconds)
    }

    /// The time of the fastest other tool.
    fn best_other(&self, rows: &[Row]) -> Option<f64> {
        (rows.iter().filter(|r| r.tool == Tool::Other))
            .filter_map(|r| self.seconds(r))
            .min_by(f64::total_cmp)
    }
}

/// The newest recording of each flavour that has this group and that `wanted` takes; older ones in `history` are left
/// out.
pub(crate) fn newest<'a>(
    all: &'a [Recording],
    group: &str,
    wanted: impl Fn(&Recording) -> bool,
) -> Vec<Column<'a>> {
    FLAVOURS
        .iter()
        .filter_map(|flavour| {
            columns(all, *flavour, group)
                .filter(|c| !c.recording.source.history && wanted(c.recording))
                .max_by_key(|c| &c.recording.source.date)
        })
        .collect()
}

/// All recordings of a flavour that have this group.
pub(crate) fn columns<'a>(
    all: &'a [Recording],
    flavour: Flavour,
    group: &str,
) -> impl Iterator<Item = Column<'a>> {
    all.iter()
        .filter(move |r| r.source.flavour == flavour)
        .filter_map(move |recording| {
            let group = recording.group(group)?;
            Some(Column { recording, group })
        })
}

/// The table. Rows that no column has a figure for are left out; so are ratios where there is no other tool, and the
/// column `verified` where no row is penstock's load.
pub(crate) fn table(rows: &[Row], columns: &[Column<'_>], verified: bool) -> String {
    let ratios = rows.iter().any(|r| r.tool == Tool::Other);
    let mut out = String::from("| |");
    for c in columns {
        let _ = write!(out, " {}, s |", c.recording.source.server);
        out.push_str(if ratios { " × |" } else { "" });
    }
    out.push_str(if verified { " verified |\n" } else { "\n" });
    out.push_str("|---|");
    out.push_str(&if ratios { "--:|--:|" } else { "--:|" }.repeat(columns.len()));
    out.push_str(if verified { "---|\n" } else { "\n" });
    for row in rows {
        if columns.iter().all(|c| c.seconds(row).is_none()) {
            continue;
        }
        let _ = write!(out, "| {} |", row.label.replace('|', "\\|"));
        for c in columns {
            let seconds = c.seconds(row);
            let _ = write!(out, " {} |", show(seconds));
            if ratios {
                let ratio = c.best_other(rows).zip(seconds).map(|(best, s)| best / s);
                let _ = write!(out, " {} |", show(ratio));
            }
        }
        if verified {
            out.push_str(match row.tool {
                Tool::Penstock(true) => " yes |",
                Tool::Penstock(false) | Tool::Other => " no |",
                Tool::Limit => " – |",
            });
        }
        out.push('\n');
    }
    out
}

/// The most memory that a process took in any of these rows.
pub(crate) fn peak_mib(columns: &[Column<'_>], entries: &[&str]) -> Option<f64> {
    (columns.iter())
        .flat_map(|c| entries.iter().filter_map(|name| c.group.entry(name)))
        .filter_map(|e| e.peak_mib)
        .reduce(f64::max)
}

/// The recordings of a table, with the number of runs.
pub(crate) fn recorded_in(columns: &[Column<'_>]) -> String {
    sources(columns.iter().map(|c| {
        let runs = c.group.entries.iter().map(|e| e.runs).max().unwrap_or(0);
        let runs = match runs {
            1 => "one run".to_owned(),
            n => format!("medians of {n} runs"),
        };
        (&c.recording.source, runs)
    }))
}

/// Names the recordings that figures come from, one a line: server, date, what the caller says, commit, machine, file.
pub(crate) fn sources<'a>(all: impl IntoIterator<Item = (&'a Source, String)>) -> String {
    let mut out = String::from("Recorded:\n\n");
    for (s, note) in all {
        let file = s.path.rsplit('/').next().unwrap_or_default();
        let _ = writeln!(
            out,
            "- {}, {}, {note}, penstock {}, {}: [{file}](../{})",
            s.server, s.date, s.commit, s.machine, s.path
        );
    }
    out
}

/// Three digits, as far as they mean anything.
pub(crate) fn show(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(v) if v.abs() < 9.995 => format!("{v:.2}"),
        Some(v) if v.abs() < 99.95 => format!("{v:.1}"),
        Some(v) => count(v),
    }
}

/// 1234567 as 1,234,567.
pub(crate) fn count(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::from(if value < 0.0 { "−" } else { "" });
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Entry;
    use super::*;

    fn recording(flavour: Flavour, date: &str, history: bool) -> Recording {
        let entry = |name: &str, seconds| Entry {
            name: name.to_owned(),
            seconds,
            runs: 1,
            peak_mib: Some(seconds),
        };
        Recording {
            source: Source {
                path: format!("bench/x/{date}.json"),
                kind: "x".to_owned(),
                date: date.to_owned(),
                flavour,
                server: format!("{} 1", flavour.name()),
                machine: "2 cores".to_owned(),
                commit: "abc".to_owned(),
                history,
            },
            data: String::new(),
            warehouses: Some(1),
            millions: 1,
            groups: vec![Group {
                name: "g".to_owned(),
                entries: vec![
                    entry("own", 2.0),
                    entry("slow", 8.0),
                    entry("theirs", 5.0),
                    entry("floor", 0.5),
                ],
            }],
        }
    }

    const ROWS: [Row; 4] = [
        Row {
            label: "penstock",
            tool: Tool::Penstock(true),
            entries: &["own"],
        },
        Row {
            label: "theirs | gzip",
            tool: Tool::Other,
            entries: &["ours", "theirs"],
        },
        Row {
            label: "not measured",
            tool: Tool::Other,
            entries: &["nowhere"],
        },
        Row {
            label: "limit",
            tool: Tool::Limit,
            entries: &["floor"],
        },
    ];

    #[test]
    fn ratios_are_against_the_fastest_other_tool() {
        let all = [recording(Flavour::MySql, "2026-01-02", false)];
        let columns = newest(&all, "g", |_| true);
        assert_eq!(
            table(&ROWS, &columns, true),
            "| | MySQL 1, s | × | verified |\n|---|--:|--:|---|\n\
             | penstock | 2.00 | 2.50 | yes |\n| theirs \\| gzip | 5.00 | 1.00 | no |\n| limit | 0.50 | 10.0 | – |\n"
        );
        assert_eq!(peak_mib(&columns, &["own", "floor"]), Some(2.0));
    }

    #[test]
    fn the_newest_of_each_flavour_counts_and_history_does_not() {
        let all = [
            recording(Flavour::MariaDb, "2026-01-01", false),
            recording(Flavour::MySql, "2026-01-02", false),
            recording(Flavour::MySql, "2026-01-03", false),
            recording(Flavour::MySql, "2026-01-04", true),
        ];
        let columns = newest(&all, "g", |_| true);
        let dates: Vec<_> = (columns.iter())
            .map(|c| c.recording.source.date.as_str())
            .collect();
        assert_eq!(dates, ["2026-01-03", "2026-01-01"]);
        assert!(newest(&all, "other", |_| true).is_empty());
        assert!(newest(&all, "g", |r| r.warehouses == Some(50)).is_empty());
    }

    #[test]
    fn numbers() {
        assert_eq!(show(Some(1.234)), "1.23");
        assert_eq!(show(Some(12.34)), "12.3");
        assert_eq!(show(Some(123.4)), "123");
        assert_eq!(show(Some(-5.0)), "-5.00");
        assert_eq!(show(None), "–");
        assert_eq!(count(1_234_567.0), "1,234,567");
        assert_eq!(count(12.0), "12");
    }
}
