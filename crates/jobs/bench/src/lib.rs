//! Loads to measure a server or its disks with, and what is measured.
//!
//! A benchmark is a job like any other: it asks a server for nothing that its
//! options do not name, and leaves the verdict to whoever reads its figures.

pub mod disk;
pub mod impact;
pub mod tpcc;
