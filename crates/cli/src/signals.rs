//! Ctrl-C, SIGTERM and a terminal that is closed: the first asks for a clean stop, the second ends the
//! process at once. A server releases every lock of a connection that closes, and an archive without
//! its last file is visibly incomplete, so even the second leaves nothing that could be mistaken for a
//! complete result. While a server is stopped for an offline import, the second has to wait.

use base::{Cancel, Kind, Observer};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;

/// Raises `cancel` on the first signal and exits on the second.
pub fn watch(cancel: &Cancel, screen: Arc<dyn Observer>) {
    let cancel = cancel.clone();
    let mut wanted = vec![SIGINT, SIGTERM];
    if !hangup_is_ignored() {
        wanted.push(SIGHUP);
    }
    let Ok(mut signals) = Signals::new(wanted) else {
        return;
    };
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if cancel.is_raised() {
                if let Some(why) = cancel.exit_delay() {
                    screen.note(why);
                    continue;
                }
                std::process::exit(Kind::Interrupted.exit_code().into());
            }
            cancel.raise();
            screen.note("stopping; press Ctrl-C again to end at once".to_owned());
        }
    });
}

/// Under nohup the signal is ignored: the run continues without its terminal.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    mask.is_some_and(|m| m & (1 << (SIGHUP - 1)) != 0)
}
