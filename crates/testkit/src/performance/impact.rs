//! What a backup costs the workload: tables from the recordings of `./dev bench impact`.
//!
//! Such a recording is a record of `penstock bench impact`, for which `penstock report` makes a page. Its tables are found
//! by their columns, not by titles.

use super::recorded::{FLAVOURS, Flavour, Source, files, json};
use super::table::{count, show, sources};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use testkit::{Error, Result};

/// Methods in the order of the rows: the name in recordings, the one in the page, and whether it is another tool.
const METHODS: [(&str, &str, bool); 10] = [
    ("alone", "no backup (control)", false),
    (
        "mysqldump | gzip",
        "mysqldump (mariadb-dump) \\| gzip",
        true,
    ),
    ("mydumper", "mydumper, 2 threads", true),
    ("penstock", "penstock", false),
    (
        "penstock --max-impact 5%",
        "penstock --max-impact 5%",
        false,
    ),
    (
        "replica, applier stopped",
        "penstock, from a replica, applier stopped",
        false,
    ),
    (
        "replica, applying",
        "penstock, from a replica, applying",
        false,
    ),
    (
        "snapshot --method reflink",
        "penstock snapshot take --method reflink, stored as files",
        false,
    ),
    (
        "penstock --from-snapshot reflink",
        "penstock dump --from-snapshot reflink",
        false,
    ),
    (
        "replica, from its files",
        "penstock dump --from-replica-files",
        false,
    ),
];

const LIMITED: &str = "penstock --max-impact 5%";

/// Mean, least and most of the runs.
type Spread = [f64; 3];

#[derive(Debug)]
pub(crate) struct Run {
    source: Source,
    settings: Vec<(String, String)>,
    rows: String,
    methods: Vec<Method>,
}

#[derive(Debug, Default)]
struct Method {
    name: String,
    loss: Option<Spread>,
    /// tpmC·s for each GB that is backed up.
    per_gb: Option<Spread>,
    seconds: Option<Spread>,
    /// 95th percentile of New-Order in ms, alone and during backups.
    p95: Option<(Spread, Spread)>,
}

/// All recorded runs but those in `history`.
pub(crate) fn read(root: &Path) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for path in files(root, "impact", "json")? {
        if path.contains("/history/") {
            continue;
        }
        let page = path.replace(".json", ".md");
        let facts = std::fs::read_to_string(root.join(&page)).map_err(Error::doing(&page))?;
        let record = json(root, &path)?;
        runs.push(
            run(&path, &facts, &record)
                .ok_or_else(|| Error(format!("{path}: not a recorded run of impact")))?,
        );
    }
    Ok(runs)
}

fn run(path: &str, facts: &str, record: &Value) -> Option<Run> {
    let pairs = |name: &str| -> Option<Vec<(String, String)>> {
        let pair = |p: &Value| Some((p[0].as_str()?.to_owned(), p[1].as_str()?.to_owned()));
        record[name].as_array()?.iter().map(pair).collect()
    };
    let mut run = Run {
        source: Source::of_markdown(path, facts)?,
        settings: pairs("settings")?,
        rows: pairs("facts")?
            .into_iter()
            .find(|(name, _)| name == "rows at the start")?
            .1,
        methods: Vec::new(),
    };
    let sections = record["sections"].as_array()?.iter();
    for table in sections.flat_map(|s| s["tables"].as_array().into_iter().flatten()) {
        run.take(table);
    }
    Some(run).filter(|run| !run.methods.is_empty())
}

