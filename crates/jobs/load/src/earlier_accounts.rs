//! What an earlier run of a load has made of the accounts: from its journal, or from its repair record.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What an earlier run of a load has made of the accounts, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierAccounts {
    /// Accounts that it has made.
    pub made: BTreeSet<String>,
    /// Those of them that could not log in.
    pub locked: BTreeSet<String>,
    /// What was refused; none if the run was interrupted before it knew.
    pub refused: Option<Vec<String>>,
}
