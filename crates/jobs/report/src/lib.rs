//! Records of runs, and the HTML page made of them.
//!
//! `record` is a run as data, written while it runs; `html` draws records. Neither judges a run: what is said
//! about it was said by the job.

pub mod html;
pub mod record;
