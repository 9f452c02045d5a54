//! `warm`: which options go together.

use super::connection::{connects, said_twice};
use super::refused::{first_given, refuse};
use crate::args::warm::{Check, Copy, Status};
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
    said_twice([&*a.source, &*a.target].into_iter(), &a.connection)
}
