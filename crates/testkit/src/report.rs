//! Recorded runs as a table for people and as JSON.
//!
//! The input is what `./dev bench` writes while it measures, one record a line,
//! fields separated by tabs:
//!
//! ```text
//! fact   NAME VALUE                                 about the machine and the run
//! run    GROUP NAME WALL CPU PEAK_KIB SERVER_CPU    one measured run (seconds; - for unknown)
//! failed GROUP NAME WHY                             a run that failed, of another tool
//! bytes  GROUP BYTES                                row bytes moved by each run of the group
//! goal   GROUP NAME FACTOR OTHER                    NAME should take at most FACTOR x OTHER's time
//! ```

use crate::args::Args;
use serde_json::{Value, json};
use std::fmt::Write;
use testkit::{Error, Result};

/// Everything read from a file of runs, in its order.
#[derive(Debug, Default)]
struct Runs {
    facts: Vec<(String, String)>,
    groups: Vec<Group>,
}

#[derive(Debug, Default)]
struct Group {
    name: String,
    bytes: Option<f64>,
    entries: Vec<Entry>,
    goals: Vec<Goal>,
}

/// One way of doing the group's work, and its runs.
#[derive(Debug, Default)]
struct Entry {
    name: String,
    wall: Vec<f64>,
    cpu: Vec<f64>,
    peak: Vec<f64>,
    server: Vec<f64>,
    /// What it said when it failed.
    failed: Option<String>,
}

#[derive(Debug)]
struct Goal {
    name: String,
    factor: f64,
    other: String,
}

/// `testkit report`.
pub(crate) fn write(args: &Args) -> Result<()> {
    let input = args.needed("runs")?;
    let text = std::fs::read_to_string(input).map_err(Error::doing(input))?;
    let runs = Runs::parse(&text)?;
    let markdown = runs.markdown();
    if let Some(file) = args.text("markdown") {
        std::fs::write(file, &markdown).map_err(Error::doing(file))?;
    }
    if let Some(file) = args.text("json") {
        let json = serde_json::to_string_pretty(&runs.json()).map_err(Error::doing(file))?;
        std::fs::write(file, json + "\n").map_err(Error::doing(file))?;
    }
    print!("{markdown}");
    Ok(())
}

impl Runs {
    fn parse(text: &str) -> Result<Runs> {
        let mut runs = Runs::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |text: &str| {
                text.parse::<f64>()
                    .map_err(|_| Error(format!("no number: {text:?} in {line:?}")))
            };
            match fields[..] {
                ["fact", name, value] => runs.facts.push((name.to_owned(), value.to_owned())),
                ["bytes", group, bytes] => runs.group(group).bytes = Some(number(bytes)?),
                ["run", group, name, wall, cpu, peak, server] => {
                    let entry = runs.group(group).entry(name);
                    let lists = [
                        &mut entry.wall,
                        &mut entry.cpu,
                        &mut entry.peak,
                        &mut entry.server,
                    ];
                    for (list, text) in lists.into_iter().zip([wall, cpu, peak, server]) {
                        if text != "-" {
                            list.push(number(text)?);
                        }
                    }
                }
                ["failed", group, name, why] => {
                    runs.group(group).entry(name).failed = Some(why.to_owned());
                }
                ["goal", group, name, factor, other] => {
                    let goal = Goal {
                        name: name.to_owned(),
                        factor: number(factor)?,
                        other: other.to_owned(),
                    };
                    runs.group(group).goals.push(goal);
                }
                _ => return Err(Error(format!("not a record: {line:?}"))),
            }
        }
        Ok(runs)
    }

    fn group(&mut self, name: &str) -> &mut Group {
        let at = self
            .groups
            .iter()
            .position(|g| g.name == name)
            .unwrap_or_else(|| {
                self.groups.push(Group {
                    name: name.to_owned(),
                    ..Group::default()
                });
                self.groups.len() - 1
            });
        &mut self.groups[at]
    }

    fn markdown(&self) -> String {
        let mut out = String::from("# Measured runs\n\n");
        for (name, value) in &self.facts {
            let _ = writeln!(out, "- {name}: {value}");
        }
        for group in &self.groups {
            group.markdown(&mut out);
        }
        out
    }

    fn json(&self) -> Value {
        let facts: serde_json::Map<_, _> = self
            .facts
            .iter()
            .map(|(n, v)| (n.clone(), json!(v)))
            .collect();
        json!({ "facts": facts, "groups": self.groups.iter().map(Group::json).collect::<Vec<_>>() })
    }
}

impl Group {
    fn entry(&mut self, name: &str) -> &mut Entry {
        let at = self
            .entries
            .iter()
            .position(|e| e.name == name)
            .unwrap_or_else(|| {
                self.entries.push(Entry {
                    name: name.to_owned(),
                    ..Entry::default()
                });
                self.entries.len() - 1
            });
        &mut self.entries[at]
    }

