//! One side of a comparison, out of files of two formats: records of penstock (`--record`, `run.json`), and what `./dev
//! bench` records (groups of measured commands).

use crate::record::{self, Bars, Better, Kind as Job, Record, State};
use base::units::printable;
use base::{Error, Kind, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A figure of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What it is.
    pub name: String,
    /// Its unit, as in records.
    pub unit: String,
    /// Which direction is an improvement.
    pub better: Better,
    /// The result of each run, where they are known.
    pub runs: Vec<f64>,
    /// How many runs there were.
    pub n: usize,
    /// The median; the mean, where the runs are not known.
    pub middle: f64,
    /// Least.
    pub low: f64,
    /// Most.
    pub high: f64,
}

/// One side.
#[derive(Clone, Debug)]
pub struct Side {
    /// The file, or the directory.
    pub name: String,
    /// Which benchmark.
    pub benchmark: String,
    /// What it was measured on and with, by name.
    pub circumstances: BTreeMap<String, String>,
    /// The figures.
    pub samples: Vec<Sample>,
    /// The only directory of a benchmark of disks, which the names of figures leave out.
    pub(super) only: Option<String>,
}

impl Sample {
    /// Of runs, of which there is at least one.
    pub fn of(name: &str, unit: &str, better: Better, runs: &[f64]) -> Sample {
        let spread = bench::disk::Spread::of(runs);
        Sample {
            name: name.to_owned(),
            unit: unit.to_owned(),
            better,
            runs: runs.to_vec(),
            n: runs.len(),
            middle: spread.map_or(0.0, |s| s.median),
            low: spread.map_or(0.0, |s| s.low),
            high: spread.map_or(0.0, |s| s.high),
        }
    }

    /// With the runs of another file.
    fn and(&mut self, other: Sample) {
        self.n += other.n;
        if self.runs.is_empty() || other.runs.is_empty() {
            self.runs.clear();
            self.middle = f64::midpoint(self.middle, other.middle);
            self.low = self.low.min(other.low);
            self.high = self.high.max(other.high);
        } else {
            self.runs.extend(other.runs);
            *self = Sample::of(&self.name, &self.unit, self.better, &self.runs);
        }
    }
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

impl Side {
    /// A file, or a directory with several.
    pub fn read(path: &Path) -> Result<Side> {
        let files = files(path)?;
        let mut sides = files.iter().map(|f| one(f));
        let mut side = match sides.next() {
            Some(side) => side?,
            None => {
                let what = format!("{} holds no results (*.json)", shown(path));
                return Err(Error::new(Kind::Usage, what)
                    .hint("results are written by --record FILE.json, and by ./dev bench"));
            }
        };
        for more in sides {
            side.join(more?)?;
        }
        side.name = shown(path);
        Ok(side)
    }

