//! What a target holds of an earlier load of the same data, and how a load that fails can be resumed.

use crate::completion::Completion;
use crate::journal::{self, Journal};
use crate::target::{Target, refused};
use base::units::printable;
use base::{Error, Kind, Result};
use run::failure;
use server::quote;

/// Reported of a load that left nothing to do.
const ALREADY_COMPLETE: &str = "the interrupted load had already completed";

/// What is loaded, as far as resuming it is concerned.
pub struct Input {
    /// "archive" or "dump".
    pub word: &'static str,
    /// Schemas that it creates, where that is known.
    pub schemas: Option<usize>,
    /// Its pieces in the journal, in words.
    pub pieces: String,
    /// The journal, quoted and qualified, where it is known before anything is created.
    pub journal: Option<String>,
}

/// What a target holds of an earlier load.
pub enum PreviousLoad {
    /// Nothing, and no object of the input either.
    None,
    /// The journal of an interrupted load, which is resumed.
    Interrupted(Box<Journal>),
    /// Every object, and the completion record of the load that should be resumed.
    Completed(Completion),
}

impl PreviousLoad {
    /// Looks for an earlier load of this input. `comparable`: rows on the target can be compared with it.
    /// `objects` looks for the input's objects where there is no journal: it refuses a target that has
    /// some, unless these are all that the completion record leads to expect; then it returns true.
    pub fn find(
        t: &mut Target<'_>,
        input: &Input,
        (home, identity): (&str, &str),
        comparable: bool,
        objects: impl FnOnce(&mut Target<'_>, Option<&Completion>) -> Result<bool>,
    ) -> Result<PreviousLoad> {
        let journal = Journal::find(t, home, identity)?;
        // A load that stops the server for an offline import has no lock on it meanwhile.
        if let Some(state) = &t.options.tune.state {
            instance::stopped::check_not_in_use(&t.options.target, state)?;
        }
        let completion = Completion::find(t, identity);
        let Some(journal) = journal else {
            // Nobody else can change rows in a managed instance.
            let of_its_own = t.options.managed.is_some() || t.options.is_step;
            let trusted = t.options.resume && (comparable || of_its_own);
            let completion = completion.filter(|_| trusted);
            if objects(t, completion.as_ref())?
                && let Some(completion) = completion
            {
                t.run.observer.note(ALREADY_COMPLETE.to_owned());
                return Ok(PreviousLoad::Completed(completion));
            }
            if t.options.resume && t.options.is_step {
                other_journal(t)?;
            }
            Completion::forget(t, identity);
            if t.options.resume {
                let what = "there was no interrupted load to resume: this is a new load";
                t.run.observer.note(what.to_owned());
                t.report.remarks.push(what.to_owned());
            }
            return Ok(PreviousLoad::None);
        };
        t.report.touched = true;
        t.report.created = journal.created().to_vec();
        t.resuming = t.options.resume;
        // A load that was killed between its completion record and the end of its journal may not find its
        // exceptions again.
        if let Some(completion) = completion {
            t.report.exceptions.extend(completion.exceptions);
        }
        if !t.resuming {
            let what = format!(
                "a load of this {} into this target was interrupted",
                input.word
            );
            return Err(input.partial_load_hint(refused(what), t));
        }
        t.run.observer.note(format!(
            "resuming the interrupted load: {} {} are loaded",
            journal.chunks(),
            input.pieces
        ));
        Ok(PreviousLoad::Interrupted(Box::new(journal)))
    }
}

/// Refuses a target with the journal of another load: what was interrupted there had other names, or was of something else.
fn other_journal(t: &mut Target<'_>) -> Result<()> {
    let sql = format!(
        "SELECT table_schema FROM information_schema.tables WHERE table_name = {} LIMIT 1",
        quote::text(journal::TABLE)
    );
    let rows = t.conn.fetch(sql);
    let rows = rows.map_err(|e| failure::wire("cannot look for journals of loads", e))?;
    let Some(schema) = rows.into_iter().flatten().flatten().next() else {
        return Ok(());
    };
    let journal = printable(&quote::qualified(
        &String::from_utf8_lossy(&schema),
        journal::TABLE,
    ));
    Err(refused(format!(
        "the target has {journal}, the journal of a load that was interrupted, and not of this one"
    ))
    .hint("name the schemas and tables as the interrupted command did (--map-schema, --map-table, the selection); or drop what it created"))
}

impl Input {
    /// Adds to an error what a load that failed in the middle has left, and how to resume or repeat it.
    pub fn partial_load_hint(&self, e: Error, t: &Target<'_>) -> Error {
        let report = &t.report;
        if !report.touched {
            return e;
        }
        let shown = |name: &String| printable(&quote::ident(name));
        let created: Vec<String> = report.created.iter().map(shown).collect();
        let mut hint = e.hint.clone().map(|h| h + "\n").unwrap_or_default();
        hint += &if e.kind == Kind::Differs {
            format!(
                "rows on the target were changed by another session, or the {}'s definitions change them; ",
                self.word
            )
        } else if e.kind == Kind::Usage {
            // What was asked for is not possible, however often it is repeated.
            format!("the target holds empty tables of the {}; ", self.word)
        } else if t.options.feed.is_some() {
            "the target holds a part of the copy, which cannot be resumed: the snapshot that it read is gone; ".to_owned()
        } else if t.options.is_step {
            format!(
                "the target holds a part of the {}: the same command with --resume continues; ",
                self.word
            )
        } else if *t.options.from == store::Location::Stream {
            format!("the target holds a part of the {}; ", self.word)
        } else {
            format!(
                "the target holds a part of the {}: penstock load --resume continues; ",
                self.word
            )
        };
        if t.options.for_replica && t.options.feed.is_none() {
            hint += "penstock replica abort --drop-data removes what was made";
            return Error {
                hint: Some(hint),
                ..e
            };
        }
        // Tables that were there before are not to be dropped.
        let parts = t.options.parts;
        if let Some(journal) = &self.journal
            && (parts.only.is_some() || !parts.definitions)
        {
            hint += &format!("to give it up, drop its journal, {}", printable(journal));
            return Error {
                hint: Some(hint),
                ..e
            };
        }
        hint += "to start again, ";
        if created.is_empty() || self.schemas.is_some_and(|n| created.len() < n) {
            hint += "drop what this load created";
            if let Some(journal) = &self.journal {
                hint += &format!(" (its journal is {})", printable(journal));
            }
            if !created.is_empty() {
                hint += ", or ";
            }
        }
        if !created.is_empty() {
            hint += &format!(
                "drop the schema{} that this load created ({})",
                if created.len() == 1 { "" } else { "s" },
                created.join(", ")
            );
        }
        if report.physical {
            hint += "; after a crash of the server use --resume first: it removes files that DROP leaves";
        }
        Error {
            hint: Some(hint),
            ..e
        }
    }
}
