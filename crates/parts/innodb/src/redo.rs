//! The redo log: where its parts lie, and whether it ended with the server.
//!
//! Formats: MariaDB since 10.8 (one circular `ib_logfile0`: `log0log.h`, `log_t::CHECKPOINT_1`, `START_OFFSET`; records in
//! `mtr0log.h`, `recv_sys_t::parse`); MySQL since 8.0.30 (`#innodb_redo/#ib_redoN`: `log0constants.h`,
//! `log0files_finder.cc`). Of older ones, and of encrypted ones of MariaDB, nothing is said. What it does not do: recover.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// MariaDB's log.
pub const MARIADB_LOG: &str = "ib_logfile0";

/// MariaDB: where the records begin; before that are the header and both checkpoints.
pub const MARIADB_START: u64 = 12288;

/// MariaDB: the checkpoints.
const MARIADB_CHECKPOINTS: [u64; 2] = [4096, 8192];

/// MariaDB: what the file begins with in this format.
pub const MARIADB_FORMAT: &[u8; 4] = b"Phys";

/// MariaDB: longer groups of records are not looked at to the end.
const MARIADB_GROUP: usize = 4 << 20;

/// The directory of MySQL's log.
pub const MYSQL_DIRECTORY: &str = "#innodb_redo";

/// MySQL: bytes before the records.
pub const MYSQL_START: u64 = 2048;

/// MySQL: the blocks with checkpoints.
pub const MYSQL_CHECKPOINTS: [u64; 2] = [512, 1536];

/// The system tablespace, and where its first page has the end of MySQL's log (`FIL_PAGE_FILE_FLUSH_LSN`).
const SYSTEM: &str = "ibdata1";
const NOTED: u64 = 26;

/// MySQL: bytes of a block.
const BLOCK: u64 = 512;

/// Whether the log has no change that recovery would have to make: the server was shut down cleanly, or, on MariaDB, has
/// written nothing since its last checkpoint, and may have open transactions. `None` if that is not known here.
pub fn has_ended(datadir: &Path) -> io::Result<Option<bool>> {
    match of_log(datadir) {
        // A file that is cut.
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        outcome => outcome,
    }
}

fn of_log(datadir: &Path) -> io::Result<Option<bool>> {
    let of_mysql = datadir.join(MYSQL_DIRECTORY);
    if of_mysql.is_dir() {
        return mysql_has_ended(&of_mysql, &datadir.join(SYSTEM));
    }
    match File::open(datadir.join(MARIADB_LOG)) {
        Ok(log) => mariadb_has_ended(&log),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// MySQL's files, by number.
pub fn numbered(directory: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|n| n.strip_prefix("#ib_redo")?.parse().ok());
        if let Some(number) = number {
            found.insert(number, entry.path());
        }
    }
    Ok(found)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|b| b.try_into().ok())
        .map_or(0, u64::from_be_bytes)
}

/// Whether the last four bytes of a block are the checksum of the others.
fn is_whole(block: &[u8]) -> bool {
    block
        .split_last_chunk::<4>()
        .is_some_and(|(rest, sum)| crc32c::crc32c(rest) == u32::from_be_bytes(*sum))
}

