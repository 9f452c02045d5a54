//! Rows into tables by SQL: which chunk goes next (`schedule`), how many of them together (`batch_size`),
//! their bytes on the way to the server (`chunk_stream`), and the workers that send them (`loaders`).

pub(crate) mod batch_size;
pub(crate) mod chunk_stream;
pub mod loaders;
pub mod schedule;
