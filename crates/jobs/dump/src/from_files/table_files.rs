//! What is in the files of a table: how its rows lie, and the leaves that hold them.
//!
//! A table whose files are not read here (their format, a type, an index that is damaged above its leaves) is read by
//! SQL, and why is said; only rows that turn out to be damaged are given up.

use super::{definition, paths};
use crate::from_replica::ExportLock;
use archive::RowDigest;
use archive::row::NULL;
use base::RateLimiter;
use base::units::printable;
use innodb::read::mariadb;
use innodb::read::sdi::Sdi;
use innodb::read::{Bytes, Error, Leaf, Leaves, Rows, Table, Tablespace, Window};
use rows::key_ranges::{Bound, ChunkKey, KeyRange, Kind};
use rows::table_plan::TablePlan;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bytes of a file, counted by a rate limit.
struct Limited {
    file: File,
    limiter: Arc<RateLimiter>,
}

impl Bytes for Limited {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        if !self.limiter.acquire_all(to.len()) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.file.read_at(at, to)
    }
}

/// A file of a table.
pub struct TableFile {
    path: PathBuf,
    bytes: Limited,
    table: Table,
    leaves: Leaves,
    /// Which columns are read, by their places in `table`.
    columns: Vec<usize>,
}

impl std::fmt::Debug for TableFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

/// Why the files of a table are not read.
pub enum Unread {
    /// They have something that is not read here: the server may.
    BySql(String),
    /// A page is damaged: a server that reads it may end.
    Damaged(String),
}

impl From<String> for Unread {
    fn from(why: String) -> Unread {
        Unread::BySql(why)
    }
}

impl From<&str> for Unread {
    fn from(why: &str) -> Unread {
        Unread::BySql(why.to_owned())
    }
}

/// Why a file is not read. A page whose checksum is right and that is not understood is no damage.
fn unread(path: &Path, bytes: &Limited, e: Error) -> Unread {
    let what = format!("{}: {e}", printable(&path.display().to_string()));
    let Error::Damaged { page, .. } = e else {
        return Unread::BySql(what);
    };
    let is_whole =
        Tablespace::open(bytes).is_ok_and(|space| space.page(&mut Window::default(), page).is_ok());
    match is_whole {
        true => Unread::BySql(what),
        false => Unread::Damaged(what),
    }
}

/// Rows that are read together.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The file, and which of its leaves.
    pub parts: Vec<(Arc<TableFile>, std::ops::Range<usize>)>,
    /// Which rows these are.
    pub range: KeyRange,
}

/// Finds the files of a table or partition, and what is in them. The error says why they are not read here. `lock`: what keeps those of a server
/// that runs as they are.
pub fn open(
    datadir: &Path,
    table: &server::catalog::Table,
    partition: Option<&str>,
    plan: &TablePlan,
    limiter: &Arc<RateLimiter>,
    mariadb: bool,
    lock: Option<&ExportLock>,
) -> Result<Vec<Arc<TableFile>>, Unread> {
    if !table.engine.eq_ignore_ascii_case("InnoDB") {
        return Err(format!("engine {}", table.engine).into());
    }
    if lock.is_some_and(|lock| !lock.covers(table)) {
        return Err("the server did not lock its files".into());
    }
    let paths = paths::of_table(datadir, &table.schema, &table.name, partition)?;
    if partition.is_none() && paths.len() < table.partitions.len() {
        return Err("some of its partitions are in other places (DATA DIRECTORY)".into());
    }
    // The server that runs has written its pages, and leaves them as they are: it says so by a file beside each.
    if let Some(lock) = lock
        && let Some(path) = paths.iter().find(|p| !lock.has_locked(p))
    {
        return Err(format!(
            "the server did not lock {}",
            printable(&path.to_string_lossy())
        )
        .into());
    }
    let definition = if mariadb {
        Described::Defined(definition::of_mariadb(table)?)
    } else {
        Described::InFile(dictionary_information(
            datadir, table, partition, &paths, limiter,
        )?)
    };
    let mut files = Vec::new();
    for path in paths {
        let file = open_file(&path, limiter)?;
        let said = |e: Error| unread(&path, &file, e);
        let (definition, leaves) = {
            let space = Tablespace::open(&file).map_err(said)?;
            space.check_length().map_err(said)?;
            let definition = match &definition {
                Described::InFile(sdi) => sdi
                    .table(space.id)
                    .ok_or("its file does not describe it")?
                    .map_err(said)?,
                Described::Defined(definition) => {
                    mariadb::table(&space, definition).map_err(said)?
                }
            };
            let leaves =
                Leaves::of(&space, &definition.clustered, definition.redundant).map_err(said)?;
            (definition, leaves)
        };
        let column = |name: &String| {
            definition
                .column(name)
                .ok_or_else(|| format!("its file has no column {}", printable(name)))
        };
        let columns = plan
            .columns
            .iter()
            .map(column)
            .collect::<Result<Vec<_>, _>>()?;
        {
            // Types that are not read here are known now.
            let space = Tablespace::open(&file).map_err(said)?;
            Rows::new(&space, &definition, leaves.id, &columns).map_err(said)?;
        }
        files.push(Arc::new(TableFile {
            path,
            bytes: file,
            table: definition,
            leaves,
            columns,
        }));
    }
    Ok(files)
}

