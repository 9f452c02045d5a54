//! Writes the man pages of penstock and its commands into a directory, made from the definitions of
//! the command line: `./dev man`. An example, so that the program itself carries no generator.

#![allow(
    dead_code,
    reason = "only the definitions are used here, not the values"
)]

#[path = "../src/args/mod.rs"]
mod args;

use clap::CommandFactory;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let directory = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("target/man"), PathBuf::from);
    std::fs::create_dir_all(&directory)?;
    clap_mangen::generate_to(args::Cli::command(), directory)
}
