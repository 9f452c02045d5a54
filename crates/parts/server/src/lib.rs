//! What a server is: flavour and version, what the account may do, which
//! objects there are and how they are defined, where its binary log is,
//! and how names and values are quoted.
//!
//! Everything here reads or describes; nothing here moves rows or decides what
//! a job does next. All statements run on a connection the caller owns, and no
//! function changes a global variable.

pub mod catalog;
pub mod ddl;
pub mod error;
pub mod filter;
pub mod identity;
pub mod literal;
pub mod name_map;
pub mod position;
pub mod privileges;
pub mod quote;
pub mod replication;
pub mod session;
pub mod tablespaces;

mod ask;

pub use catalog::Catalog;
pub use error::{Error, Result};
pub use filter::Filter;
pub use identity::{Flavour, Identity, Version};
pub use name_map::NameMap;
pub use position::{Position, SourcePosition};
pub use privileges::Privileges;
