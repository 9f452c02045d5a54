//! What a selection of schemas and tables leaves.

use base::{Error, Kind, Result};
use server::Filter;

/// Fails if a pattern matched nothing: it is probably a typo.
pub fn check_matched(filter: &Filter) -> Result<()> {
    let missed = filter.unmatched();
    if missed.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        Kind::Usage,
        format!(
            "no schema or table matches: {}",
            missed
                .iter()
                .map(|p| base::units::printable(p))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    )
    .hint("patterns are `schema` or `schema.table` with * and ?; an account sees only what it has privileges on; nothing was written"))
}
