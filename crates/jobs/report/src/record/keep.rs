//! Runs a job and writes its record, however the job ends.

use super::{Outcome, Place, Record, Recorder, State};
use crate::summary::Summary;
use base::{Error, Kind, Result};
use run::Run;
use std::path::Path;

/// What a job returned, and whether its record was written.
#[derive(Debug)]
pub struct Kept<T> {
    /// What the job returned.
    pub done: T,
    /// The same, described.
    pub summary: Summary,
    /// Why the wanted record was not written.
    pub lost: Option<Error>,
}

/// Runs a job; with a file, writes the record of the run into it, also if the job failed or was stopped.
///
/// `begins` makes the record before the job, `describe` describes what the job returned. Fails before
/// the job begins if the file cannot be written.
pub fn keep<T>(
    run: &Run,
    file: Option<&Path>,
    begins: impl FnOnce() -> Record,
    job: impl FnOnce(&Run) -> Result<T>,
    describe: impl FnOnce(&T) -> Summary,
) -> Result<Kept<T>> {
    let Some(file) = file else {
        return job(run).map(|done| Kept {
            summary: describe(&done),
            done,
            lost: None,
        });
    };
    let place = Place::take(file)?;
    let mut record = begins();
    let recorder = Recorder::start(run.observer.clone());
    let outcome = job(&run.with_observer(recorder.clone()));
    record.ends(&recorder);
    match outcome {
        Ok(done) => {
            record.outcome.state = State::Complete;
            let summary = describe(&done);
            summary.record(&mut record);
            if !record.outcome.exceptions.is_empty() && record.outcome.state == State::Complete {
                record.outcome.state = State::Exceptions;
                record.outcome.code = Kind::Exceptions.exit_code();
            }
            let lost = place.write(&record).err();
            Ok(Kept {
                done,
                summary,
                lost,
            })
        }
        Err(e) => {
            record.fails(&e);
            // The job's own error is more important to the user.
            if let Err(lost) = place.write(&record) {
                run.observer
                    .warn(format!("the record of this run was not written: {lost}"));
            }
            Err(e)
        }
    }
}

impl Record {
    /// Adds the recorder's section, as the first, to the record of a completed run.
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
            format!("Stopped on request after {after}, before it was complete.")
        } else {
            format!("Failed after {after}.")
        }];
    }
}