/// Whether a file of a table is encrypted: a server that has no key calls it damaged.
pub fn is_encrypted(datadir: &Path, table: &server::catalog::Table) -> bool {
    let paths = paths::of_table(datadir, &table.schema, &table.name, None).unwrap_or_default();
    paths.iter().any(|path| {
        let Ok(file) = File::open(path) else {
            return false;
        };
        match Tablespace::open(&file) {
            Ok(space) => space.is_encrypted().unwrap_or(false),
            Err(e) => e.is_of_encryption(),
        }
    })
}

/// Where the definition of a table is from.
enum Described {
    /// MySQL: its file.
    InFile(Sdi),
    /// MariaDB: the server's catalog.
    Defined(mariadb::Definition),
}

/// MySQL describes all partitions in the file of the first.
fn dictionary_information(
    datadir: &Path,
    table: &server::catalog::Table,
    partition: Option<&str>,
    paths: &[PathBuf],
    limiter: &Arc<RateLimiter>,
) -> Result<Sdi, Unread> {
    let all = match partition {
        Some(_) => paths::of_table(datadir, &table.schema, &table.name, None)?,
        None => paths.to_owned(),
    };
    for path in &all {
        let sdi = with_file(path, limiter, Sdi::read)?;
        if !sdi.json().is_empty() {
            return Ok(sdi);
        }
    }
    Err("its file does not describe it".into())
}

fn open_file(path: &Path, limiter: &Arc<RateLimiter>) -> Result<Limited, String> {
    let file = File::open(path);
    let file = file.map_err(|e| format!("{}: {e}", printable(&path.display().to_string())))?;
    // Read once: the pages that others need stay in memory.
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
    Ok(Limited {
        file,
        limiter: Arc::clone(limiter),
    })
}

