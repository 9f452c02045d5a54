//! The moving display: a bar with figures, redrawn ten times a second, that
//! leaves no trace once a phase is over.

use super::Phase;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// One bar on standard error.
pub struct Live {
    bar: ProgressBar,
}

impl Live {
    pub fn new() -> Live {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        Live { bar }
    }

    /// Draws how the phase stands.
    pub fn show(&self, phase: &Phase) {
        let (done, all) = (phase.counters.bytes.get(), phase.counters.bytes_expected.get());
        // Sizes of tables are estimates, so a bar may not be full nor run over.
        let template = if all > 0 { "{spinner} [{bar:24}] {msg}" } else { "{spinner} {msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_length(all.max(1));
        self.bar.set_position(done.min(all));
        self.bar.set_message(phase.line());
        self.bar.tick();
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
    }

    /// A line above the bar.
    pub fn println(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }
}
