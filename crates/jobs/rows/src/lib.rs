//! What dump, load and verify share: how a table is read (`table_plan`), how it is divided into key
//! ranges (`key_ranges`), what a selection leaves (`selection`), and how an archive is opened
//! (`archives`).

pub mod archives;
pub mod key_ranges;
pub mod selection;
pub mod table_plan;
