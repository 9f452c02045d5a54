//! What was made.

use crate::catch_up::CaughtUp;
use copy::servers;

/// What was made.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The source, in words.
    pub source: String,
    /// The new server, in words.
    pub replica: String,
    /// The copy; `None` if an earlier run had made it.
    pub copied: Option<servers::Summary>,
    /// The load of an archive; `None` if the source was copied, or an earlier run had loaded it.
    pub loaded: Option<load::Summary>,
    /// The dump into the archive that was loaded, if this run made it.
    pub dumped: Option<dump::Summary>,
    /// Nothing was begun that `--resume` could have continued.
    pub began_again: bool,
    /// From where the new server follows, in words.
    pub follows_from: String,
    /// The account that it logs in with.
    pub account: String,
    /// Whether its connection to the source uses TLS.
    pub tls: bool,
    /// Accounts of the source that were made.
    pub accounts: u64,
    /// Accounts that the new server had already, and that were left as they are.
    pub accounts_kept: Vec<String>,
    /// How it caught up.
    pub caught_up: CaughtUp,
    /// What was read into its memory, if anything was.
    pub warmed: Option<warm::load::Summary>,
    /// The comparison, if one was made.
    pub compared: Option<verify::Comparison>,
    /// What is not as on the source, by name.
    pub exceptions: Vec<String>,
    /// The whole run, in seconds.
    pub seconds: f64,
}
