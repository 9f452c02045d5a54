//! `bench`: what is measured.

use super::refused::refuse;
use crate::args::bench::Impact;
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
            measured(|m| matches!(m, Method::Replica { .. })),
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
            Method::Mydumper | Method::Penstock(_) | Method::Replica { .. }
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

/// A time that is measured must not be 0; `options` names the options that say it.
pub fn measured(options: &str, times: &[std::time::Duration]) -> Result<()> {
    if times.iter().any(std::time::Duration::is_zero) {
        let what = format!("there is nothing to measure: {options} is 0");
        return Err(Error::new(Kind::Usage, what));
    }
    Ok(())
}
