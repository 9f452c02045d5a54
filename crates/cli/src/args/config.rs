//! `penstock config`.

use clap::{Args, Subcommand};

/// What to do with the configuration.
#[derive(Subcommand, Debug)]
pub enum Config {
    /// Read it, and say what it means, without connecting to anything
    Check(Check),
}

/// `penstock config check`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  penstock config check
  penstock config check --config ./penstock.toml

Exit codes: 0 it can be used, 2 it cannot: the message names the line; the others are listed by
penstock --help")]
pub struct Check {}
