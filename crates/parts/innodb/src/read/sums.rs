//! Checksums of pages, of all algorithms that servers write.
//!
//! MySQL and MariaDB before 10.5: `innodb_checksum_algorithm` is `crc32`, `innodb` or `none`, and each page may have
//! another one (buf0checksum.cc of MySQL, buf_page_is_corrupted). MariaDB since 10.5: `full_crc32`, which the
//! flags of the file say. Pages are of any size here. Judged apart from `format`, by which files are built.

use crate::page::{fil, u32_at};

/// The checksums of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// One sum over all but itself, at the end of a page.
    Full,
    /// Sums at both ends of a page.
    Ends,
}

/// What stands in place of a sum under `none` (`BUF_NO_CHECKSUM_MAGIC`).
const NONE: u32 = 0xdead_beef;

impl Sums {
    /// Whether the sum of a page is right. `page` is as it is stored.
    pub fn is_right(self, page: &[u8]) -> bool {
        let size = page.len();
        if size < fil::BODY + fil::TRAILER {
            return false;
        }
        let front = u32_at(page, 0);
        let low_lsn = u32_at(page, fil::LSN + 4);
        match self {
            Sums::Full => {
                u32_at(page, size - 4) == crc32c::crc32c(&page[..size - 4])
                    && u32_at(page, size - 8) == low_lsn
            }
            Sums::Ends => {
                let back = u32_at(page, size - 8);
                let crc = || {
                    crc32c::crc32c(&page[fil::NUMBER..fil::FLUSH_LSN])
                        ^ crc32c::crc32c(&page[fil::BODY..size - 8])
                };
                u32_at(page, size - 4) == low_lsn
                    && (front == back && front == crc()
                        || front == NONE && back == NONE
                        || front
                            == fold(&page[fil::NUMBER..fil::FLUSH_LSN])
                                .wrapping_add(fold(&page[fil::BODY..size - 8]))
                            && back == fold(&page[..fil::FLUSH_LSN]))
            }
        }
    }
}

/// InnoDB's own sum of bytes, its low 32 bits (`ut_fold_binary`, ut0rnd.ic).
fn fold(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0u32, |sum, b| {
        let b = u32::from(*b);
        let mixed = ((sum ^ b ^ 1_653_893_711) << 8).wrapping_add(sum);
        (mixed ^ 1_463_735_687).wrapping_add(b)
    })
}
