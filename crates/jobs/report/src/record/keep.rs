//! Runs a job and keeps its record, whatever becomes of it.

use super::{Outcome, Place, Record, Recorder, State};
use base::{Error, Kind, Result};
use run::Run;
use std::path::Path;

/// What a job returned, and whether its record was written.
#[derive(Debug)]
pub struct Kept<T> {
    /// The job's own summary.
    pub done: T,
    /// Why there is no record of it, though one was wanted.
    pub lost: Option<Error>,
}

/// Runs a job; with a file, writes the record of the run into it, also of one that failed or was stopped.
///
/// `begins` says what is known before, `tell` adds what the job returned.
/// Fails before the job begins if the file cannot be written.
pub fn keep<T>(
    run: &Run,
    file: Option<&Path>,
    begins: impl FnOnce() -> Record,
    job: impl FnOnce(&Run) -> Result<T>,
    tell: impl FnOnce(&mut Record, &T),
) -> Result<Kept<T>> {
    let Some(file) = file else {
        return job(run).map(|done| Kept { done, lost: None });
    };
    let place = Place::take(file)?;
    let mut record = begins();
    let recorder = Recorder::start(run.observer.clone());
    let outcome = job(&run.with_observer(recorder.clone()));
    record.ends(&recorder);
    match outcome {
        Ok(done) => {
            record.outcome.state = State::Complete;
            tell(&mut record, &done);
            if !record.outcome.exceptions.is_empty() && record.outcome.state == State::Complete {
                record.outcome.state = State::Exceptions;
                record.outcome.code = Kind::Exceptions.exit_code();
            }
            let lost = place.write(&record).err();
            Ok(Kept { done, lost })
        }
        Err(e) => {
            record.fails(&e);
            // The job's own error is what the user has to know.
            if let Err(lost) = place.write(&record) {
                run.observer
                    .warn(format!("there is no record of this run: {lost}"));
            }
            Err(e)
        }
    }
}

impl Record {
    /// The run is over: what the recorder saw comes first among the sections.
    pub fn ends(&mut self, recorder: &Recorder) {
        self.seconds = super::samples::millis(recorder.seconds());
        self.end = super::now();
        self.sections.insert(0, recorder.section());
    }

    /// The run ended with this error.
    pub fn fails(&mut self, e: &Error) {
        let stopped = e.kind == Kind::Interrupted;
        self.outcome = Outcome {
            state: if stopped {
                State::Interrupted
            } else {
                State::Failed
            },
            code: e.kind.exit_code(),
            message: e.what.clone(),
            hint: e.hint.clone().unwrap_or_default(),
            exceptions: Vec::new(),
        };
        let after = base::units::seconds(self.seconds);
        self.story = vec![if stopped {
            format!("Stopped on request after {after}; it did not come to its end.")
        } else {
            format!("Failed after {after}.")
        }];
    }
}
