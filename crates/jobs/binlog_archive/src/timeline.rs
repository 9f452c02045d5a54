//! A timeline: files of a log that follow each other without a gap.

use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;

/// What is written down when a timeline begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Of this file's format.
    pub version: u32,
    /// From 1.
    pub number: u32,
    /// `mysql` or `mariadb`.
    pub flavour: String,
    /// Version of the server.
    pub server_version: String,
    /// Its UUID, if it has one.
    pub server_uuid: Option<String>,
    /// Its number.
    pub server_id: u64,
    /// First file.
    pub file: String,
    /// When it began: UTC, RFC 3339.
    pub began: String,
    /// Why: the first one, or what broke the one before.
    pub reason: String,
    /// What was executed before its first file, if servers count that.
    pub executed_before: Option<String>,
    /// The place in an earlier timeline that it goes on from, if nothing is missing between the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Follows>,
    /// What is missing between the timeline before and this one, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A place in an earlier timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follows {
    /// Its number.
    pub timeline: u32,
    /// The file.
    pub file: String,
    /// Offset behind the last event that is common to both; later ones happened on the earlier timeline only. Without an offset the
    /// two have transactions in common, and GTIDs tell which.
    pub position: Option<u64>,
}

impl Timeline {
    /// The version that this program writes.
    pub(crate) const VERSION: u32 = VERSION;

    pub(crate) fn parse(bytes: &[u8]) -> Option<Timeline> {
        let timeline: Timeline = serde_json::from_slice(bytes).ok()?;
        (timeline.version == VERSION).then_some(timeline)
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Whether the server is MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.flavour == "mariadb"
    }
}
