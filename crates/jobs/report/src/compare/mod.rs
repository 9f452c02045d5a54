//! Two runs of one benchmark beside each other: what differs, and whether that is more than noise.
//!
//! `sides` reads records of penstock and what `./dev bench` records; `significance` judges two lists of runs.
//! Invariants: results of different benchmarks are refused; circumstances that differ are named; where there are too few
//! runs, that is said. What this does not do: look for reasons.

mod sides;
mod significance;

pub use sides::{Sample, Side};
pub use significance::{FEWEST, Verdict};

use base::{Error, Kind, Result};
use std::path::PathBuf;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Each a record or a recording, or a directory with several of them, which count as runs.
    pub sides: [PathBuf; 2],
}

/// A figure on both sides.
#[derive(Clone, Debug)]
pub struct Line {
    /// The first side's.
    pub a: Sample,
    /// The second side's.
    pub b: Sample,
    /// How much more the second is, as a share of the first.
    pub change: Option<f64>,
    /// What that means.
    pub verdict: Verdict,
}

impl Line {
    /// Whether the difference is an improvement, where it is one of the two.
    pub fn improves(&self) -> Option<bool> {
        use crate::record::Better;
        let change = self.change.filter(|c| *c != 0.0)?;
        match self.a.better {
            Better::Higher => Some(change > 0.0),
            Better::Lower => Some(change < 0.0),
            Better::Neither => None,
        }
    }
}

/// What was found out.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The two.
    pub sides: [Side; 2],
    /// Figures that both have.
    pub lines: Vec<Line>,
    /// Figures of one side only.
    pub alone: [Vec<String>; 2],
    /// Circumstances that differ: name, and value on each side; nothing where it was not recorded.
    pub differing: Vec<(String, [Option<String>; 2])>,
}

/// Compares.
pub fn run(options: &Options) -> Result<Summary> {
    let [a, b] = &options.sides;
    let mut sides = [Side::read(a)?, Side::read(b)?];
    if sides[0].benchmark != sides[1].benchmark {
        let what = format!(
            "different benchmarks cannot be compared: {} is of {}, {} of {}",
            sides[0].name, sides[0].benchmark, sides[1].name, sides[1].benchmark
        );
        return Err(Error::new(Kind::Usage, what).hint("name two runs of the same benchmark"));
    }
    let moved = sides::align(&mut sides);
    let [a, b] = &sides;
    let mut lines = Vec::new();
    let mut alone = [Vec::new(), Vec::new()];
    for x in &a.samples {
        match b
            .samples
            .iter()
            .find(|y| y.name == x.name && y.unit == x.unit)
        {
            Some(y) => lines.push(Line {
                a: x.clone(),
                b: y.clone(),
                change: (x.middle != 0.0).then(|| (y.middle - x.middle) / x.middle.abs()),
                verdict: significance::judge(x, y),
            }),
            None => alone[0].push(x.name.clone()),
        }
    }
    let unknown = |y: &&Sample| {
        !a.samples
            .iter()
            .any(|x| x.name == y.name && x.unit == y.unit)
    };
    alone[1].extend(b.samples.iter().filter(unknown).map(|y| y.name.clone()));
    if lines.is_empty() {
        let what = format!("{} and {} have no figure in common", a.name, b.name);
        return Err(Error::new(Kind::Usage, what).hint(
            "name two runs of the same benchmark, with the same patterns, methods or groups",
        ));
    }
    let mut differing: Vec<_> = moved.into_iter().collect();
    let mut names: Vec<&String> = a
        .circumstances
        .keys()
        .chain(b.circumstances.keys())
        .collect();
    names.sort();
    names.dedup();
    for name in names {
        let of = |s: &Side| s.circumstances.get(name).cloned();
        let values = [of(a), of(b)];
        if values[0] != values[1] {
            differing.push((name.clone(), values));
        }
    }
    Ok(Summary {
        sides,
        lines,
        alone,
        differing,
    })
}
