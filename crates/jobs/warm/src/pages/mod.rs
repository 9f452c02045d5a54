//! The server's own list of hot pages, carried to a server with the same files.
//!
//! `file` keeps it, `save` makes it, `load` checks that the files are the same and has the server load it. `marks` is how
//! files are compared.

pub mod file;
pub mod load;
mod marks;
pub mod save;