fn mysql_has_ended(directory: &Path, system: &Path) -> io::Result<Option<bool>> {
    let mut files = Vec::new();
    let mut checkpoint = None;
    for path in numbered(directory)?.into_values() {
        let file = File::open(&path)?;
        let mut head = [0; MYSQL_START as usize];
        file.read_exact_at(&mut head, 0)?;
        for at in MYSQL_CHECKPOINTS.map(|at| at as usize) {
            let block = &head[at..at + BLOCK as usize];
            if is_whole(block) {
                checkpoint = checkpoint.max(Some(number(block, 8)));
            }
        }
        let bytes = file.metadata()?.len().saturating_sub(MYSQL_START);
        files.push((number(&head, 8), bytes, file));
    }
    let Some(checkpoint) = checkpoint else {
        return Ok(None);
    };
    // A server that shuts down notes where its log ends; the next one recovers if that is not the checkpoint.
    match File::open(system) {
        Ok(system) => {
            let mut noted = [0; 8];
            system.read_exact_at(&mut noted, NOTED)?;
            if u64::from_be_bytes(noted) != checkpoint {
                return Ok(Some(false));
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    let holds = |from: u64, bytes: u64| (from..from.saturating_add(bytes)).contains(&checkpoint);
    let Some((from, _, file)) = files.iter().find(|(from, bytes, _)| holds(*from, *bytes)) else {
        return Ok(None);
    };
    let start = checkpoint - checkpoint % BLOCK;
    let Some(at) = start.checked_sub(*from) else {
        return Ok(None);
    };
    let mut block = [0; BLOCK as usize];
    file.read_exact_at(&mut block, MYSQL_START + at)?;
    // A block that was not written since the log came here is one of an earlier round, or empty.
    let own = ((start / BLOCK) & 0x3fff_ffff) + 1;
    // Header number and length are in the clear also where the rest is encrypted, with the checksum.
    let is_written = (number(&block, 0) >> 32) & 0x7fff_ffff == own;
    let is_encrypted = block[4] & 0x80 != 0;
    let used = u64::from(u16::from_be_bytes([block[4], block[5]]) & 0x7fff);
    let has_torn = is_written && !is_encrypted && !is_whole(&block);
    Ok(Some(!is_written || used <= checkpoint % BLOCK && !has_torn))
}

/// MariaDB: the newest checkpoint, and where the record lies that was written with it.
pub fn mariadb_checkpoint(head: &[u8]) -> Option<(u64, u64)> {
    let of = |at: u64| head.get(at as usize..at as usize + 64);
    let whole = MARIADB_CHECKPOINTS.iter().filter_map(|at| of(*at));
    let whole = whole.filter(|block| is_whole(block));
    whole
        .map(|block| (number(block, 0), number(block, 8)))
        .max()
}

fn mariadb_has_ended(log: &File) -> io::Result<Option<bool>> {
    let size = log.metadata()?.len();
    if size <= MARIADB_START {
        return Ok(None);
    }
    let mut head = vec![0; MARIADB_START as usize];
    log.read_exact_at(&mut head, 0)?;
    let (true, Some((checkpoint, end))) =
        (head.starts_with(MARIADB_FORMAT), mariadb_checkpoint(&head))
    else {
        return Ok(None);
    };
    if checkpoint != end {
        return Ok(Some(false));
    }
    let ring = Ring {
        log,
        first: number(&head, 8),
        capacity: size - MARIADB_START,
    };
    // The record of the checkpoint itself, and whether another one follows.
    let Some(after) = ring.group(end)? else {
        return Ok(None);
    };
    Ok(Some(ring.group(after)?.is_none()))
}

/// MariaDB's log: behind its end it begins again.
struct Ring<'a> {
    log: &'a File,
    /// The sequence number of its first byte.
    first: u64,
    capacity: u64,
}

impl Ring<'_> {
    /// Where a group of records ends that begins here; `None` if there is none that was written since the log came here.
    fn group(&self, begin: u64) -> io::Result<Option<u64>> {
        let Some(offset) = begin.checked_sub(self.first) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let mut wanted = 512;
        loop {
            let limit = MARIADB_GROUP.min(usize::try_from(self.capacity).unwrap_or(usize::MAX));
            self.read(offset, &mut bytes, wanted.min(limit))?;
            match group(&bytes) {
                Group::Whole { length, sum, mark } => {
                    let Some(end) = begin.checked_add(length as u64) else {
                        return Ok(None);
                    };
                    let round = (end - 5 - self.first) / self.capacity;
                    let is_of_now = mark == u8::from(round.is_multiple_of(2));
                    let is_whole = crc32c::crc32c(&bytes[..length - 5]) == sum;
                    return Ok((is_of_now && is_whole).then_some(end));
                }
                Group::Longer if wanted < limit => wanted *= 2,
                Group::Longer | Group::None => return Ok(None),
            }
        }
    }

    fn read(&self, offset: u64, to: &mut Vec<u8>, bytes: usize) -> io::Result<()> {
        to.resize(bytes, 0);
        let at = offset % self.capacity;
        let before_end = usize::try_from(self.capacity - at).unwrap_or(usize::MAX);
        let (first, rest) = to.split_at_mut(bytes.min(before_end));
        self.log.read_exact_at(first, MARIADB_START + at)?;
        self.log.read_exact_at(rest, MARIADB_START)
    }
}

/// What bytes begin with.
enum Group {
    /// Records, a byte that ends them, and their checksum.
    Whole { length: usize, sum: u32, mark: u8 },
    /// More bytes would say.
    Longer,
    /// Nothing that a server writes.
    None,
}

/// The lengths of records are in their first byte, or behind it.
fn group(bytes: &[u8]) -> Group {
    let mut at = 0;
    // No server writes a group without records: these are zeros behind the end.
    if bytes.first().is_some_and(|first| *first <= 1) {
        return Group::None;
    }
    loop {
        let Some(first) = bytes.get(at) else {
            return Group::Longer;
        };
        if *first <= 1 {
            let Some(sum) = bytes.get(at + 1..at + 5) else {
                return Group::Longer;
            };
            return Group::Whole {
                length: at + 5,
                sum: sum.try_into().map_or(0, u32::from_be_bytes),
                mark: *first,
            };
        }
        at += 1;
        match usize::from(first & 0xf) {
            0 => match longer(&bytes[at..]) {
                // The length counts its own bytes.
                Some(length) => at = at.saturating_add(length).saturating_add(15),
                None => return Group::Longer,
            },
            length => at += length,
        }
    }
}

/// A number of one to five bytes.
fn longer(bytes: &[u8]) -> Option<usize> {
    /// The least number of so many bytes.
    const LEAST: [usize; 5] = [0, 0x80, 0x4080, 0x0020_4080, 0x1020_4080];
    let first = *bytes.first()?;
    let more = (first.leading_ones() as usize).min(4);
    let own = match more {
        4 => 0,
        more => usize::from(first) & (0x7f >> more),
    };
    let rest = bytes.get(1..1 + more)?;
    let value = rest.iter().fold(own, |n, b| n << 8 | usize::from(*b));
    Some(value + LEAST[more])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_records_are_read() {
        assert_eq!(longer(&[0x05]), Some(5));
        assert_eq!(longer(&[0x80, 0x01]), Some(0x81));
        assert_eq!(longer(&[0xbf, 0xff]), Some(0x407f));
        assert_eq!(longer(&[0xc0, 0, 2]), Some(0x4082));
        assert_eq!(longer(&[0xf0, 0, 0, 0, 3]), Some(0x1020_4083));
        assert_eq!(longer(&[0x80]), None);
        assert_eq!(longer(&[]), None);
    }

    #[test]
    fn groups_end_where_their_records_do() {
        // Two bytes, three bytes, the end.
        let bytes = [0x31, 9, 0x42, 9, 9, 1, 0, 0, 0, 7, 0xff];
        let Group::Whole { length, sum, mark } = group(&bytes) else {
            panic!("it is whole");
        };
        assert_eq!((length, sum, mark), (10, 7, 1));
        for cut in 0..10 {
            assert!(matches!(group(&bytes[..cut]), Group::Longer), "{cut}");
        }
        // What is behind the end of a log after a restart: a checksum of nothing is 0.
        assert!(matches!(group(&[0; 8]), Group::None));
        assert!(matches!(group(&[1, 0, 0, 0, 0]), Group::None));
        // 16 bytes behind the first: a length of 1, and 15.
        let mut long = vec![0x30, 1];
        long.extend([9; 15]);
        long.extend([0, 0, 0, 0, 8]);
        let Group::Whole { length, mark, .. } = group(&long) else {
            panic!("it is whole");
        };
        assert_eq!((length, mark), (22, 0));
    }

    /// A log of MariaDB whose checkpoint is so many bytes behind its begin, with these groups from there on.
    fn mariadb(offset: u64, groups: &[&[u8]]) -> Option<bool> {
        const FIRST: u64 = 50_000;
        const CAPACITY: u64 = 4096;
        let mut log = vec![0; (MARIADB_START + CAPACITY) as usize];
        log[..4].copy_from_slice(MARIADB_FORMAT);
        log[8..16].copy_from_slice(&FIRST.to_be_bytes());
        let lsn = (FIRST + offset).to_be_bytes();
        log[4096..4104].copy_from_slice(&lsn);
        log[4104..4112].copy_from_slice(&lsn);
        let sum = crc32c::crc32c(&log[4096..4156]).to_be_bytes();
        log[4156..4160].copy_from_slice(&sum);
        let mut at = offset;
        for records in groups {
            let mut bytes = records.to_vec();
            let round = (at + records.len() as u64) / CAPACITY;
            bytes.push(u8::from(round.is_multiple_of(2)));
            bytes.extend(crc32c::crc32c(records).to_be_bytes());
            for byte in bytes {
                log[(MARIADB_START + at % CAPACITY) as usize] = byte;
                at += 1;
            }
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(MARIADB_LOG), log).unwrap();
        has_ended(dir.path()).unwrap()
    }

    #[test]
    fn a_log_of_mariadb_ends_behind_its_checkpoint_or_goes_on() {
        let (checkpoint, more): (&[u8], &[u8]) = (&[0xfa; 11], &[0x32, 7, 7]);
        // In the first round, in the second, where zeros have the mark of a group, and over its end.
        for offset in [0, 100, 4096 + 100, 4090, 2 * 4096 - 3] {
            assert_eq!(mariadb(offset, &[checkpoint]), Some(true), "{offset}");
            assert_eq!(
                mariadb(offset, &[checkpoint, more]),
                Some(false),
                "{offset}"
            );
            assert_eq!(mariadb(offset, &[]), None, "{offset}");
        }
    }

    #[test]
    fn other_files_are_no_redo_log() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(has_ended(dir.path()).unwrap(), None);
        let log = dir.path().join(MARIADB_LOG);
        for size in [0, 100, 12288, 20000] {
            fs::write(&log, vec![7; size]).unwrap();
            assert_eq!(has_ended(dir.path()).unwrap(), None, "{size}");
        }
        fs::create_dir(dir.path().join(MYSQL_DIRECTORY)).unwrap();
        fs::write(dir.path().join("#innodb_redo/#ib_redo1"), "cut").unwrap();
        assert_eq!(has_ended(dir.path()).unwrap(), None);
    }
}
