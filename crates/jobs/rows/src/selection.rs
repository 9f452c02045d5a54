//! What a selection of schemas and tables leaves.

use base::{Error, Kind, Result};
use server::Filter;

/// Fails if a pattern matched nothing: it is probably a typo.
pub fn check_matched(filter: &Filter) -> Result<()> {
    let missed = filter.unmatched();
    if missed.is_empty() {
        return Ok(());
    }
    let what = match filter.chooses_programs() {
        true => "no schema, table, trigger, routine or event",
        false => "no schema or table",
    };
    Err(Error::new(
        Kind::Usage,
        format!(
            "{what} matches: {}",
            missed
                .iter()
                .map(|p| base::units::printable(p))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    )
    .hint("patterns are `schema` or `schema.table` with * and ?, or regular expressions between slashes; an account sees only what it has privileges on; nothing was written"))
}
