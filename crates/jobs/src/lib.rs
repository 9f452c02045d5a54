//! What a user asks for: dump, load, verify, doctor, bench, report. Inside a job the files are its
//! steps, in order.
//!
//! A job takes options that say what is meant (not what was typed), tells an
//! [`base::Observer`] what it does, and returns a summary or one
//! [`base::Error`]. It knows nothing of terminals, flags or environment.

pub mod bench;
pub mod connect;
pub mod doctor;
pub mod dump;
pub mod failure;
pub mod held;
pub mod keys;
pub mod load;
pub mod own;
pub mod record;
pub mod report;
pub mod rows;
pub mod run;
pub mod status;
pub mod steer;
pub mod throttle;
pub mod tune;
pub mod verify;

pub use run::Run;

/// How files are opened that stand in a folder which may be another account's: never through a link, which could lead
/// anywhere, and without waiting for anybody.
const NO_LINK: i32 = rustix::fs::OFlags::NOFOLLOW
    .union(rustix::fs::OFlags::NONBLOCK)
    .bits()
    .cast_signed();
