//! Which code measures which pattern.

use super::figures::Measured;
use super::pattern::Pattern;
use super::random::Tested;
use super::window::Window;
use super::{commits, doublewrite, mixed, sequential, small_files};
use base::Result;
use run::Run;

/// One measurement of a pattern.
pub fn measure(
    pattern: Pattern,
    run: &Run,
    tested: &mut Tested,
    window: Window,
) -> Result<Measured> {
    match pattern {
        Pattern::Append => sequential::new_file(run, tested, window, false),
        Pattern::Preallocated => sequential::new_file(run, tested, window, true),
        Pattern::Rewrite => sequential::rewrite(run, tested, window),
        Pattern::Read => sequential::read(run, tested, window),
        Pattern::RandomRead(depth) => tested.random_read(run, depth, window),
        Pattern::RandomWrite(depth) => tested.random_write(run, depth, window),
        Pattern::Commit(sessions) => commits::fdatasync(run, tested, sessions, window),
        Pattern::CommitFsync => commits::fsync(run, tested, window),
        Pattern::Doublewrite => doublewrite::measure(run, tested, window),
        Pattern::SmallFiles => small_files::measure(run, tested, window),
        Pattern::Mixed => mixed::measure(run, tested, window),
    }
}
