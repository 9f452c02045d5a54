//! A command line that is refused.

use base::{Error, Kind, Result};

/// Says what is wrong with it, and the way out.
pub fn refuse(what: impl Into<String>, hint: impl Into<String>) -> Result<()> {
    Err(Error::new(Kind::Usage, what).hint(hint))
}
