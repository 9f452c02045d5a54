//! Other names than those of the source.

use crate::args::names::Names;
use base::{Error, Kind, Result};
use server::NameMap;
use std::sync::Arc;

/// Which names change.
pub fn names(a: &Names) -> Result<Arc<NameMap>> {
    NameMap::new(&a.map_schema, &a.map_table)
        .map(Arc::new)
        .map_err(|e| {
            let what = e.to_string().replacen("pattern", "mapping", 1);
            Error::new(Kind::Usage, base::units::printable(&what))
                .hint("--map-schema old=new, --map-table schema.table=schema.table")
        })
}