impl Run {
    /// Takes the figures of one table of a record.
    fn take(&mut self, table: &Value) {
        let columns: Vec<_> = table["columns"].as_array().into_iter().flatten().collect();
        let by = |key: &str, name: &str| columns.iter().position(|c| c[key] == name);
        let (loss, per_gb) = (by("name", "loss"), by("unit", "tpmC·s/GB"));
        let (seconds, transaction) = (by("name", "duration"), by("name", "transaction"));
        let p95 = by("name", "p95 alone").zip(by("name", "p95 during"));
        for row in table["rows"].as_array().into_iter().flatten() {
            let spread = |at: Option<usize>| -> Option<Spread> {
                let cell = row[at?].as_array()?;
                Some([
                    cell.first()?.as_f64()?,
                    cell.get(1)?.as_f64()?,
                    cell.get(2)?.as_f64()?,
                ])
            };
            if transaction.is_some_and(|at| row[at] != "New-Order") {
                continue;
            }
            let Some(name) = row[0].as_str() else {
                continue;
            };
            let method = self.method(name);
            method.loss = method.loss.or(spread(loss));
            method.per_gb = method.per_gb.or(spread(per_gb));
            method.seconds = method.seconds.or(spread(seconds));
            let p95 = p95.and_then(|(alone, during)| spread(Some(alone)).zip(spread(Some(during))));
            method.p95 = method.p95.or(p95);
        }
    }

    fn method(&mut self, name: &str) -> &mut Method {
        let at = self.methods.iter().position(|m| m.name == name);
        let at = at.unwrap_or_else(|| {
            self.methods.push(Method {
                name: name.to_owned(),
                ..Method::default()
            });
            self.methods.len() - 1
        });
        &mut self.methods[at]
    }

    fn named(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|m| m.name == name)
    }

    fn setting(&self, name: &str) -> &str {
        self.settings
            .iter()
            .find(|(n, _)| n == name)
            .map_or("–", |(_, v)| v)
    }

    fn best_other(&self) -> Option<f64> {
        (METHODS.iter().filter(|(_, _, other)| *other))
            .filter_map(|(name, ..)| Some(self.named(name)?.per_gb?[0]))
            .min_by(f64::total_cmp)
    }

    fn recorded(&self) -> (&Source, String) {
        let windows = format!(
            "runs: {}, windows without backups: {}, with backups: {}",
            self.setting("runs"),
            self.setting("windows alone"),
            self.setting("window with backups")
        );
        (&self.source, windows)
    }

    /// The size of the buffer pool; it is part of the file's name where it is not 2 GiB.
    fn buffer_pool(&self) -> String {
        let part = self
            .source
            .kind
            .split('-')
            .find(|p| p.ends_with('M') && p[..p.len() - 1].parse::<u64>().is_ok());
        part.map_or("2 GiB".to_owned(), |p| format!("{} MiB", &p[..p.len() - 1]))
    }
}

/// The sections about impact.
pub(crate) fn sections(runs: &[Run]) -> Result<String> {
    let named = |rest: &str| -> Vec<&Run> {
        let is_it = |r: &&Run, f: &Flavour| {
            r.source.kind == f.name().to_lowercase() + rest && r.source.flavour == *f
        };
        let of = |f: &Flavour| runs.iter().find(|r| is_it(r, f));
        FLAVOURS.iter().filter_map(of).collect()
    };
    let main = named("");
    let Some(first) = main.first() else {
        return Err(Error::new(
            "no recording in bench/impact is a run of all methods",
        ));
    };
    let mut out = format!(
        "## Impact of a backup\n\nTPC-C runs on the server while backups are taken; {} warehouses ({} of rows), {} connections \
         without think time.\n\nThroughput that the workload loses while a backup runs (mean, least and most of the runs), and seconds that a \
         backup takes:\n\n",
        first.setting("warehouses"),
        first.rows,
        first.setting("connections")
    );
    out.push_str(&loss_table(&main));
    out.push_str("\nThroughput lost for each GB that is backed up, and how many times less that is than with the best other tool (×):\n\n");
    out.push_str(&per_gb_table(&main));
    out.push_str("\n95th percentile of New-Order without a backup → during backups:\n\n");
    out.push_str(&latency_table(&main));
    let _ = write!(
        out,
        "\nServers are as installed but for memory (durable commits, binary log, doublewrite); server, workload and backups share \
         the machine, the replica too.\n\n{}\n",
        sources(main.iter().map(|r| r.recorded()))
    );
    let files = named("-files");
    if !files.is_empty() {
        out.push_str(
            "## Impact of backups that read files\n\nThe same workload, in runs of their own:\n\n",
        );
        out.push_str(&loss_table(&files));
        out.push_str("\n95th percentile of New-Order without a backup → during backups:\n\n");
        out.push_str(&latency_table(&files));
        let _ = write!(
            out,
            "\nThe replica is on the same machine, and its own work is part of the figures alone. Both cores are busy without a backup, so whatever penstock computes is taken \
             from the workload.\n\n{}\n",
            sources(files.iter().map(|r| r.recorded()))
        );
    }
    out.push_str("## Is --max-impact 5% kept?\n\n");
    let mut limited: Vec<&Run> = (runs.iter())
        .filter(|r| r.named(LIMITED).is_some())
        .collect();
    limited.sort_by_key(|r| (r.source.flavour, &r.source.kind));
    out.push_str(&limit_table(&limited));
    let _ = write!(
        out,
        "\nThe control takes no backup in the same runs and shows how much the machine differs from itself.\n\n{}\n",
        sources(limited.iter().map(|r| r.recorded()))
    );
    Ok(out)
}

