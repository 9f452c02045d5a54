//! What a rescue shall do.

use super::{filter, keys, place, recorded, rules, threads};
use crate::args::rescue::Rescue;
use base::Result;
use encryption::Place;
use std::sync::Arc;

/// The options of a rescue.
pub fn rescue(a: &Rescue) -> Result<rescue::Options> {
    for path in &a.from {
        place::local("PATH", path)?;
    }
    for path in &a.definition {
        place::local("--definition", path)?;
    }
    recorded(a.recording.record.as_deref())?;
    rules::rescue(a)?;
    let to = place::location("--to", &a.to)?;
    Ok(rescue::Options {
        from: a.from.clone(),
        definitions: a.definition.clone(),
        schema: a.schema.clone(),
        to: Place::new(to, keys::encrypting(&a.encryption)?),
        deleted: a.deleted,
        old_pages: a.old_pages,
        threads: threads(a.threads),
        compression: a.compression,
        chunk_bytes: a.chunk_size,
        filter: Arc::new(filter(&a.selection)?),
    })
}
