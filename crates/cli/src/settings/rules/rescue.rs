//! `penstock rescue`: nothing is written where data is rescued from.

use super::dump::chunk_size;
use super::refused::refuse;
use crate::args::rescue::Rescue;
use base::Result;
use std::path::Path;

/// All rules of it.
pub fn rescue(a: &Rescue) -> Result<()> {
    chunk_size(a.chunk_size)?;
    if a.schema.as_deref() == Some("") {
        return refuse("--schema is empty", "name the schema of the rescued tables");
    }
    let absolute = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    let Some(record) = &a.recording.record else {
        return Ok(());
    };
    let to = std::iter::once(&a.to);
    let directory = |p: &&std::path::PathBuf| match p.is_file() {
        true => absolute(p).parent().map(Path::to_owned).unwrap_or_default(),
        false => absolute(p),
    };
    let mut places = to.chain(&a.from).map(|p| directory(&p));
    match places.any(|p| absolute(record).starts_with(p)) {
        true => refuse(
            format!(
                "--record {} is inside the archive, or among the files that are read",
                record.display()
            ),
            "name a file outside of them",
        ),
        false => Ok(()),
    }
}
