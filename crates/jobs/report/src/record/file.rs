//! Records as files: written completely or not at all, and checked when they are read.
//!
//! The file is claimed before the run begins, so that a directory that does not exist or is not
//! writable is an error in time; the record gets its name only when it is complete.

use super::{FORMAT, Record, VERSION};
use base::{Error, Kind, Result, units::printable};
use serde::Deserialize;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The name of a record in a directory.
pub const NAME: &str = "run.json";

/// Larger files are not records: the recorder keeps some thousand points of each line.
pub const LARGEST: u64 = 64 << 20;

/// A file that gets its name only when it is complete; dropped before, it is removed.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    part: PathBuf,
    file: File,
}

impl Part {
    /// Starts to write the file that will be `path`.
    ///
    /// A symbolic link stays one, and its target is replaced; a device, a pipe or a directory is
    /// refused, because a file would replace it.
    pub fn begin(path: &Path) -> std::io::Result<Part> {
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            return Err(std::io::Error::other("it is no regular file"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        // Not through a link that another user may have made.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&part)?;
        Ok(Part {
            path: path.to_owned(),
            part,
            file,
        })
    }

    /// Gives it its name, in place of the file that had it.
    pub fn finish(self) -> std::io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.part, &self.path)
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Already renamed if it was finished.
        let _ = fs::remove_file(&self.part);
    }
}

/// Files that only archive directories have, the last one during a dump.
const ARCHIVES: &[&str] = &[
    archive::manifest::MANIFEST,
    archive::meta::ROOT,
    archive::marker::INCOMPLETE,
];

/// The file of a future record.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    part: Part,
}

impl Place {
    /// Claims a file that does not exist yet or holds an earlier record, or [`NAME`] in a directory.
    pub fn take(path: &Path) -> Result<Place> {
        let path = if path.is_dir() {
            path.join(NAME)
        } else {
            path.to_owned()
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        if ARCHIVES.iter().any(|name| directory.join(name).exists()) {
            return Err(Error::new(
                Kind::Target,
                format!(
                    "{} is inside an archive directory, where it would not be part of the archive",
                    shown(&path)
                ),
            )
            .hint("name a file outside of it"));
        }
        let taken = fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() > 0);
        if taken && read(&path).is_err() {
            return Err(Error::new(
                Kind::Target,
                format!(
                    "{} is there already, and is not a record of a run",
                    shown(&path)
                ),
            )
            .hint("name another file; only an earlier record is replaced"));
        }
        let part = Part::begin(&path).map_err(|e| storage("write", &path, &e))?;
        Ok(Place { path, part })
    }

    /// Writes the record and gives it its name.
    pub fn write(mut self, record: &Record) -> Result<PathBuf> {
        let fail = |e: std::io::Error| storage("write", &self.path, &e);
        let mut text = serde_json::to_vec(record)
            .map_err(|e| Error::new(Kind::Internal, format!("a record does not serialize: {e}")))?;
        text.push(b'\n');
        self.part.write_all(&text).map_err(fail)?;
        self.part.finish().map_err(fail)?;
        Ok(self.path)
    }
}

/// Reads a record: a file, or a directory with a [`NAME`] in it.
pub fn read(path: &Path) -> Result<Record> {
    let path = if path.is_dir() {
        path.join(NAME)
    } else {
        path.to_owned()
    };
    let file = open(&path).map_err(|e| {
        let directory = e.kind() == std::io::ErrorKind::NotFound && path.ends_with(NAME);
        let e = storage("open", &path, &e);
        if directory {
            e.hint("the directory of a run holds a run.json; runs are recorded with --record FILE")
        } else {
            e
        }
    })?;
    let mut text = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut text)
        .map_err(|e| storage("read", &path, &e))?;
    if text.len() as u64 > LARGEST {
        return Err(no_record(
            &path,
            &format!("it is larger than {} MiB", LARGEST >> 20),
        ));
    }
    parse(&text, &path)
}

/// Opens a regular file: a pipe would wait for its writer, and can be read once only.
pub fn open(path: &Path) -> std::io::Result<File> {
    let file = File::options()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(std::io::Error::other("it is no regular file")),
    }
}

/// What decides whether the rest can be read.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: String,
    #[serde(default)]
    version: u32,
}

