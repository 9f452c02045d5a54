//! Whether a rate limit leaves enough to measure: looked at before anything is written.
//!
//! Invariant: a pattern whose window would end before its first operation does is left out, by name, not measured as nothing.

use super::Options;
use super::pages::{BLOCK, PAGE};
use super::pattern::Pattern;
use super::random::{Tested, written};
use base::units::{bytes, rate, seconds};
use base::{Error, Kind, Result};
use run::Run;
use std::time::Duration;

/// Refuses a rate that cannot fill the files within the time that is allowed, or at which no pattern moves one operation in a
/// window. Returns the patterns that can be measured.
pub fn check(
    run: &Run,
    options: &Options,
    tested: &[Tested],
    measure: Duration,
) -> Result<Vec<Pattern>> {
    let Some(limit) = run.disk_limiter.rate() else {
        return Ok(options.patterns.clone());
    };
    let takes = |n: u64| n as f64 / limit.max(1) as f64;
    let each = |t: &Tested| written(t.size, &options.patterns);
    let filled: u64 = tested.iter().map(each).sum();
    if let Some(longest) = options.longest
        && takes(filled) > longest.as_secs_f64()
    {
        let what = format!(
            "at --max-rate {} it takes {} to write the files ({}), and --max-time allows {}",
            rate(limit),
            seconds(takes(filled)),
            bytes(filled),
            seconds(longest.as_secs_f64())
        );
        return Err(Error::new(Kind::Limit, what)
            .hint("nothing was written; allow more, or measure with less: --size"));
    }
    let slow = |p: &&Pattern| takes(moved(**p)) > measure.as_secs_f64();
    let (slow, fast): (Vec<&Pattern>, Vec<&Pattern>) = options.patterns.iter().partition(slow);
    let Some(pattern) = slow.first().filter(|_| fast.is_empty()) else {
        return Ok(fast.into_iter().copied().collect());
    };
    let what = format!(
        "at --max-rate {} one operation of \"{pattern}\" ({}) takes {}, and each measurement {}: nothing could be measured",
        rate(limit),
        bytes(moved(**pattern)),
        seconds(takes(moved(**pattern))),
        seconds(measure.as_secs_f64())
    );
    Err(Error::new(Kind::Limit, what)
        .hint("nothing was written; allow a higher rate, more time (--measure, --max-time), or choose others with --pattern"))
}

/// Bytes that one operation of a pattern moves.
fn moved(pattern: Pattern) -> u64 {
    let n = match pattern {
        Pattern::Append | Pattern::Preallocated | Pattern::Rewrite | Pattern::Read => BLOCK,
        Pattern::RandomRead(depth) | Pattern::RandomWrite(depth) => PAGE * depth,
        Pattern::Commit(_) | Pattern::CommitFsync => 4 << 10,
        Pattern::Doublewrite => PAGE * super::doublewrite::BATCH * 2,
        Pattern::SmallFiles | Pattern::Mixed => PAGE,
    };
    n as u64
}
