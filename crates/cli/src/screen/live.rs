//! The moving display: one line with a bar, redrawn ten times a second, that
//! leaves no trace once a phase is over.

use super::Phase;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write;
use std::sync::Mutex;

/// At most one bar on standard error; none between phases.
#[derive(Default)]
pub struct Live {
    bar: Mutex<Option<ProgressBar>>,
}

impl Live {
    /// Draws how the phase stands.
    pub fn show(&self, phase: &Phase) {
        let (done, all) = (
            phase.counters.bytes.get(),
            phase.counters.bytes_expected.get(),
        );
        let mut slot = self.bar.lock().unwrap_or_else(|e| e.into_inner());
        let bar = slot.get_or_insert_with(|| {
            // Sizes of tables are estimates, so a bar may not be full nor run over.
            let template = if all > 0 {
                "{spinner} [{bar:20}] {wide_msg}"
            } else {
                "{spinner} {wide_msg}"
            };
            let bar = ProgressBar::with_draw_target(
                Some(all.max(1)),
                ProgressDrawTarget::stderr_with_hz(10),
            );
            match ProgressStyle::with_template(template) {
                Ok(style) => bar.with_style(style.progress_chars("=> ")),
                Err(_) => bar,
            }
        });
        bar.set_position(done.min(all));
        bar.set_message(phase.line());
        bar.tick();
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        let bar = self.bar.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
    }

    /// A line above the bar.
    pub fn println(&self, text: &str) {
        let bar = self.bar.lock().unwrap_or_else(|e| e.into_inner()).clone();
        // A terminal that is gone must not stop a backup.
        let write = || {
            let _ = writeln!(std::io::stderr(), "{text}");
        };
        match bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}