fn parse(text: &[u8], path: &Path) -> Result<Record> {
    // A file that begins as a record and then breaks off is damaged; anything else is not a record.
    let start = &text[..text.len().min(200)];
    let ours = String::from_utf8_lossy(start).contains(FORMAT);
    let head: Head = serde_json::from_slice(text).map_err(|e| {
        if ours {
            damaged(path, text, &e)
        } else {
            no_record(path, &e.to_string())
        }
    })?;
    if head.format != FORMAT {
        return Err(no_record(path, "it does not say that it is one"));
    }
    if head.version > VERSION {
        return Err(Error::new(
            Kind::Archive,
            format!(
                "{} has version {}; this penstock reads up to {VERSION}",
                shown(path),
                head.version
            ),
        )
        .hint("use a newer penstock"));
    }
    serde_json::from_slice(text).map_err(|e| damaged(path, text, &e))
}

fn damaged(path: &Path, text: &[u8], e: &serde_json::Error) -> Error {
    // The parser does not report a file that is cut within a number as cut.
    let what = if e.is_eof() || !text.trim_ascii_end().ends_with(b"}") {
        "it ends too early".to_owned()
    } else {
        printable(&e.to_string())
    };
    Error::new(
        Kind::Archive,
        format!("the record {} is damaged: {what}", shown(path)),
    )
    .hint("copy the file again from the host of the run")
}

fn no_record(path: &Path, why: &str) -> Error {
    Error::new(
        Kind::Usage,
        format!(
            "{} is not a record of a run: {}",
            shown(path),
            printable(why)
        ),
    )
    .hint("runs are recorded with --record FILE, e.g. penstock dump … --record run.json")
}

fn storage(doing: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::new(
        Kind::Storage,
        format!("cannot {doing} {}: {e}", shown(path)),
    )
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Kind as Job, State};
    use super::*;

    fn write(text: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn what_is_written_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = Record::new(Job::Impact, "a \u{202e} title\n</script>");
        record.outcome.state = State::Complete;
        record.sections.push(super::super::Section {
            tables: vec![super::super::Table {
                rows: vec![vec![
                    Cell::None,
                    Cell::Number(1.0),
                    Cell::text("x"),
                    Cell::Spread(2.0, 1.0, 3.0),
                ]],
                ..Default::default()
            }],
            ..Default::default()
        });
        let place = Place::take(dir.path()).unwrap();
        let path = place.write(&record).unwrap();
        assert_eq!(path, dir.path().join(NAME));
        assert_eq!(read(dir.path()).unwrap(), record);
        // An earlier record is replaced, and no other file remains.
        Place::take(&path).unwrap().write(&record).unwrap();
        drop(Place::take(&path).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_regular_file_stays_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let (link, real) = (dir.path().join("link"), dir.path().join("real"));
        fs::write(&real, b"").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let place = Place::take(&link).unwrap();
        place.write(&Record::new(Job::Dump, "x")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(read(&real).is_ok());
        assert!(Part::begin(dir.path()).is_err());
        assert!(Part::begin(Path::new("/dev/null")).is_err());
        assert_eq!(
            Place::take(Path::new("/dev/null")).unwrap_err().kind,
            Kind::Storage
        );
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_file_that_is_not_a_record_is_not_replaced() {
        let (_dir, path) = write(b"{\"a\": 1}");
        assert_eq!(Place::take(&path).unwrap_err().kind, Kind::Target);
        let gone = path.with_file_name("no/such.json");
        assert_eq!(Place::take(&gone).unwrap_err().kind, Kind::Storage);
    }

    #[test]
    fn what_is_no_record_is_said_to_be_none() {
        let text = |text: &[u8]| {
            let (_dir, path) = write(text);
            let e = read(&path).unwrap_err();
            (e.kind, e.what)
        };
        assert_eq!(text(b"").0, Kind::Usage);
        assert_eq!(text(b"{\"a\": 1}").0, Kind::Usage);
        assert_eq!(text(b"<html>").0, Kind::Usage);
        let whole = serde_json::to_vec(&Record::new(Job::Dump, "x")).unwrap();
        let (k, what) = text(&whole[..whole.len() / 2]);
        assert_eq!(k, Kind::Archive);
        assert!(what.contains("ends too early"), "{what}");
        let newer = br#"{"format":"penstock-record","version":2,"sections":"otherwise"}"#;
        let (k, what) = text(newer);
        assert_eq!(k, Kind::Archive);
        assert!(what.contains("version 2"), "{what}");
        let (k, _) = text(br#"{"format":"penstock-record","version":1,"sections":"otherwise"}"#);
        assert_eq!(k, Kind::Archive);
        // What version 1 does not know is skipped.
        let (_dir, path) = write(
            br#"{"format":"penstock-record","version":1,"kind":"snapshot","more":[1],"outcome":{"state":"odd"}}"#,
        );
        let r = read(&path).unwrap();
        assert_eq!((r.kind, r.outcome.state), (Job::Other, State::Failed));
    }
}
