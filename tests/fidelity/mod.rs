//! What is loaded is what was dumped: values, definitions and programs, each by dump, offline
//! verify, load, the servers' own checksums, SHOW CREATE, and a comparison of both servers that
//! finds one changed value.

mod definitions;
mod exceptions;
mod generated;
mod matrix;
mod numbers;
mod objects;
mod tables;
mod text;
mod values;

use crate::kit::fixtures::fixture;
use crate::kit::{COUNT, Pair, both};
