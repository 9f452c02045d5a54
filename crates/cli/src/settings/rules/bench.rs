//! `bench`: what is measured.

use super::connection::connects;
use super::refused::{first_given, refuse};
use crate::args::bench::{Disk, Impact};
use ::bench::impact::Method;
use base::{Error, Kind, Result};

/// `penstock bench impact`: programs and servers of methods that are not measured.
pub fn impact(a: &Impact, methods: &[Method]) -> Result<()> {
    let measured = |wanted: fn(&Method) -> bool| methods.iter().any(wanted);
    for (given, used, option, method) in [
        (
            a.mysqldump.is_some(),
            measured(|m| matches!(m, Method::Mysqldump)),
            "--mysqldump",
            "mysqldump",
        ),
        (
            a.mydumper.is_some(),
            measured(|m| matches!(m, Method::Mydumper)),
            "--mydumper",
            "mydumper",
        ),
        (
            a.replica.is_some(),
            measured(|m| matches!(m, Method::Replica(_))),
            "--replica",
            "replica",
        ),
    ] {
        if given && !used {
            return refuse(
                format!("{option} is given, and no --method uses it"),
                format!("add --method {method}, or leave it out"),
            );
        }
    }
    let taken = measured(|m| !matches!(m, Method::Alone));
    let threads = measured(|m| {
        matches!(
            m,
            Method::Mydumper | Method::Penstock(_) | Method::Snapshot(_) | Method::Replica(_)
        )
    });
    for (given, used, option, method) in [
        (a.scratch.is_some(), taken, "--scratch", "penstock"),
        (a.longest.is_some(), taken, "--longest", "penstock"),
        (a.threads.is_some(), threads, "--threads", "penstock"),
    ] {
        if given && !used {
            return refuse(
                format!("{option} is for backups, and no --method uses it"),
                format!("add --method {method}, or leave it out"),
            );
        }
    }
    Ok(())
}

/// Bytes, more than which file systems of this day do not take.
const LARGEST_FILE: u64 = 1 << 53;

/// `penstock bench disk`: options of a connection without a server, and of an engine without pages.
pub fn disk(a: &Disk) -> Result<()> {
    if let Some(size) = a.size.filter(|size| *size > LARGEST_FILE) {
        return refuse(
            format!("--size {size} is more than any file can have"),
            "twice the memory of the host is beyond every cache",
        );
    }
    let c = &a.connection;
    let files = first_given(&[
        ("--defaults-file", c.defaults_file.is_some()),
        ("--defaults-extra-file", c.defaults_extra_file.is_some()),
        ("--defaults-group-suffix", c.defaults_group_suffix.is_some()),
        ("--no-defaults", c.no_defaults),
    ]);
    if a.of.is_none()
        && let Some(option) = connects(c).or(files)
    {
        return refuse(
            format!("{option} is about a server, and only directories are named"),
            "name the server with --of mysql://user@localhost/?socket=/path, or leave it out",
        );
    }
    if let Some(size) = a.size.filter(|s| *s < ::bench::disk::SMALLEST) {
        return refuse(
            format!("--size {size} is too small: pages need different places"),
            "name at least 4M; around the caches of a device it takes gigabytes",
        );
    }
    let pages = ["random-read", "random-write", "doublewrite", "mixed"];
    let uses = a.pattern.is_empty() || a.pattern.iter().any(|p| pages.contains(&p.as_str()));
    if !uses && a.engine != crate::args::values::Engine::Auto {
        return refuse(
            "--engine is for pages at a queue depth, and no --pattern has any",
            "add --pattern random-read, or leave it out",
        );
    }
    Ok(())
}

/// A time that is measured must not be 0; `options` names the options that say it.
pub fn measured(options: &str, times: &[std::time::Duration]) -> Result<()> {
    if times.iter().any(std::time::Duration::is_zero) {
        let what = format!("there is nothing to measure: {options} is 0");
        return Err(Error::new(Kind::Usage, what));
    }
    Ok(())
}
