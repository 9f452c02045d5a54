//! How exactly rate limits are kept: a table from the recordings of `./dev bench rate`, which are pages of Markdown.

use super::recorded::{Source, files};
use super::table::sources;
use std::fmt::Write;
use std::path::Path;
use testkit::{Error, Result};

#[derive(Debug)]
struct Run {
    source: Source,
    transport: &'static str,
    rows: Vec<Row>,
}

/// One dump under a limit; shares of the limit in per cent, as recorded.
#[derive(Debug)]
struct Row {
    limit: String,
    workers: String,
    mean: String,
    slowest: String,
    fastest: String,
}

/// In the order of the columns: the end of the file's name, and what the page calls it.
const TRANSPORTS: [(&str, &str); 3] = [("unix", "unix socket"), ("tcp", "TCP"), ("tls", "TLS")];

/// The section about rate limits.
pub(crate) fn section(root: &Path) -> Result<String> {
    let mut runs = Vec::new();
    for path in files(root, "rate", "md")? {
        if path.contains("/history/") {
            continue;
        }
        let text = std::fs::read_to_string(root.join(&path)).map_err(Error::doing(&path))?;
        let source = Source::of_markdown(&path, &text);
        let source = source.ok_or_else(|| Error(format!("{path}: not a recorded run")))?;
        // Runs with other data have more in their name, and no place in the table.
        let flavour = source.flavour.name().to_lowercase();
        let transport = TRANSPORTS
            .iter()
            .find(|(end, _)| source.kind == format!("{flavour}-{end}"));
        let Some((_, transport)) = transport else {
            continue;
        };
        let rows = rows(&text).ok_or_else(|| Error(format!("{path}: not a table of limits")))?;
        runs.push(Run {
            source,
            transport,
            rows,
        });
    }
    if runs.is_empty() {
        return Err(Error::new("no recording in bench/rate"));
    }
    let place = |r: &Run| TRANSPORTS.iter().position(|(_, name)| *name == r.transport);
    runs.sort_by_key(|r| (r.source.flavour, place(r)));
    Ok(format!(
        "## How exactly a rate limit is kept\n\nBytes to the client in per cent of `--max-rate`, over the run, and in its slowest and fastest \
         five seconds in parentheses.\n\n{}\nA proxy counts the bytes; each dump is stopped after 16 s or runs to its end.\n\n{}\n",
        table(&runs),
        sources(runs.iter().map(|r| (&r.source, r.transport.to_owned())))
    ))
}

fn rows(text: &str) -> Option<Vec<Row>> {
    text.lines()
        .filter(|l| l.starts_with("| ") && l.contains("MiB/s"))
        .map(row)
        .collect()
}

/// `| 5 MiB/s | 1 | 100.0 % of 15.9 s | 99.8 % | 100.9 % |`; the last two may be words where a run was too short.
fn row(line: &str) -> Option<Row> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [limit, workers, mean, slowest, fastest] = cells[..] else {
        return None;
    };
    let share = |text: &str| text.trim_end_matches(" %").to_owned();
    Some(Row {
        limit: limit.to_owned(),
        workers: workers.to_owned(),
        mean: share(mean.split(" of ").next()?),
        slowest: share(slowest),
        fastest: share(fastest),
    })
}

fn table(runs: &[Run]) -> String {
    let mut out = String::from("| limit | workers |");
    for run in runs {
        let _ = write!(out, " {}, {} |", run.source.server, run.transport);
    }
    let _ = write!(out, "\n|---|--:|{}\n", "--:|".repeat(runs.len()));
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for row in runs.iter().flat_map(|r| &r.rows) {
        let key = (row.limit.as_str(), row.workers.as_str());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let _ = write!(out, "| {} | {} |", row.limit, row.workers);
        for run in runs {
            let found = run.rows.iter().find(|r| (&*r.limit, &*r.workers) == key);
            match found {
                Some(r) => {
                    let _ = write!(out, " {} ({} … {}) |", r.mean, r.slowest, r.fastest);
                }
                None => out.push_str(" – |"),
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read() {
        let read = row("| 80 MiB/s | 1 | 90.1 % of 9.6 s | 79.2 % | 94.0 % |").expect("a row");
        assert_eq!(
            (&*read.limit, &*read.workers, &*read.mean),
            ("80 MiB/s", "1", "90.1")
        );
        assert_eq!((&*read.slowest, &*read.fastest), ("79.2", "94.0"));
        assert!(row("| 80 MiB/s | 1 |").is_none());
    }
}
