//! Runs of a method put together: means with their spread, and what a backup
//! cost for each byte of it.

use super::{Measured, Method};

/// Several runs' results: mean, least, most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Least.
    pub low: f64,
    /// Most.
    pub high: f64,
}

impl Spread {
    /// Of these; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let low = values.iter().copied().reduce(f64::min)?;
        Some(Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low,
            high: values.iter().copied().reduce(f64::max)?,
        })
    }
}

/// A method with its runs.
#[derive(Clone, Debug)]
pub struct MethodResult {
    /// Which.
    pub method: Method,
    /// Its runs, in order.
    pub runs: Vec<Measured>,
    /// Bytes of rows that one backup holds.
    bytes: u64,
}

impl MethodResult {
    /// Of these runs; one backup holds `bytes` of rows.
    pub fn new(method: Method, runs: Vec<Measured>, bytes: u64) -> MethodResult {
        MethodResult {
            method,
            runs,
            bytes,
        }
    }

    /// One figure of every run that has it.
    pub fn each(&self, figure: impl Fn(&Measured) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter_map(figure).collect()
    }

    /// tpmC alone, right before and right after.
    pub fn alone(&self) -> Vec<f64> {
        self.each(|m| Some(m.alone.figures.tpmc()))
    }

    /// tpmC while backups were taken.
    pub fn during(&self) -> Vec<f64> {
        self.each(|m| Some(m.during.figures.tpmc()))
    }

    /// What was lost of tpmC, as a share of that alone; negative if it was more.
    pub fn loss(&self) -> Vec<f64> {
        self.each(loss)
    }

    /// tpmC times seconds lost for each gigabyte of rows that was backed up: what a backup costs,
    /// however fast it was.
    pub fn price(&self) -> Vec<f64> {
        self.each(|m| {
            let backed_up = m.taken.count()? * self.bytes as f64 / 1e9;
            let lost = m.alone.figures.tpmc() - m.during.figures.tpmc();
            (backed_up > 0.0).then(|| lost * m.during.figures.length.as_secs_f64() / backed_up)
        })
    }

    /// Seconds that one backup took.
    pub fn duration(&self) -> Vec<f64> {
        self.each(|m| m.taken.duration())
    }

    /// Bytes that one backup took on disk.
    pub fn size(&self) -> Vec<f64> {
        self.each(|m| m.taken.size().map(|n| n as f64))
    }
}

fn loss(m: &Measured) -> Option<f64> {
    let alone = m.alone.figures.tpmc();
    (alone > 0.0).then(|| 1.0 - m.during.figures.tpmc() / alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_mean_least_and_most() {
        assert_eq!(Spread::of(&[]), None);
        let s = Spread::of(&[2.0, 6.0, 1.0]).unwrap();
        assert_eq!((s.mean, s.low, s.high), (3.0, 1.0, 6.0));
    }
}
