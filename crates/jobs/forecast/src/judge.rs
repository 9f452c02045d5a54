//! Compares a forecast with the run, and keeps what the run took, unless it was not an ordinary one: a run that was held
//! back by a limit, or did a part of its work only, says nothing about the next.

use crate::history::{Earlier, Ran};
use crate::{Forecast, History, Limits, Stage, Work, model};
use run::PhaseTraffic;
use std::collections::BTreeMap;

/// A run that has ended.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// What it had to do, as it was known when it began.
    pub work: Work,
    /// Seconds of all of it.
    pub seconds: f64,
    /// What its phases took, and what passed the rate limiters meanwhile.
    pub phases: Vec<(PhaseTraffic, PhaseTraffic)>,
    /// Seconds that all threads together waited at the rate limiters.
    pub limited: f64,
    /// Bytes of the archive that it wrote.
    pub written: u64,
    /// Why it was not an ordinary run, if it was not.
    pub unusual: Option<&'static str>,
}

/// A forecast beside what the run took.
#[derive(Clone, Debug)]
pub struct Judged {
    /// As it was when the run began.
    pub forecast: Forecast,
    /// Seconds.
    pub took: f64,
    /// How much longer than forecast, as a share.
    pub error: f64,
    /// Why later forecasts do not learn from it, if they do not.
    pub not_learned: Option<String>,
}

/// Waits below this share of a run's time held nothing back.
const HELD_BACK: f64 = 0.02;

impl History {
    /// Compares the forecast of a run, from what was known before it, with what it took, and learns from it.
    pub fn judge(&mut self, ended: &Ended, limits: &Limits) -> Judged {
        let forecast = self.forecast(&ended.work, limits);
        let took = ended.took();
        let mut judged = Judged {
            error: took / forecast.seconds.max(1e-3) - 1.0,
            took,
            forecast,
            not_learned: ended.unusual().map(str::to_owned),
        };
        if judged.not_learned.is_none() {
            judged.not_learned = self.keep(ended.ran(&judged.forecast)).err();
        }
        judged
    }
}

#[cfg(test)]
impl History {
    /// Judges a run, and learns from it also where nothing is kept on disk.
    pub(crate) fn learn(&mut self, ended: &Ended) {
        let before = self.runs().len();
        let judged = self.judge(ended, &Limits::default());
        if self.runs().len() == before {
            self.remember(ended.ran(&judged.forecast));
        }
    }
}

impl Ended {
    /// Seconds, without what another run did meanwhile: a log that is applied to a server that a load has started.
    fn took(&self) -> f64 {
        let foreign = self.phases.iter().filter(|(t, _)| {
            let stage = Stage::of_phase(t.phase);
            stage == Some(Stage::Replay) && self.work.job != crate::Job::Replay
        });
        (self.seconds - foreign.map(|(t, _)| t.seconds).sum::<f64>()).max(1e-3)
    }

    /// As it is kept.
    fn ran(&self, forecast: &Forecast) -> Ran {
        Ran {
            work: self.work.clone(),
            seconds: base::units::rounded(self.took()),
            stages: self.stages(),
            written: self.written,
            forecast: Some(Earlier::of(forecast)),
        }
    }

    /// Seconds of each stage.
    fn stages(&self) -> BTreeMap<Stage, f64> {
        let mut stages = BTreeMap::new();
        for (phase, _) in &self.phases {
            if let Some(stage) = Stage::of_phase(phase.phase) {
                *stages.entry(stage).or_insert(0.0) += phase.seconds;
            }
        }
        if self.work.job != crate::Job::Replay {
            stages.remove(&Stage::Replay);
        }
        // What was expected and did not happen took no time.
        for part in model::parts(&self.work) {
            stages.entry(part.stage).or_insert(0.0);
        }
        let known: f64 = stages.values().sum();
        stages.insert(Stage::Rest, (self.took() - known).max(0.0));
        for seconds in stages.values_mut() {
            *seconds = base::units::rounded(*seconds);
        }
        stages
    }

    /// Why nothing is learned from it.
    fn unusual(&self) -> Option<&'static str> {
        if self.unusual.is_some() {
            return self.unusual;
        }
        let both = || self.phases.iter().flat_map(|(a, b)| [a, b]);
        if both().any(|t| t.limit.is_some() || t.changed) {
            return Some("a rate limit held it back");
        }
        let workers = self.work.workers.max(1) as f64;
        (self.limited > HELD_BACK * self.seconds * workers)
            .then_some("it was paused, or a limit held it back")
    }
}
