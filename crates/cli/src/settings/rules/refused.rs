//! A command line that is refused.

use base::{Error, Kind, Result};

/// Says what is wrong with it, and the way out.
pub fn refuse(what: impl Into<String>, hint: impl Into<String>) -> Result<()> {
    Err(Error::new(Kind::Usage, what).hint(hint))
}

/// The first of these options that was given.
pub fn first_given(options: &[(&'static str, bool)]) -> Option<&'static str> {
    let given = options.iter().find(|(_, given)| *given);
    given.map(|(option, _)| *option)
}
