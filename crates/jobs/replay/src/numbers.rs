//! The numbers with which servers name themselves, made up for one replay.

use base::{Error, Kind, Result};
use wire::serve::Account;

/// Two different numbers of servers, of which neither is likely in any log.
pub(crate) fn two() -> Result<(u32, u32)> {
    let account = Account::random()
        .map_err(|e| Error::new(Kind::Failed, format!("no random numbers: {e}")))?;
    let mut numbers = [0u32; 2];
    for (number, text) in numbers
        .iter_mut()
        .zip(account.password.reveal().as_bytes().chunks(16))
    {
        for b in text {
            *number = number.rotate_left(5) ^ u32::from(*b);
        }
        // Numbers of real servers are small or made of addresses; these are between 2^30 and 2^31.
        *number = *number >> 2 | 1 << 30;
    }
    let [a, b] = numbers;
    Ok((a, if a == b { b ^ 1 } else { b }))
}

/// A UUID that is no server's.
pub(crate) fn uuid(number: u32) -> String {
    format!("{number:08x}-0000-4000-8000-{:012x}", std::process::id())
}
