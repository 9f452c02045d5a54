//! Tests that skip because this machine lacks something are counted, and fail where it is required.
//!
//! libtest shows no output of a test that passes. So each skip is also one line in the file that
//! `PENSTOCK_TEST_SKIPS` names, and `./dev test` counts those lines when it ends. What
//! `PENSTOCK_TEST_REQUIRE` lists (`mysql,mariadb,chromium`) must not be missing: then a skip is a
//! failure.
//!
//! This module does not look for servers or programs; its callers do.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Reports that the running test, or a part of it, is skipped because `what` is missing. `what` is
/// one word: a kind of server (see [`crate::Kind::name`]), a program, or `samples`.
///
/// # Panics
/// If `PENSTOCK_TEST_REQUIRE` lists it.
#[track_caller]
#[allow(
    clippy::print_stderr,
    reason = "a skip is also of interest to a person who runs one test with --nocapture"
)]
pub fn skip(what: &str, reason: impl Display) {
    let required = std::env::var("PENSTOCK_TEST_REQUIRE").unwrap_or_default();
    assert!(
        !lists(&required, what),
        "PENSTOCK_TEST_REQUIRE={required}: {what} is missing: {reason}"
    );
    eprintln!("SKIPPED: {reason}");
    if let Some(path) = std::env::var_os("PENSTOCK_TEST_SKIPS").filter(|p| !p.is_empty()) {
        let line = line(&test(), what, &reason.to_string());
        // One write to a file that is open for appending: lines of several processes do not mix.
        let file = File::options().create(true).append(true).open(&path);
        let written = file.and_then(|mut f| f.write_all(line.as_bytes()));
        written.unwrap_or_else(|e| panic!("PENSTOCK_TEST_SKIPS={}: {e}", path.display()));
    }
}

fn lists(required: &str, what: &str) -> bool {
    required.split(',').any(|r| r.trim() == what)
}

/// The name of the running test. libtest names its threads after their tests, but runs a lone one
/// on the main thread.
fn test() -> String {
    static UNNAMED: AtomicU64 = AtomicU64::new(0);
    match std::thread::current().name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => {
            let number = UNNAMED.fetch_add(1, Ordering::Relaxed);
            format!("process {} skip {number}", std::process::id())
        }
    }
}

/// What is missing, why, and the test; each without tabs and line breaks.
fn line(test: &str, what: &str, reason: &str) -> String {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}\t{}\t{}\n", flat(what), flat(reason), flat(test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_whole_words() {
        for (list, what, wanted) in [
            ("mysql,mariadb", "mariadb", true),
            ("mysql, mariadb118", "mariadb118", true),
            ("mariadb118", "mariadb", false),
            ("", "mysql", false),
        ] {
            assert_eq!(lists(list, what), wanted, "{list:?}, {what}");
        }
    }

    #[test]
    fn a_skip_is_one_line_of_three_fields() {
        assert_eq!(
            line("a::b", "mysql", "no\tserver\n  here"),
            "mysql\tno server here\ta::b\n"
        );
    }
}
