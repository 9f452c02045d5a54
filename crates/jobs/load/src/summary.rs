//! The summary of a load, made from what its steps recorded.

use crate::from_archive::Treated;
use crate::load_report::{AccountsMade, Analyzed, BatchSize, Chosen, HistogramsMade};
use crate::tablespace;
use crate::target::Target;
use archive::manifest::{Position, Source};
use encryption::Place;
use instance::{managed, tune};
use run::bottleneck;
use std::path::PathBuf;
use store::Location;
use verify::Comparison;

/// What was loaded.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The archive, in words.
    pub archive: String,
    /// The target, in words.
    pub target: String,
    /// Schemas.
    pub schemas: u64,
    /// Tables.
    pub tables: u64,
    /// Views.
    pub views: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of rows that this run loaded.
    pub raw_bytes: u64,
    /// Bytes of rows that an interrupted load had loaded before.
    pub already_loaded_bytes: u64,
    /// The whole run, in seconds.
    pub seconds: f64,
    /// Loading rows, in seconds.
    pub rows_seconds: f64,
    /// Connections that loaded.
    pub threads: usize,
    /// The comparison at the end, unless it was switched off.
    pub verified: Option<Comparison>,
    /// What limited the speed of the rows, if they took long enough to measure.
    pub bottleneck: Option<bottleneck::Report>,
    /// Which tables were imported as tablespaces, and which were loaded by SQL.
    pub import: tablespace::ImportSummary,
    /// Tables of which not all rows were wanted.
    pub chosen: Vec<Chosen>,
    /// Batch sizes that were measured, of tables that were big enough for it.
    pub batch_sizes: Vec<BatchSize>,
    /// Whether the rows came from the source itself, and not from an archive.
    pub from_source: bool,
    /// Whether there are digests to compare with; dumps of other tools have none.
    pub digests: bool,
    /// Changes that the target's version made necessary.
    pub notes: Vec<String>,
    /// What else the user should know; nothing was changed for it.
    pub remarks: Vec<String>,
    /// Objects that could not be created or loaded completely, by name.
    pub exceptions: Vec<String>,
    /// What the archive lacks: the exceptions of its dump. They are not exceptions of this load.
    pub dumped_with: Vec<String>,
    /// The flavour of the target; nothing if nothing was loaded.
    pub flavour: Option<server::Flavour>,
    /// The place of the dump in the binary logs of its source, and that source, if the archive says it.
    pub source: Option<(Position, Source)>,
    /// Accounts that are in the archive and that nobody asked for.
    pub accounts: Vec<String>,
    /// What of the archive was not loaded because its kind was not wanted, in words.
    pub left_out: Vec<String>,
    /// What the target had, and what was done with it.
    pub existing: Treated,
    /// What alone was added to a target that has the rest.
    pub only: Option<crate::Only>,
    /// How many objects of each kind were added to it.
    pub made: Vec<(&'static str, u64)>,
    /// Whether definitions alone were loaded.
    pub without_rows: bool,
    /// What came of the accounts, if they were asked for.
    pub accounts_made: Option<AccountsMade>,
    /// The statistics that were taken at the end, if they were asked for.
    pub analyzed: Option<Analyzed>,
    /// The histograms that were made, if the source had any.
    pub histograms: Option<HistogramsMade>,
    /// The statement that made the GTIDs of the archive known to the target, or why none was needed.
    pub gtids: Option<String>,
    /// Whether the archive has accounts.
    pub has_accounts: bool,
    /// Tables whose rows were counted and not compared, because they are in a dialect that is not decoded.
    pub not_compared: Vec<String>,
    /// Statements of a script that were skipped, each; `exceptions` has them in groups.
    pub skipped_statements: Vec<String>,
    /// Settings of the server that were changed for the load, and put back.
    pub tuning: tune::Report,
    /// The data directory that was initialized for the load.
    pub managed: Option<managed::Summary>,
    /// Whether there was nothing to do: the interrupted load had already completed.
    pub already_complete: bool,
    /// Time that all threads together waited for the network to the archive, if there is one.
    pub link_seconds: Option<f64>,
    /// What there was to do, as it was known when the load began; not of a load that continued another, or of a dump of another tool.
    pub work: Option<forecast::Work>,
    /// The completion record, for [`Summary::acknowledged`].
    pub completion: Option<PathBuf>,
}

impl Summary {
    /// The summary of a load as far as the target and its report know it; the caller adds the rest. The
    /// durations are those of the caller too: only it knows when everything is done.
    pub(crate) fn of(target: Target<'_>, tuning: tune::Report) -> Summary {
        let described = target.described();
        let mut report = target.report;
        report
            .exceptions
            .extend(tuning.not_reverted.iter().cloned());
        report.notes.sort();
        report.notes.dedup();
        report.remarks.sort();
        report.remarks.dedup();
        Summary {
            archive: display_name(&target.options.from),
            target: described,
            flavour: Some(target.id.flavour),
            threads: target.options.threads,
            chosen: report.chosen,
            batch_sizes: report.batch_sizes,
            notes: report.notes,
            remarks: report.remarks,
            exceptions: report.exceptions,
            accounts_made: report.accounts,
            analyzed: report.analyzed,
            histograms: report.histograms,
            gtids: report.gtids,
            made: report.made.into_iter().collect(),
            tuning,
            ..Summary::default()
        }
    }

    /// The caller has reported the load's end to the user: a later `--resume` does not need the completion
    /// record.
    pub fn acknowledged(&self) {
        if let Some(path) = &self.completion {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What is loaded from, for the user.
pub(crate) fn display_name(from: &Place) -> String {
    if **from == Location::Stream {
        return "standard input".to_owned();
    }
    from.absolute()
}
