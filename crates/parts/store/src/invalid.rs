//! Why a text names no place.

/// Why a text is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Invalid {
    /// What is wrong with it.
    pub what: String,
    /// What to write instead.
    pub hint: String,
}

impl Invalid {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        let (what, hint) = (what.into(), hint.into());
        Self { what, hint }
    }
}
