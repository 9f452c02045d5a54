//! The whole-tool tests: the real binary against real servers of both flavours.
//!
//! Files are named after what they prove. A test that needs a server or a program which this machine
//! does not have is skipped: it passes, and `./dev test` counts it at the end, with the reason. What
//! `PENSTOCK_TEST_REQUIRE` lists must be there.

mod kit;

mod chunking;
mod cold;
mod consistency;
mod damage;
mod datadir;
mod fidelity;
mod held;
mod hostile;
mod impact;
mod interrupts;
mod limits;
mod old_source;
mod other_dumps;
mod partitions;
mod refusals;
mod report;
mod resume;
mod road;
mod samples;
mod secrets;
mod series;
mod shell_archive;
mod steering;
mod tablespace;
mod throttle;
mod tpcc;
mod tuning;
