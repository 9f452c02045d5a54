//! The binary log of a server, archived: what is stored is, byte for byte, what the server has, or the gap is named.

mod archive;
mod breaks;
mod elsewhere;
mod encrypted;
mod encrypted_log;
mod kept;
mod kit;
mod leftover;
mod point_in_time;
mod repair;
mod show;
mod timelines;
mod undo;
mod values;
mod watching;
mod way;
