//! The live display: one line with a bar, redrawn ten times a second, which is erased when a phase
//! ends.

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
    /// Draws the state of the phase, as long as the terminal is wide.
    pub fn show(&self, phase: &Phase, paused: bool) {
        let (done, all) = (
            phase.counters.bytes.get(),
            phase.counters.bytes_expected.get(),
        );
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(w, _)| w.0);
        let width = usize::from(width);
        let bar_width = match (all, width) {
            (0, _) | (_, ..60) => 0,
            (_, 60..120) => 10,
            _ => 20,
        };
        let mut slot = self.bar.lock().unwrap_or_else(|e| e.into_inner());
        let bar = slot.get_or_insert_with(|| {
            ProgressBar::with_draw_target(Some(all.max(1)), ProgressDrawTarget::stderr_with_hz(10))
        });
        // Sizes of tables are estimates, so a bar may stay short of its end, and must not run over it.
        let (template, taken) = match bar_width {
            0 => ("{spinner} {wide_msg}".to_owned(), 2),
            n => (format!("{{spinner}} [{{bar:{n}}}] {{wide_msg}}"), n + 5),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_position(done.min(all));
        // The last column stays free: some terminals wrap when it is written.
        let room = width.saturating_sub(taken + 1);
        bar.set_message(phase.line(Some(room), paused));
        bar.tick();
    }

    /// Erases the bar.
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