/// A table with a row for each method and `cells` columns for each run.
fn by_method(
    runs: &[&Run],
    heads: &[&str],
    rows: &[(&str, &str, bool)],
    cells: impl Fn(&Run, Option<&Method>) -> Vec<String>,
) -> String {
    let mut out = String::from("| |");
    for run in runs {
        for head in heads {
            let _ = write!(out, " {}, {head} |", run.source.server);
        }
    }
    let _ = write!(out, "\n|---|{}\n", "--:|".repeat(runs.len() * heads.len()));
    for (name, label, _) in rows {
        if runs.iter().all(|r| r.named(name).is_none()) {
            continue;
        }
        let _ = write!(out, "| {label} |");
        for run in runs {
            for cell in cells(run, run.named(name)) {
                let _ = write!(out, " {cell} |");
            }
        }
        out.push('\n');
    }
    out
}

fn loss_table(runs: &[&Run]) -> String {
    by_method(runs, &["% lost", "s"], &METHODS, |_, m| {
        let seconds = m.and_then(|m| m.seconds).map(|s| s[0]);
        vec![percent(m.and_then(|m| m.loss)), show(seconds)]
    })
}

fn per_gb_table(runs: &[&Run]) -> String {
    by_method(runs, &["tpmC·s/GB", "×"], &METHODS[1..], |run, m| {
        let lost = m.and_then(|m| m.per_gb).map(|s| s[0]);
        let ratio = run.best_other().zip(lost).map(|(best, l)| best / l);
        vec![lost.map_or("–".to_owned(), count), show(ratio)]
    })
}

fn latency_table(runs: &[&Run]) -> String {
    by_method(runs, &["ms"], &METHODS, |_, m| vec![latency(m)])
}

fn latency(m: Option<&Method>) -> String {
    m.and_then(|m| m.p95)
        .map_or("–".to_owned(), |(alone, during)| {
            format!("{:.1} → {:.1}", alone[0], during[0])
        })
}

fn limit_table(runs: &[&Run]) -> String {
    let mut out = String::from(
        "| server | buffer pool | recorded | loss of the control, % | loss with the limit, % | p95 of New-Order, ms | a backup takes, s |\n\
         |---|---|---|--:|--:|--:|--:|\n",
    );
    for run in runs {
        let (control, limited) = (run.named(METHODS[0].0), run.named(LIMITED));
        let seconds = limited.and_then(|m| m.seconds).map(|s| s[0]);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            run.source.server,
            run.buffer_pool(),
            run.source.kind,
            percent(control.and_then(|m| m.loss)),
            percent(limited.and_then(|m| m.loss)),
            latency(limited),
            show(seconds)
        );
    }
    out
}

/// Mean, and least and most where they differ.
fn percent(spread: Option<Spread>) -> String {
    let minus = |v: f64| format!("{v:.1}").replace('-', "−");
    match spread {
        None => "–".to_owned(),
        Some([mean, least, most]) if least == most => minus(mean),
        Some([mean, least, most]) => {
            format!("{} ({} … {})", minus(mean), minus(least), minus(most))
        }
    }
}