    fn wall(&self, name: &str) -> Option<f64> {
        self.entries
            .iter()
            .find(|e| e.name == name)
            .and_then(|e| median(&e.wall))
    }

    fn markdown(&self, out: &mut String) {
        let limit = self.entries.first().and_then(|e| median(&e.wall));
        let first = self.entries.first().map_or("", |e| &e.name);
        let width = self
            .entries
            .iter()
            .map(|e| e.name.chars().count())
            .max()
            .unwrap_or(0);
        let _ = writeln!(out, "\n## {}\n", self.name);
        let _ = writeln!(
            out,
            "Medians; the last column is the time as a multiple of \"{first}\".\n"
        );
        let _ = writeln!(
            out,
            "| {:width$} | wall s |  MB/s | tool CPU s | server CPU s | peak MiB | runs |     × |",
            ""
        );
        let _ = writeln!(
            out,
            "|{:-<1$}|-------:|------:|-----------:|-------------:|---------:|-----:|------:|",
            "",
            width + 2
        );
        for entry in &self.entries {
            let wall = median(&entry.wall);
            let speed = wall.zip(self.bytes).map(|(w, b)| b / w / 1e6);
            let ratio = wall.zip(limit).map(|(w, l)| w / l);
            let _ = writeln!(
                out,
                "| {:width$} | {:>6} | {:>5} | {:>10} | {:>12} | {:>8} | {:>4} | {:>5} |",
                // A pipe in a name would end the table's cell.
                entry.name.replace('|', "\\|"),
                show(wall, 2),
                show(speed, 0),
                show(median(&entry.cpu), 2),
                show(median(&entry.server), 2),
                show(median(&entry.peak).map(|k| k / 1024.0), 0),
                entry.wall.len(),
                show(ratio, 2),
            );
        }
        let failed = |e: &Entry| Some(format!("- {} failed: {}", e.name, e.failed.as_ref()?));
        let failed: Vec<String> = self.entries.iter().filter_map(failed).collect();
        if !self.goals.is_empty() || !failed.is_empty() {
            out.push('\n');
        }
        for line in failed {
            let _ = writeln!(out, "{line}");
        }
        for goal in &self.goals {
            let Some(ratio) = self.ratio(goal) else {
                continue;
            };
            let verdict = if ratio <= goal.factor {
                "goal met"
            } else {
                "goal NOT met"
            };
            let Goal {
                name,
                factor,
                other,
            } = goal;
            let _ = writeln!(
                out,
                "- {verdict}: {name} took {ratio:.2} × {other}; the goal is at most {factor:.2}"
            );
        }
    }

    fn ratio(&self, goal: &Goal) -> Option<f64> {
        Some(self.wall(&goal.name)? / self.wall(&goal.other)?)
    }

    fn json(&self) -> Value {
        let entry = |e: &Entry| {
            json!({
                "name": e.name,
                "wall_s": e.wall, "wall_s_median": median(&e.wall),
                "tool_cpu_s": e.cpu, "server_cpu_s": e.server, "peak_kib": e.peak, "failed": e.failed,
            })
        };
        let goal = |g: &Goal| {
            let ratio = self.ratio(g);
            json!({
                "name": g.name, "other": g.other, "at_most": g.factor, "ratio": ratio,
                "met": ratio.map(|ratio| ratio <= g.factor),
            })
        };
        json!({
            "name": self.name,
            "row_bytes": self.bytes,
            "entries": self.entries.iter().map(entry).collect::<Vec<_>>(),
            "goals": self.goals.iter().map(goal).collect::<Vec<_>>(),
        })
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

fn show(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |v| format!("{v:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: &str = "fact\tcores\t2\n\
        bytes\tdump\t1000000\n\
        run\tdump\tlimit\t1.0\t0.5\t2048\t1.0\n\
        run\tdump\tpenstock\t1.4\t1\t4096\t-\n\
        run\tdump\tpenstock\t1.2\t1\t4096\t-\n\
        run\tdump\tpenstock\t1.1\t1\t4096\t-\n\
        failed\tdump\tother\tSegmentation fault\n\
        goal\tdump\tpenstock\t1.25\tlimit\n";

    #[test]
    fn medians_ratios_and_goals() {
        let runs = Runs::parse(RUNS).expect("good records");
        let text = runs.markdown();
        assert!(text.contains("- cores: 2"), "{text}");
        assert!(
            text.contains("goal met: penstock took 1.20 × limit; the goal is at most 1.25"),
            "{text}"
        );
        assert!(
            text.contains("- other failed: Segmentation fault"),
            "{text}"
        );
        let json = runs.json();
        assert_eq!(json["groups"][0]["entries"][1]["wall_s_median"], 1.2);
        assert_eq!(json["groups"][0]["goals"][0]["met"], true);
    }

    #[test]
    fn a_line_that_is_no_record_is_an_error() {
        assert!(Runs::parse("run\tdump\tx\n").is_err());
        assert!(Runs::parse("run\tdump\tx\tfast\t-\t-\t-\n").is_err());
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
