//! What forecasts are made from.

use clap::Args;

/// Whether earlier runs count.
#[derive(Args, Debug, Clone, Default)]
pub struct History {
    /// Neither use nor keep what earlier runs took on this host: the forecast is by built-in rates
    #[arg(long)]
    pub no_history: bool,
}