    /// Another file's runs are more runs of this side.
    fn join(&mut self, other: Side) -> Result<()> {
        if self.benchmark != other.benchmark {
            let what = format!(
                "{} and {} are of different benchmarks ({} and {}), and runs of one side have to be of one",
                self.name, other.name, self.benchmark, other.benchmark
            );
            return Err(Error::new(Kind::Usage, what).hint("put them into different directories"));
        }
        for (name, value) in other.circumstances {
            let own = self.circumstances.entry(name).or_default();
            if *own != value && !own.split("; ").any(|v| v == value) {
                *own = if own.is_empty() {
                    value
                } else {
                    format!("{own}; {value}")
                };
            }
        }
        for sample in other.samples {
            match self
                .samples
                .iter_mut()
                .find(|s| s.name == sample.name && s.unit == sample.unit)
            {
                Some(own) => own.and(sample),
                None => self.samples.push(sample),
            }
        }
        if self.only != other.only {
            self.only = None;
        }
        Ok(())
    }
}

/// The files of a side: of a directory its run.json, or all that end in .json.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() || path.join(record::NAME).is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let fail = |e: std::io::Error| run::state::storage("list", path, &e);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(fail)? {
        let file = entry.map_err(fail)?.path();
        if file.extension().is_some_and(|e| e == "json") && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn one(path: &Path) -> Result<Side> {
    match recording(path)? {
        Some(json) => of_recording(path, &json),
        None => of_record(path, &record::read(path)?),
    }
}

/// The file, if it is a recording of `./dev bench`.
fn recording(path: &Path) -> Result<Option<Value>> {
    if path.is_dir() {
        return Ok(None);
    }
    let file = record::open(path).map_err(|e| run::state::storage("open", path, &e))?;
    let mut text = Vec::new();
    file.take(record::LARGEST)
        .read_to_end(&mut text)
        .map_err(|e| run::state::storage("read", path, &e))?;
    let json = serde_json::from_slice::<Value>(&text).ok();
    Ok(json.filter(|j| j["groups"].is_array() && j["facts"].is_object()))
}

fn of_recording(path: &Path, json: &Value) -> Result<Side> {
    let mut samples = Vec::new();
    for group in json["groups"].as_array().into_iter().flatten() {
        for entry in group["entries"].as_array().into_iter().flatten() {
            let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
            let name = format!("{}: {}", text(&group["name"]), text(&entry["name"]));
            let runs: Vec<f64> = entry["wall_s"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64)
                .collect();
            if !runs.is_empty() {
                samples.push(Sample::of(&name, "s", Better::Lower, &runs));
            }
        }
    }
    if samples.is_empty() {
        return Err(Error::new(
            Kind::Usage,
            format!("{} holds no measured runs", shown(path)),
        ));
    }
    let facts = json["facts"].as_object().into_iter().flatten();
    // When it was is no circumstance.
    let circumstances = facts
        .filter(|(name, _)| *name != "date")
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    Ok(Side {
        name: shown(path),
        benchmark: "measured commands (./dev bench)".to_owned(),
        circumstances,
        samples,
        only: None,
    })
}

fn of_record(path: &Path, r: &Record) -> Result<Side> {
    let benchmark = match r.kind {
        Job::Disk => "penstock bench disk",
        Job::Impact => "penstock bench impact",
        Job::Tpcc => "penstock bench tpcc run",
        other => {
            let what = format!(
                "{} is a record of penstock {}, and no benchmark",
                shown(path),
                crate::html::kind(other)
            );
            return Err(Error::new(Kind::Usage, what)
                .hint("penstock report A.json B.json --to FILE.html shows any runs side by side"));
        }
    };
    if !matches!(r.outcome.state, State::Complete | State::Exceptions) {
        let what = format!("the run of {} did not complete", shown(path));
        return Err(Error::new(Kind::Usage, what).hint("name a record of one that did"));
    }
    let mut circumstances: BTreeMap<String, String> = r.settings.iter().cloned().collect();
    circumstances.extend(
        r.facts
            .iter()
            .filter(|(name, _)| CIRCUMSTANCES.contains(&name.as_str()))
            .cloned(),
    );
    circumstances.insert("penstock".to_owned(), r.penstock.clone());
    let bars = r.sections.iter().flat_map(|s| &s.bars);
    let mut samples: Vec<Sample> = bars.flat_map(of_bars).collect();
    if samples.is_empty() {
        let judged = r.figures.iter().filter(|f| f.better != Better::Neither);
        samples = judged
            .map(|f| Sample::of(&f.name, &f.unit, f.better, &[f.value]))
            .collect();
    }
    let only = (r.kind == Job::Disk).then(|| only_label(r)).flatten();
    Ok(Side {
        name: shown(path),
        benchmark: benchmark.to_owned(),
        circumstances,
        samples,
        only,
    })
}

/// Facts of a record that are circumstances, and no results.
const CIRCUMSTANCES: [&str; 7] = [
    "machine",
    "server",
    "directory",
    "rate limit",
    "control group",
    "rows at the start",
    "warehouses",
];

/// Bars whose items are runs.
fn of_bars(b: &Bars) -> Vec<Sample> {
    let sample = |item: &record::Bar| {
        let (mean, low, high) = (item.mean?, item.low?, item.high?);
        let name = format!("{}: {}", b.title, item.label);
        Some(match item.runs.as_slice() {
            [] => Sample {
                n: item.n as usize,
                middle: mean,
                low,
                high,
                ..Sample::of(&name, &b.unit, b.better, &[])
            },
            runs => Sample::of(&name, &b.unit, b.better, runs),
        })
    };
    b.items
        .iter()
        .filter(|i| i.n > 0)
        .filter_map(sample)
        .collect()
}

/// The label of all bars, if they have one each, and the same.
fn only_label(r: &Record) -> Option<String> {
    let bars = r.sections.iter().flat_map(|s| &s.bars);
    let mut labels = bars
        .flat_map(|b| &b.items)
        .filter(|i| i.n > 0)
        .map(|i| &i.label);
    let first = labels.next()?;
    labels.all(|l| l == first).then(|| first.clone())
}

/// Where both sides are of one directory each, their figures are the same whatever the directories are called; then it is
/// a circumstance.
pub(super) fn align(sides: &mut [Side; 2]) -> Option<(String, [Option<String>; 2])> {
    let [Some(a), Some(b)] = [sides[0].only.clone(), sides[1].only.clone()] else {
        return None;
    };
    for (side, label) in sides.iter_mut().zip([&a, &b]) {
        let end = format!(": {label}");
        for sample in &mut side.samples {
            if let Some(name) = sample.name.strip_suffix(&end) {
                sample.name = name.to_owned();
            }
        }
        // Its free space is no circumstance.
        side.circumstances.remove("directory");
        side.circumstances.remove("directories");
    }
    (a != b).then(|| ("measured in".to_owned(), [Some(a), Some(b)]))
}
