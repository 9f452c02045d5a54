//! The binary log of a server, archived: what is stored is, byte for byte, what the server has, or the gap is named.

mod archive;
mod breaks;
mod drilled;
mod elsewhere;
mod encrypted;
mod encrypted_log;
mod kept;
mod kit;
mod leftover;
mod point_in_time;
mod repair;
mod semi_sync;
mod show;
mod timelines;
mod under_load;
mod undo;
mod values;
mod watching;
mod way;
