//! The summary of a run, its record, and the HTML page made of records.
//!
//! `summary` describes the end of a run once, for the screen, for programs and for the record; `record`
//! is a run as data, written while it runs; `transactions` are those of a binary log, one after the other; `html` draws records; `compare` puts two of a benchmark beside each other; `metrics` are for monitoring. None of them judges a run: the job
//! has done that.

pub mod compare;
pub mod html;
pub mod metrics;
pub mod record;
pub mod summary;
pub mod transactions;
