//! How a file's pages are checksummed, and what its flags allow.
//!
//! MySQL sums up two parts of a page (crc32c of each, xor-ed) and writes the
//! sum at both ends; MariaDB's `full_crc32` (since 10.5) is one crc32c of all
//! but the last four bytes, which hold it. The flags in page 0 say which.

use crate::page::{SIZE, fil, u16_at, u32_at};

/// Which server's files these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// MySQL 8 and later.
    MySql,
    /// MariaDB 10.5 and later, `full_crc32`.
    MariaDb,
}

/// Why a file is not one that is read here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// Its pages have another size.
    #[error("pages of another size than 16 KiB")]
    PageSize,
    /// Pages are compressed.
    #[error("compressed pages")]
    Compressed,
    /// Pages are encrypted.
    #[error("encrypted pages")]
    Encrypted,
    /// Rows have the oldest of formats.
    #[error("rows in the REDUNDANT format")]
    Redundant,
    /// Rows of before and after an ALTER that changed nothing but the definition.
    #[error("a table that was altered instantly")]
    Instant,
    /// A tablespace of several tables, or a temporary one.
    #[error("a tablespace that is not one table's")]
    Shared,
    /// Flags of an older server or of something else.
    #[error("flags of a tablespace that is not known ({0:#x})")]
    Flags(u32),
}

/// Where the flags of a tablespace are in page 0.
pub const FLAGS: usize = fil::BODY + 16;

impl Format {
    /// From the first page of a file.
    pub fn of(page: &[u8]) -> Result<Format, Unsupported> {
        let flags = u32_at(page, FLAGS);
        // MariaDB: bit 4 marks full_crc32, bits 0-3 the page size, 5-7 page compression.
        // Bit 4 of MySQL's flags is a part of the zip size, which nothing here has.
        if flags & 0x10 != 0 {
            return match flags {
                f if f & 0xf != 5 => Err(Unsupported::PageSize),
                f if f & 0xe0 != 0 => Err(Unsupported::Compressed),
                0x15 => Ok(Format::MariaDb),
                f => Err(Unsupported::Flags(f)),
            };
        }
        // MySQL: bit 0 post-antelope, 1-4 zip size, 5 atomic blobs, 6-9 page size, 10 data directory,
        // 11 shared, 12 temporary, 13 encrypted, 14 has SDI.
        match flags {
            f if f & 0x1e != 0 => Err(Unsupported::Compressed),
            f if f & 0x3c0 != 0 => Err(Unsupported::PageSize),
            f if f & 0x1800 != 0 => Err(Unsupported::Shared),
            f if f & 0x2000 != 0 => Err(Unsupported::Encrypted),
            f if f & !0x421 == 0x4000 => Ok(Format::MySql),
            f => Err(Unsupported::Flags(f)),
        }
    }

    /// Whether the page's sum is right.
    pub fn sum_is_right(self, page: &[u8]) -> bool {
        match self {
            Format::MySql => {
                let sum = self.sum(page);
                u32_at(page, 0) == sum
                    && u32_at(page, SIZE - 8) == sum
                    && u32_at(page, SIZE - 4) == u32_at(page, fil::LSN + 4)
            }
            Format::MariaDb => {
                // The first four bytes name a key; these pages have none.
                u32_at(page, SIZE - 4) == self.sum(page)
                    && u32_at(page, SIZE - 8) == u32_at(page, fil::LSN + 4)
                    && u32_at(page, 0) == 0
            }
        }
    }

    /// Why a page whose sum is not as it should be cannot be read here, if it is whole in another way.
    pub fn unsupported(self, page: &[u8]) -> Option<Unsupported> {
        match self {
            // The number of a key is in front.
            Format::MariaDb => (u32_at(page, 0) != 0 && u32_at(page, SIZE - 4) == self.sum(page))
                .then_some(Unsupported::Encrypted),
            // Kinds of their own: compressed, encrypted, both.
            Format::MySql => match u16_at(page, fil::TYPE) {
                14 | 16 => Some(Unsupported::Compressed),
                15 => Some(Unsupported::Encrypted),
                _ => None,
            },
        }
    }

    /// The sum of a page as it is.
    pub fn sum(self, page: &[u8]) -> u32 {
        match self {
            Format::MySql => {
                crc32c::crc32c(&page[fil::NUMBER..fil::FLUSH_LSN])
                    ^ crc32c::crc32c(&page[fil::BODY..SIZE - 8])
            }
            Format::MariaDb => crc32c::crc32c(&page[..SIZE - 4]),
        }
    }

    /// Writes the sum, and what else goes into header and trailer with it.
    pub fn seal(self, page: &mut [u8]) {
        let (lsn, trailer) = (fil::LSN + 4, SIZE - fil::TRAILER);
        match self {
            Format::MySql => {
                page.copy_within(lsn..lsn + 4, SIZE - 4);
                let sum = self.sum(page).to_be_bytes();
                page[..4].copy_from_slice(&sum);
                page[trailer..trailer + 4].copy_from_slice(&sum);
            }
            Format::MariaDb => {
                page[..4].fill(0);
                page.copy_within(lsn..lsn + 4, trailer);
                let sum = self.sum(page).to_be_bytes();
                page[SIZE - 4..].copy_from_slice(&sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Vec<u8> {
        let mut page: Vec<u8> = (0..SIZE).map(|i| (i * 7) as u8).collect();
        page[fil::FLUSH_LSN..fil::SPACE].fill(0);
        page
    }

    #[test]
    fn what_is_sealed_is_right_and_what_is_flipped_is_not() {
        for format in [Format::MySql, Format::MariaDb] {
            let mut page = page();
            format.seal(&mut page);
            assert!(format.sum_is_right(&page));
            for at in 0..SIZE {
                page[at] ^= 0x40;
                // MySQL's sum leaves out what only the first page of other files has.
                let left_out = format == Format::MySql && (fil::FLUSH_LSN..fil::BODY).contains(&at);
                assert_eq!(format.sum_is_right(&page), left_out, "{format:?} at {at}");
                page[at] ^= 0x40;
            }
        }
    }

    #[test]
    fn flags_say_what_a_file_is() {
        let of = |flags: u32| {
            let mut page = vec![0; SIZE];
            page[FLAGS..FLAGS + 4].copy_from_slice(&flags.to_be_bytes());
            Format::of(&page)
        };
        assert_eq!(of(0x4021), Ok(Format::MySql));
        assert_eq!(of(0x4421), Ok(Format::MySql));
        assert_eq!(of(0x15), Ok(Format::MariaDb));
        assert_eq!(of(0x6021), Err(Unsupported::Encrypted));
        assert_eq!(of(0x4027), Err(Unsupported::Compressed));
        assert_eq!(of(0x14), Err(Unsupported::PageSize));
        assert_eq!(of(0x35), Err(Unsupported::Compressed));
        assert_eq!(of(0x4821), Err(Unsupported::Shared));
        assert_eq!(of(0x21), Err(Unsupported::Flags(0x21)));
    }
}
