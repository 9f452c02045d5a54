//! `warm`: which options go together.

use super::connection::{connects, said_twice};
use super::refused::{first_given, refuse};
use crate::args::throttle::Impact;
use crate::args::warm::{Check, Copy, Load, Status};
use base::Result;

/// `penstock warm status` of a file.
pub fn warm_file(a: &Status) -> Result<()> {
    let c = &a.connection;
    let given = first_given(&[
        ("--from", a.from.is_some()),
        ("--defaults-file", c.defaults_file.is_some()),
        ("--defaults-extra-file", c.defaults_extra_file.is_some()),
        ("--defaults-group-suffix", c.defaults_group_suffix.is_some()),
        ("--no-defaults", c.no_defaults),
    ]);
    match given.or_else(|| connects(c)) {
        Some(option) => refuse(
            format!("{option} is about a server, and a file is looked at by itself"),
            "name the server instead of the file, and the file with --from",
        ),
        None => Ok(()),
    }
}

/// `penstock warm check` of two servers.
pub fn warm_check(a: &Check) -> Result<()> {
    match (&a.server, &a.new) {
        (Some(live), Some(new)) => said_twice([&**live, &**new].into_iter(), &a.connection),
        _ => Ok(()),
    }
}

/// `penstock warm load`.
pub fn warm_load(a: &Load) -> Result<()> {
    if a.pages && a.impact.max_impact.is_some() {
        return refuse(
            "--max-impact limits what penstock reads, and with --pages the server loads the pages by itself",
            "leave it out, or load ranges of keys (a file of penstock warm save without --pages)",
        );
    }
    if a.whole_indexes && a.impact.max_impact.is_some() {
        return refuse(
            "--max-impact has statements wait for each other, and with --whole-indexes each of them reads a whole index",
            "leave it out, or load what is hot (--from, a file of penstock warm save)",
        );
    }
    floor(&a.impact, a.max_rate)
}

/// A rate that is never gone below, and one that is never exceeded.
fn floor(impact: &Impact, most: Option<u64>) -> Result<()> {
    match (impact.min_rate, most) {
        (Some(floor), Some(most)) if most < floor => refuse(
            format!("--min-rate is {floor} bytes per second, and --max-rate allows {most}"),
            "lower --min-rate, or raise --max-rate",
        ),
        _ => Ok(()),
    }
}

/// `penstock warm copy`.
pub fn warm_copy(a: &Copy) -> Result<()> {
    if a.source == a.target {
        return refuse(
            format!(
                "{} would be warmed by itself",
                base::units::printable(&a.source)
            ),
            "name another server",
        );
    }
    floor(&a.impact, a.max_rate)?;
    said_twice([&*a.source, &*a.target].into_iter(), &a.connection)
}
