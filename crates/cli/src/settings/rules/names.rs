//! `--map-schema` and `--map-table`: what can have other names.

use super::refused::refuse;
use crate::args::names::Names;
use base::Result;

/// Refuses other names where nothing gets a name.
pub fn no_names(a: &Names, why: &str, hint: &str) -> Result<()> {
    match a.given() {
        Some(option) => refuse(format!("{option} does not apply: {why}"), hint.to_owned()),
        None => Ok(()),
    }
}
