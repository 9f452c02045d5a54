//! Records of runs, and the HTML page made of them.
//!
//! `figures` has the words and figures that the screen and the record share; `record` is a run as data,
//! written while it runs; `html` draws records. None of them judges a run: the job has done that.

pub mod figures;
pub mod html;
pub mod record;
