//! Words and figures that the screen and the record of a run share.

use base::units::count;
use run::bottleneck::Suggestion;

/// One suggestion with its gain, for people.
pub fn suggestion(s: &Suggestion) -> String {
    let gain = (s.gain * 100.0).round();
    format!(
        "{}: up to {gain} % less time for the rows ({})",
        s.what, s.why
    )
}

/// "1 table", "16 tables".
pub fn things(n: u64, word: &str) -> String {
    format!("{} {word}{}", count(n), if n == 1 { "" } else { "s" })
}
