//! The pages of one file: how long they are, and that each is the page it should be, with a right checksum.
//!
//! Every page that leaves this module has been checked. What lies in a page is not judged here.

use super::error::Error;
use super::sums::Sums;
use super::types::Server;
use crate::page::{self, fil, u16_at, u32_at};
use crate::space::fsp;
use std::fs::File;
use std::io;

/// The bytes of a tablespace, wherever they are.
pub trait Bytes: Sync {
    /// How many.
    fn length(&self) -> io::Result<u64>;
    /// Fills `to` from this byte on.
    fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<()>;
}

impl Bytes for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, to, at)
    }
}

impl Bytes for [u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..));
        let from = from.and_then(|rest| rest.get(..to.len()));
        to.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Bytes for Vec<u8> {
    fn length(&self) -> io::Result<u64> {
        self.as_slice().length()
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_at(at, to)
    }
}

/// A tablespace that is read.
pub struct Tablespace<'f> {
    bytes: &'f dyn Bytes,
    /// Its number.
    pub id: u32,
    /// Its flags, as page 0 has them (`FSP_SPACE_FLAGS`).
    pub flags: u32,
    /// Bytes of a page.
    size: usize,
    sums: Sums,
    pages: u32,
    /// How many it says that it has (`FSP_SIZE`).
    stated: u32,
    /// Whether MariaDB keeps a key for it; pages say whether they are encrypted.
    has_key: bool,
}

/// Most pages that are read at once.
pub const AT_ONCE: u32 = 64;

/// Pages that were read together, not checked yet. They lie at an address that suits direct I/O.
#[derive(Default)]
pub struct Window {
    raw: Vec<u8>,
    /// Where the first page begins.
    start: usize,
    first: u32,
    count: u32,
}

/// What direct I/O wants of the address of a buffer, at most.
const ALIGNMENT: usize = 4096;

impl Window {
    /// Room for this many bytes.
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.raw.len() < bytes + ALIGNMENT {
            self.raw.resize(bytes + ALIGNMENT, 0);
            self.start = self.raw.as_ptr().align_offset(ALIGNMENT);
        }
        &mut self.raw[self.start..self.start + bytes]
    }
}

/// Page size that a number of the flags means: 0 is 16 KiB, others are powers of two.
fn size_of(number: u32) -> Option<usize> {
    match number {
        0 => Some(page::SIZE),
        3..=7 => Some(512 << number),
        _ => None,
    }
}

/// Whether a first page holds MariaDB's crypt data (fil0crypt.h: `CRYPT_MAGIC`, and then the scheme), which stand behind the
/// entries of the extents.
fn has_key(first: &[u8]) -> bool {
    const MAGIC: [u8; 6] = [b's', 0xe, 0xc, b'R', b'E', b't'];
    let extent = (1usize << 20 >> first.len().trailing_zeros()).max(64);
    let entries = first.len() / extent;
    let at = fsp::EXTENTS + fil::BODY + entries * (24 + extent / 4);
    first.get(at..at + MAGIC.len()) == Some(&MAGIC) && first.get(at + MAGIC.len()) == Some(&1)
}

/// Bytes of a page of this file, which all files of a server share; `None`: it is no tablespace that can be read.
pub fn page_size(file: &dyn Bytes) -> Option<usize> {
    Tablespace::open(file).ok().map(|space| space.size)
}