fn with_file<T>(
    path: &Path,
    limiter: &Arc<RateLimiter>,
    of: impl FnOnce(&Tablespace<'_>) -> Result<T, Error>,
) -> Result<T, Unread> {
    let file = open_file(path, limiter)?;
    let said = |e: Error| unread(path, &file, e);
    let space = Tablespace::open(&file).map_err(said)?;
    of(&space).map_err(said)
}

/// How many leaves they have.
pub fn leaves(files: &[Arc<TableFile>]) -> u64 {
    files.iter().map(|f| f.leaves.all.len() as u64).sum()
}

/// Divides the rows of a table into pieces of about so many bytes, the ranges of its key where the files have its order.
/// `leaf` is how many bytes the rows of a leaf are thought to have, with what lies outside of it.
pub fn divide(
    files: &[Arc<TableFile>],
    plan: &TablePlan,
    bytes: u64,
    leaf: u64,
) -> Result<Vec<Piece>, Error> {
    let whole = |parts| Piece {
        parts,
        range: KeyRange::whole(),
    };
    let [file] = files else {
        // Small ones: large partitions have files of their own.
        let parts = files.iter().map(|f| (Arc::clone(f), 0..f.leaves.all.len()));
        return Ok(vec![whole(parts.collect())]);
    };
    let space = Tablespace::open(&file.bytes)?;
    let each = (bytes / leaf.max(space.page_size() as u64)).max(1) as usize;
    let all = file.leaves.all.len();
    let starts: Vec<usize> = (0..all).step_by(each).collect();
    let of = |n: usize| {
        let end = starts.get(n + 1).copied().unwrap_or(all);
        vec![(Arc::clone(file), starts[n]..end)]
    };
    let Some(key) = plan.key.as_ref().and_then(|key| file.key(key)) else {
        return Ok((0..starts.len()).map(|n| whole(of(n))).collect());
    };
    let mut pieces: Vec<Piece> = Vec::new();
    for (n, start) in starts.iter().enumerate() {
        let first = match n {
            0 => None,
            _ => file.first_key(&space, &key, *start)?,
        };
        match (first, pieces.last_mut()) {
            (Some(bound), Some(before)) => {
                before.range.to = Some(bound.clone());
                pieces.push(Piece {
                    parts: of(n),
                    range: KeyRange {
                        from: Some(bound),
                        ..KeyRange::default()
                    },
                });
            }
            // No row follows, but pages with deleted ones.
            (None, Some(before)) => before.parts.extend(of(n)),
            (_, None) => pieces.push(whole(of(n))),
        }
    }
    Ok(pieces)
}

impl TableFile {
    /// The columns of the table's key by their places, if the rows lie in its order and its values are those that a bound
    /// holds.
    fn key(&self, key: &ChunkKey) -> Option<Vec<usize>> {
        let index = &self.table.clustered;
        if key.descending || key.index != index.name || key.columns.len() != index.branch {
            return None;
        }
        let mut columns = Vec::new();
        for (column, field) in key.columns.iter().zip(&index.fields) {
            let place = self.table.column(&column.name)?;
            let is_read_as_it_is = column.is_plain() || column.kind == Kind::Float;
            if field.column != Some(place)
                || field.prefix != 0
                || column.nullable
                || !is_read_as_it_is
            {
                return None;
            }
            columns.push(place);
        }
        Some(columns)
    }

    /// The key of the first row from a leaf on; `None` if there is none.
    fn first_key(
        &self,
        space: &Tablespace<'_>,
        key: &[usize],
        leaf: usize,
    ) -> Result<Option<Bound>, Error> {
        /// Ends the scan.
        enum End {
            Found,
            Failed(Error),
        }
        impl From<Error> for End {
            fn from(e: Error) -> End {
                End::Failed(e)
            }
        }
        let mut rows = Rows::new(space, &self.table, self.leaves.id, key)?;
        let mut bound = Vec::new();
        for leaf in &self.leaves.all[leaf..] {
            let outcome = rows.scan(std::slice::from_ref(leaf), |payload: &[u8]| {
                bound = cells(payload);
                Err(End::Found)
            });
            match outcome {
                Ok(_) => {}
                Err(End::Found) => return Ok(Some(bound)),
                Err(End::Failed(e)) => return Err(e),
            }
        }
        Ok(None)
    }

    /// Why it is not read.
    pub fn unread(&self, e: Error) -> Unread {
        unread(&self.path, &self.bytes, e)
    }

    /// Whether its rows lie in the order of this key.
    pub fn is_in_order_of(&self, key: &ChunkKey) -> bool {
        key.index == self.table.clustered.name
    }

    /// The digest of the rows of its first leaf with any, and how many they are: at most `most` of them.
    pub fn first_rows(&self, most: u64) -> Result<RowDigest, Error> {
        /// Ends the scan.
        enum End {
            Enough,
            Failed(Error),
        }
        impl From<Error> for End {
            fn from(e: Error) -> End {
                End::Failed(e)
            }
        }
        let mut digest = RowDigest::new();
        for leaf in 0..self.leaves.all.len() {
            let outcome = self.scan(leaf..leaf + 1, |payload| {
                digest.add(payload);
                match digest.rows() < most {
                    true => Ok(()),
                    false => Err(End::Enough),
                }
            });
            match outcome {
                Err(End::Failed(e)) => return Err(e),
                _ if digest.rows() > 0 => break,
                _ => {}
            }
        }
        Ok(digest)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Passes the payload of each row of some of its leaves.
    pub fn scan<E: From<Error>>(
        &self,
        leaves: std::ops::Range<usize>,
        each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let space = Tablespace::open(&self.bytes)?;
        let mut rows = Rows::new(&space, &self.table, self.leaves.id, &self.columns)?;
        let leaves: &[Leaf] = &self.leaves.all[leaves];
        rows.scan(leaves, each)
    }
}

/// The cells of a key: none of them is NULL, and none is longer than a key may be.
fn cells(payload: &[u8]) -> Bound {
    let mut all = Bound::new();
    let mut rest = payload;
    while let [first, more @ ..] = rest {
        let (length, behind) = match (first, more) {
            (0xfc, [low, high, behind @ ..]) => {
                (usize::from(u16::from_le_bytes([*low, *high])), behind)
            }
            (&NULL, behind) => (0, behind),
            (n, behind) => (usize::from(*n), behind),
        };
        let (cell, behind) = behind.split_at_checked(length).unwrap_or((behind, &[]));
        all.push(cell.to_vec());
        rest = behind;
    }
    all
}
