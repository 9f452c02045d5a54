//! What dump, load and verify share: how a table is read (`table_plan`), how it is cut into key ranges
//! (`key_ranges`), what a selection leaves (`selection`), how an archive is opened (`archives`) and described (`description`), how definitions look in one (`definitions`), how a new one is
//! begun (`new_archive`), how a dump is loaded while it is written (`feed`), how rows are stored with LOAD DATA (`load_data`; the TPC-C fill uses it too), what a server keeps of
//! generated columns (`generated`), how records lie in files of MariaDB (`mariadb_files`),
//! and the accounts of a server (`accounts`; replicas make them too).

pub mod accounts;
pub mod archives;
pub mod choices;
pub mod definitions;
pub mod description;
pub mod feed;
pub mod generated;
pub mod key_ranges;
pub mod load_data;
pub mod mariadb_files;
pub mod new_archive;
pub mod renaming;
pub mod selection;
pub mod table_plan;
