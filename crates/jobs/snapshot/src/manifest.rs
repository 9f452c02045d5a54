//! The manifest of a snapshot: `penstock-snapshot.json`, written last. docs/snapshots.md describes the format.
//!
//! Invariants: every object that a restore reads is named here with its size and digest; a path that is read is
//! relative and stays below the data directory. What this does not do: look at the files.

use archive::FileRecord;
pub use archive::manifest::{Created, Position, Source};
pub use rows::archives::{position, source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the manifest, in a store and beside the files of a snapshot that was kept.
pub const MANIFEST: &str = archive::SNAPSHOT;

/// What `format` says.
const FORMAT: &str = "penstock-snapshot";

/// The version that is written; a higher one is refused.
pub const VERSION: u32 = 1;

/// The largest manifest that is read, in bytes.
pub const LIMIT: u64 = 1 << 30;

/// What is known of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `penstock-snapshot`.
    pub format: String,
    /// Version of this format.
    pub version: u32,
    /// Version of penstock.
    pub tool_version: String,
    /// When the snapshot was made, and by which random digits it differs from others of that second.
    pub id: String,
    /// How it was taken.
    pub method: String,
    /// Begin and end.
    pub created: Created,
    /// The server.
    pub source: Source,
    /// Variables that a server must have on these files.
    pub settings: BTreeMap<String, String>,
    /// What was locked, and for how long.
    pub locks: Locked,
    /// The place in the binary log.
    pub position: Position,
    /// Why there is no position, or another remark on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position_remark: Option<String>,
    /// Files of the data directory that are no part of the snapshot, by what they are.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// What is not as it should be.
    #[serde(default)]
    pub exceptions: Vec<String>,
    /// Of a snapshot that is kept: where its files are, relative to this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Directories below the data directory.
    #[serde(default)]
    pub directories: Vec<String>,
    /// The files; empty for a snapshot that is kept as it is.
    #[serde(default)]
    pub files: Vec<File>,
    /// `none` or `zstd:LEVEL`: of every piece.
    #[serde(default)]
    pub compression: String,
}

/// What was locked for a snapshot, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Locked {
    /// In words.
    pub mode: String,
    /// How long commits were kept out.
    pub commits_ms: f64,
    /// How long changes of definitions were kept out; on MariaDB also writes to tables without transactions.
    pub definitions_ms: f64,
    /// How long locks were waited for.
    pub waited_ms: f64,
}

/// A file of the data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Where it is below the data directory; parts are separated by `/`.
    pub path: String,
    /// Its size, holes included.
    pub size: u64,
    /// Its permissions, as in chmod.
    pub mode: u32,
    /// Its pieces, each [`PIECE`](crate::piece::PIECE) bytes of it, in order.
    #[serde(default)]
    pub pieces: Vec<Piece>,
}

/// An object of the store: a part of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Name in the store.
    pub object: String,
    /// Size and digest as stored.
    #[serde(flatten)]
    pub stored: FileRecord,
    /// Bytes of the file in it; what is missing to the length of the part are holes.
    pub data: u64,
    /// BLAKE3 of the frames, decompressed.
    pub content: String,
}

impl Manifest {
    /// An empty one for a snapshot that begins now.
    pub fn new(id: &str, method: &str) -> Manifest {
        Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            id: id.to_owned(),
            method: method.to_owned(),
            created: Created {
                begin: jiff::Timestamp::now().to_string(),
                end: String::new(),
            },
            source: Source::default(),
            settings: BTreeMap::new(),
            locks: Locked::default(),
            position: Position::default(),
            position_remark: None,
            left_out: Vec::new(),
            exceptions: Vec::new(),
            root: None,
            directories: Vec::new(),
            files: Vec::new(),
            compression: String::new(),
        }
    }

    /// Reads one; the text says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Manifest, String> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if head.format != FORMAT {
            return Err("it is no manifest of a snapshot".to_owned());
        }
        if head.version > VERSION {
            return Err(format!(
                "version {} is not known here, {VERSION} is the newest",
                head.version
            ));
        }
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let mut seen = std::collections::BTreeSet::new();
        let files = manifest.files.iter().map(|f| &f.path);
        for path in files.chain(&manifest.directories).chain(&manifest.root) {
            if !is_inside(path) || !seen.insert(path) {
                let shown = base::units::printable(path);
                return Err(format!("it has the path {shown:?}"));
            }
        }
        for file in &manifest.files {
            let pieces = file.size.div_ceil(crate::piece::PIECE);
            if file.pieces.len() as u64 != pieces {
                let shown = base::units::printable(&file.path);
                return Err(format!("{shown} has not the pieces of its size"));
            }
        }
        Ok(manifest)
    }

    /// As it is written.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Bytes of the files, holes included; bytes of data; bytes as stored.
    pub fn sizes(&self) -> (u64, u64, u64) {
        let pieces = || self.files.iter().flat_map(|f| &f.pieces);
        (
            self.files.iter().map(|f| f.size).sum(),
            pieces().map(|p| p.data).sum(),
            pieces().map(|p| p.stored.bytes).sum(),
        )
    }

    /// Whether it is of MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.source.flavour == "MariaDB"
    }
}

/// Whether a path leads nowhere but below the directory that it is relative to.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\0', '\\'])
        && path
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Variables without which a server does not start on the files, or takes them for others.
const SETTINGS: [&str; 8] = [
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_checksum_algorithm",
    "lower_case_table_names",
    "aria_log_file_size",
];

/// Those of this server.
pub fn settings(id: &server::Identity) -> BTreeMap<String, String> {
    let found = SETTINGS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), id.variable(name)?.to_owned())));
    found.filter(|(_, value)| !value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_data_directory() {
        for path in ["ibdata1", "a/b.ibd", "#innodb_redo/#ib_redo1"] {
            assert!(is_inside(path), "{path}");
        }
        for path in [
            "",
            "/etc/x",
            "../x",
            "a/../../x",
            "a//b",
            "./x",
            "a\\b",
            "a/.",
        ] {
            assert!(!is_inside(path), "{path}");
        }
    }

    #[test]
    fn a_manifest_comes_back_and_a_hostile_one_is_refused() {
        let mut m = Manifest::new("20261126T000000Z-0001", "reflink");
        m.directories = vec!["a".into()];
        m.files.push(File {
            path: "a/b".into(),
            size: 10,
            mode: 0o640,
            pieces: vec![Piece {
                object: "000001".into(),
                stored: FileRecord::of(b"x"),
                data: 10,
                content: String::new(),
            }],
        });
        assert_eq!(Manifest::parse(m.to_text().as_bytes()), Ok(m.clone()));
        let with = |change: fn(&mut Manifest)| {
            let mut m = m.clone();
            change(&mut m);
            Manifest::parse(m.to_text().as_bytes())
        };
        with(|m| m.files[0].path = "../b".into()).expect_err("a path outside");
        with(|m| m.files[0].pieces.clear()).expect_err("no pieces");
        with(|m| m.directories.push("a/b".into())).expect_err("a path twice");
        with(|m| m.version = VERSION + 1).expect_err("a version of the future");
        with(|m| m.format = "x".into()).expect_err("another format");
    }
}
