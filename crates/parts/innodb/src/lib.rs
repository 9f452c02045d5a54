//! Tablespaces of InnoDB: their pages, read, checked and built without a server.
//!
//! `page` and `format` say where things lie in a page and how it is checksummed,
//! `cfg` reads what `FLUSH TABLES … FOR EXPORT` writes beside a file, `layout`
//! makes of that how records of an index lie, `collation` in which order,
//! `record` walks them; `redo` says whether the log ended with the server; `space` accounts for extents and segments, and `check`
//! puts it together: every invariant of a whole file. `bulk` makes new files,
//! of `value`s, and `names` says what they are called; it shares with the check what a page looks like, not how it is
//! judged.
//! Only 16 KiB pages, the row formats COMPACT and DYNAMIC, no compression and
//! no encryption: anything else is an error that names it.
//! Invariant: bytes of a file are taken to be hostile; none of them makes this
//! crate panic, loop or take memory that the file does not have.

pub mod bulk;
pub mod cfg;
pub mod check;
pub mod collation;
pub mod format;
pub mod layout;
pub mod names;
pub mod page;
pub mod read;
pub mod record;
pub mod redo;
pub mod space;
pub mod value;

#[cfg(test)]
mod tests;

pub use cfg::Exported;
pub use check::{Report, check};
pub use format::Format;
pub use layout::Layout;
