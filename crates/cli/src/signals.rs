//! Ctrl-C and SIGTERM: the first asks for a clean stop, the second ends the
//! process at once. A server releases every lock of a connection that closes,
//! and an archive without its last file is visibly not whole, so even the
//! second leaves nothing behind that could be taken for more than it is.

use base::{Cancel, Kind, Observer};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;

/// Raises `cancel` on the first signal and exits on the second.
pub fn watch(cancel: &Cancel, screen: Arc<dyn Observer>) {
    let cancel = cancel.clone();
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if cancel.is_raised() {
                std::process::exit(Kind::Interrupted.exit_code().into());
            }
            cancel.raise();
            screen.note("stopping; once more to end at once".to_owned());
        }
    });
}
