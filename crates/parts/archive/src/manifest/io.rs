//! Writing and reading the manifest. What is read is bounded in size, sealed,
//! of a known version, and consistent in itself before anybody sees it.

use super::{FORMAT, MANIFEST, Manifest, VERSION, seal};
use crate::{ArchiveError, FileRecord, Result, RowDigest, marker, meta};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use std::collections::{BTreeMap, HashSet};
use store::Store;

/// A larger manifest is refused, in bytes.
const LIMIT: u64 = 1 << 30;

#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

impl Manifest {
    /// The text of the file, sealed.
    pub fn to_text(&self) -> String {
        seal::seal(&meta::to_json(self))
    }

    /// Makes everything written so far durable, then the manifest, in one
    /// step. Refuses a manifest that reading would refuse.
    pub fn write(&self, store: &dyn Store) -> Result<()> {
        self.validate()?;
        store.sync()?;
        store.put(MANIFEST, self.to_text().as_bytes())?;
        store.sync()?;
        Ok(())
    }

    /// Reads the manifest; `None` if the archive has none.
    pub fn read(store: &dyn Store) -> Result<Option<Self>> {
        match store.read_all(MANIFEST, LIMIT) {
            Ok(bytes) => Self::parse(&bytes).map(Some),
            Err(e) if e.not_found() => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Reads the text of a manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let intact = seal::intact(bytes);
        match meta::parse::<Head>(MANIFEST, bytes) {
            // A later version may be sealed in another way, so this comes first.
            Ok(head) if head.format == FORMAT && head.version > VERSION => {
                return Err(ArchiveError::NewerVersion {
                    what: MANIFEST.to_owned(),
                    found: head.version.to_string(),
                    supported: VERSION.to_string(),
                });
            }
            Ok(head) if head.format != FORMAT || head.version == 0 => {
                return Err(damaged("it is not a penstock manifest"));
            }
            Ok(_) => {}
            Err(e) => return Err(e),
        }
        if !intact {
            return Err(damaged(
                "its contents differ from the digest at its end: changed since it was written",
            ));
        }
        let manifest: Self = meta::parse(MANIFEST, bytes)?;
        manifest.validate()?;
        Ok(manifest)
    }

    /// Whether names are fit to be opened, digests are digests, every chunk is
    /// among the files, and counts and digests add up.
    pub fn validate(&self) -> Result<()> {
        for (name, record) in &self.files {
            if !store::valid_name(name) || name == MANIFEST || name == marker::INCOMPLETE {
                return Err(damaged(format!("it lists the file '{name}'")));
            }
            let digits = record.blake3.bytes();
            let hex = digits
                .clone()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            if digits.len() != 64 || !hex {
                return Err(damaged(format!("the digest of '{name}' is not one")));
            }
        }
        if self.row_digest != crate::digest::ROW_DIGEST_NAME {
            return Err(ArchiveError::Unsupported {
                file: MANIFEST.to_owned(),
                what: format!(
                    "row digests of the kind '{}'",
                    base::units::printable(&self.row_digest)
                ),
            });
        }
        let (mut tables, mut chunks) = (HashSet::new(), HashSet::new());
        let mut totals = (0u128, 0u128, 0u128);
        for t in &self.tables {
            let name = || format!("{}.{}", t.schema, t.table);
            if !tables.insert((&t.schema, &t.table)) {
                return Err(damaged(format!("it lists {} twice", name())));
            }
            let mut sum = RowDigest::new();
            let mut rows = 0u128;
            for c in &t.chunks {
                let file = self.files.get(&c.file);
                let (Some(file), true) = (file, chunks.insert(&c.file)) else {
                    let what = format!("chunk '{}' of {} is", c.file, name());
                    return Err(damaged(format!(
                        "{what} listed twice or not among the files"
                    )));
                };
                let digest = c.digest();
                sum.merge(&digest.ok_or_else(|| {
                    damaged(format!("the row digest of '{}' is not one", c.file))
                })?);
                rows += u128::from(c.rows);
                totals.1 += u128::from(c.raw_bytes);
                totals.2 += u128::from(file.bytes);
            }
            totals.0 += rows;
            if rows != u128::from(t.rows) || sum.to_hex() != t.row_digest {
                let what = format!("the rows of {} are not the sum of its chunks'", name());
                return Err(damaged(what));
            }
        }
        let said = &self.totals;
        if totals
            != (
                said.rows.into(),
                said.raw_bytes.into(),
                said.stored_bytes.into(),
            )
        {
            return Err(damaged("its totals are not the sums of its chunks"));
        }
        Ok(())
    }
}

fn damaged(what: impl AsRef<str>) -> ArchiveError {
    ArchiveError::damaged(MANIFEST, what)
}

/// The files; a name that occurs twice is refused rather than one of them lost.
pub(super) fn files<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<BTreeMap<String, FileRecord>, D::Error> {
    struct Files;
    impl<'de> Visitor<'de> for Files {
        type Value = BTreeMap<String, FileRecord>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a map of file names")
        }

        fn visit_map<A: MapAccess<'de>>(
            self,
            mut access: A,
        ) -> std::result::Result<Self::Value, A::Error> {
            let mut files = BTreeMap::new();
            while let Some((name, record)) = access.next_entry::<String, FileRecord>()? {
                if files.contains_key(&name) {
                    let name = base::units::printable(&name);
                    return Err(A::Error::custom(format!("file '{name}' is listed twice")));
                }
                files.insert(name, record);
            }
            Ok(files)
        }
    }
    from.deserialize_map(Files)
}
