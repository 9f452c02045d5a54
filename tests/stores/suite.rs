//! The suite of `store` against each place.
//!
//! Credentials come from the environment, as for the program, and a process cannot change its own safely: so
//! each place is tried in a process of its own, which runs the one test here that is ignored otherwise.

use super::{Access, azure_access, azurite, s3, s3_access, sshd};
use std::ffi::OsString;
use std::process::Command;
use testkit::stores::{Faulty, Maker};

/// Runs the suite in the place that `PENSTOCK_TEST_PLACE` names.
#[test]
#[ignore = "run by the tests below, each with a place"]
fn in_the_named_place() {
    let named: OsString = std::env::var_os("PENSTOCK_TEST_PLACE").expect("a place");
    let place = store::Location::parse(&named).expect("a place");
    let count = std::cell::Cell::new(0);
    store::conformance(|| {
        count.set(count.get() + 1);
        let place = place.join(&count.get().to_string());
        place.create(None).expect("an empty place")
    });
}

/// Runs the suite in a process with these variables; returns whether it passed, and what it said.
pub fn passes(place: &str, access: &Access) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([
        "--exact",
        "stores::suite::in_the_named_place",
        "--ignored",
        "--nocapture",
    ]);
    command.env("PENSTOCK_TEST_PLACE", place);
    command.envs(access.iter().map(|(name, value)| (name, value.as_str())));
    let done = command.output().expect("the suite runs");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    (done.status.success() && said.contains("1 passed"), said)
}

#[track_caller]
fn conforms(place: &str, access: &Access) {
    let (passed, said) = passes(place, access);
    assert!(passed, "{place}\n{said}");
}

#[test]
fn ssh_conforms() {
    let Some(sshd) = sshd() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    conforms(
        &sshd.url(&dir.path().join("x")),
        &vec![("PENSTOCK_SSH", sshd.ssh())],
    );
}

#[test]
fn s3_of_moto_conforms() {
    if let Some(s3) = s3(Maker::Moto) {
        let apart = Faulty::start(s3.port())
            .expect("a proxy that keeps those apart who create the same object");
        conforms(&apart.url("suite"), &s3_access());
    }
}

#[test]
fn s3_of_s3s_conforms() {
    if let Some(s3) = s3(Maker::S3s) {
        let apart = Faulty::start(s3.port())
            .expect("a proxy that keeps those apart who create the same object");
        conforms(&apart.url("suite"), &s3_access());
    }
}

#[test]
fn azure_conforms() {
    if let Some(azurite) = azurite() {
        conforms(&azurite.url("suite"), &azure_access());
    }
}
