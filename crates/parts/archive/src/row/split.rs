//! Where a row ends in the bytes of a data file: at an LF with an even number
//! of backslashes before it.

use memchr::{memchr_iter, memrchr_iter};

/// The end of the first row in `bytes`, which begins where a row begins: the
/// index after its LF. `None` if the row is not all there.
pub fn row_end(bytes: &[u8]) -> Option<usize> {
    memchr_iter(b'\n', bytes)
        .find(|&at| ends_row(bytes, at))
        .map(|at| at + 1)
}

/// The end of the last whole row in `bytes`, which begins where a row begins;
/// what follows is the beginning of the next one.
pub fn last_row_end(bytes: &[u8]) -> Option<usize> {
    memrchr_iter(b'\n', bytes)
        .find(|&at| ends_row(bytes, at))
        .map(|at| at + 1)
}

#[inline]
fn ends_row(bytes: &[u8], at: usize) -> bool {
    let backslashes = bytes[..at].iter().rev().take_while(|&&b| b == b'\\');
    backslashes.count() % 2 == 0
}