impl<'f> Tablespace<'f> {
    /// A file, by its first page.
    pub fn open(bytes: &'f dyn Bytes) -> Result<Tablespace<'f>, Error> {
        let length = bytes.length()?;
        let mut head = vec![0; crate::format::FLAGS + 4];
        if length < head.len() as u64 {
            return Err(Error::damaged(0, "the file ends in it"));
        }
        bytes.read_at(0, &mut head)?;
        let flags = u32_at(&head, crate::format::FLAGS);
        let unsupported = |what: &str| Error::Unsupported(what.into());
        let unknown = || Error::Unsupported(format!("a tablespace with flags {flags:#x}"));
        // MariaDB since 10.5 (fsp0types.h): bit 4 marks full_crc32, bits 0-3 the page size, 5-7 page compression.
        let (size, sums) = if flags & 0x10 != 0 && flags & !0xff == 0 {
            if flags & 0xe0 != 0 {
                return Err(unsupported("page compression"));
            }
            (size_of(flags & 0xf), Sums::Full)
        } else {
            // Bit 0 post-antelope, 1-4 size of compressed pages, 5 atomic blobs, 6-9 page size. MySQL: 10 data directory,
            // 11 shared, 12 temporary, 13 encrypted, 14 has SDI. MariaDB before 10.5: 16 page compression.
            if flags & 0x1e != 0 {
                return Err(unsupported("ROW_FORMAT=COMPRESSED"));
            }
            if flags & 0x2000 != 0 {
                return Err(Error::encrypted());
            }
            if flags & 0x1_0000 != 0 {
                return Err(unsupported("page compression"));
            }
            if flags & !0x7fe1 != 0 {
                return Err(unknown());
            }
            (size_of((flags >> 6) & 0xf), Sums::Ends)
        };
        let size = size.ok_or_else(unknown)?;
        let mut space = Tablespace {
            bytes,
            id: u32_at(&head, fil::SPACE),
            flags,
            size,
            sums,
            pages: u32::try_from(length / size as u64).unwrap_or(u32::MAX),
            stated: u32_at(&head, fsp::SIZE),
            has_key: false,
        };
        let mut window = Window::default();
        space.has_key = has_key(space.page(&mut window, 0)?);
        Ok(space)
    }

    /// Whether its first pages are encrypted; the very first never is, and says so for MySQL only.
    pub fn is_encrypted(&self) -> Result<bool, Error> {
        let mut window = Window::default();
        for number in 1..self.pages.min(8) {
            match self.page(&mut window, number) {
                Err(Error::Io(e)) => return Err(e.into()),
                Err(e) if e.is_of_encryption() => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }

    /// A file whose first page does not say what it is.
    pub(super) fn assumed(
        bytes: &'f dyn Bytes,
        (id, flags): (u32, u32),
        size: usize,
        sums: Sums,
    ) -> Result<Tablespace<'f>, Error> {
        let pages = bytes.length()? / size as u64;
        Ok(Tablespace {
            bytes,
            id,
            flags,
            size,
            sums,
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
            stated: 0,
            has_key: false,
        })
    }

    /// An error if the file ends before the tablespace does: a server that opens it may end.
    pub fn check_length(&self) -> Result<(), Error> {
        match self.stated > self.pages {
            false => Ok(()),
            true => Err(Error::damaged(
                self.pages,
                format!(
                    "the file ends before it: the tablespace has {} pages",
                    self.stated
                ),
            )),
        }
    }

    /// How many bytes follow the last whole page.
    pub fn cut_off(&self) -> Result<u64, Error> {
        Ok(self.bytes.length()? % self.size as u64)
    }

    /// How many pages the file has.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        self.size
    }

    /// Whose file it is, where its flags say so.
    pub fn server(&self) -> Option<Server> {
        match (self.sums, self.flags & 0x4000 != 0) {
            (Sums::Full, _) => Some(Server::MariaDb),
            (_, true) => Some(Server::MySql),
            _ => None,
        }
    }

    /// Reads pages that lie one after another, at most 64 and as many as there are.
    pub fn load(&self, window: &mut Window, first: u32, count: u32) -> Result<(), Error> {
        if first >= self.pages {
            return Err(Error::damaged(
                first,
                format!("the file has only {} pages", self.pages),
            ));
        }
        let count = count.min(AT_ONCE).min(self.pages - first);
        window.count = 0;
        let to = window.room(count as usize * self.size);
        self.bytes
            .read_at(u64::from(first) * self.size as u64, to)?;
        (window.first, window.count) = (first, count);
        Ok(())
    }

    /// A page, checked; read unless the window has it.
    pub fn page<'w>(&self, window: &'w mut Window, number: u32) -> Result<&'w [u8], Error> {
        let page = self.raw(window, number)?;
        self.judge(number, page)?;
        Ok(page)
    }

    /// A page as it is stored, whatever it is worth; read unless the window has it.
    pub fn raw<'w>(&self, window: &'w mut Window, number: u32) -> Result<&'w [u8], Error> {
        if number.wrapping_sub(window.first) >= window.count {
            self.load(window, number, 1)?;
        }
        let at = window.start + (number - window.first) as usize * self.size;
        Ok(&window.raw[at..at + self.size])
    }

    /// That it is this page, and whole.
    pub fn judge(&self, number: u32, page: &[u8]) -> Result<(), Error> {
        if !self.sums.is_right(page) {
            let what = if page::is_empty(page) {
                "it is empty"
            } else {
                match u16_at(page, fil::TYPE) {
                    14 | 16 => return Err(Error::Unsupported("page compression".into())),
                    15 => return Err(Error::encrypted()),
                    // MariaDB before full_crc32: another sum than that of the page stands here.
                    _ if self.has_key && number > 0 && u32_at(page, fil::FLUSH_LSN) != 0 => {
                        return Err(Error::encrypted());
                    }
                    _ => "its checksum is wrong",
                }
            };
            return Err(Error::damaged(number, what));
        }
        if self.sums == Sums::Full && u32_at(page, 0) != 0 {
            return Err(Error::encrypted());
        }
        let says = u32_at(page, fil::NUMBER);
        if says != number {
            let what = format!("it says that it is page {says}");
            return Err(Error::damaged(number, what));
        }
        let says = u32_at(page, fil::SPACE);
        if says != self.id {
            let what = format!("it says that it is of tablespace {says}");
            return Err(Error::damaged(number, what));
        }
        Ok(())
    }
}
