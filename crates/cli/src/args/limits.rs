//! Limits as they are typed: how fast bytes may come from a server, go to it, or go to the store.

use base::{Error, Kind, Result};
use clap::Args;
use run::Run;
use run::control;

/// What every job that moves rows can be held to.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Limits (change them while it runs: penstock set)")]
pub struct Limits {
    /// Bytes per second from the server (load: to it), over all connections together: 40M, 1.5G
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<String>,
}

/// What a job that writes an archive can be held to besides.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Limits (change them while it runs: penstock set)")]
pub struct StoreLimits {
    /// Bytes per second written to the archive, over all files together
    #[arg(long, value_name = "RATE")]
    pub max_rate_disk: Option<String>,
}

impl Limits {
    /// Sets the gate.
    pub fn apply(&self, run: &Run) -> Result<()> {
        if let Some(text) = &self.max_rate {
            run.limiter.set_rate(Some(rate("--max-rate", text)?));
        }
        Ok(())
    }
}

impl StoreLimits {
    /// Sets the gate.
    pub fn apply(&self, run: &Run) -> Result<()> {
        if let Some(text) = &self.max_rate_disk {
            run.disk_limiter
                .set_rate(Some(rate("--max-rate-disk", text)?));
        }
        Ok(())
    }
}

/// `40M`, `40M/s`, `1.5G`: as a size, in a second. `option` is what it was typed for.
pub fn rate(option: &str, text: &str) -> Result<u64> {
    control::rate(text).map_err(|why| {
        Error::new(Kind::Usage, format!("{option}: {why}"))
            .hint("bytes per second, with k, M or G: 40M, 1.5G")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_wrong_is_named() {
        assert_eq!(rate("--max-rate", "40M/s").unwrap(), 40 << 20);
        let e = rate("--max-rate", "fast").unwrap_err();
        assert_eq!(e.what, "--max-rate: \"fast\" is not a rate");
        assert!(
            rate("--max-rate-disk", "1")
                .unwrap_err()
                .what
                .contains("too low")
        );
    }
}
