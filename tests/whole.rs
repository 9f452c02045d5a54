//! The whole-tool tests: the real binary against real servers of both flavours.
//!
//! Files are named after what they prove. A test that needs a server or a program which this
//! machine does not have is skipped: it passes, and `./dev test` counts it at the end, with the
//! reason. What `PENSTOCK_TEST_REQUIRE` lists must be there.

mod kit;

mod accounts;
mod after_loads;
mod articles;
mod bench_compare;
mod bench_disk;
mod bench_disk_files;
mod bench_impact;
mod bench_tpcc;
mod binlog;
mod bottleneck;
mod by_hand;
mod chunking;
mod configuration;
mod consistency;
mod control;
mod copy_servers;
mod copy_via;
mod damage;
mod drill;
mod dump_resumed;
mod dumped_rows;
mod encryption;
mod existing;
mod fidelity;
mod forecast;
mod frm;
mod from_files;
mod hostile;
mod incremental;
mod interrupts;
mod list;
mod loaded_rows;
mod managed_instance;
mod mariadb118;
mod mysql55;
mod names;
mod not_seen;
mod offline_import;
mod only;
mod options;
mod other_dumps;
mod packaging;
mod partitions;
mod parts;
mod preflight;
mod previews;
mod rate_limits;
mod refusals;
mod repair;
mod replica;
mod replica_position;
mod report;
mod repository;
mod rescue;
mod resume;
mod samples;
mod secrets;
mod server_limits;
mod server_settings;
mod shell_archive;
mod snapshots;
mod stored_values;
mod stores;
mod streams;
mod tablespace;
mod tablespace_import;
mod tuning;
mod verify_definitions;
mod warm;
