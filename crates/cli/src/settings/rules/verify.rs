//! `verify`: which things are compared.

use super::connection::said_twice;
use super::load::unpacks;
use super::names::no_names;
use super::refused::refuse;
use crate::args::verify::Verify;
use base::Result;

/// `penstock verify`.
pub fn verify(a: &Verify) -> Result<()> {
    let stream = a.archive.as_deref().is_some_and(|a| a.as_os_str() == "-");
    unpacks(a.scratch.as_deref(), stream)?;
    let server = a.connection.names_a_server();
    let how = a.connection.says_how();
    if a.archive.is_none() && !a.encryption.is_empty() {
        return refuse(
            "--identity and --passphrase-file open an archive, and none is named",
            "leave them out",
        );
    }
    if a.archive.is_none() {
        no_names(
            &a.names,
            "it is for an archive that was loaded under other names",
            "leave it out",
        )?;
    }
    if !a.tablespace.is_empty() {
        if !a.selection.is_empty() || server || how || a.limits.max_rate.is_some() {
            return refuse(
                "--tablespace checks files as they are: no server, no selection and no rate goes with it",
                "penstock verify --tablespace FILE.ibd",
            );
        }
        return Ok(());
    }
    if a.archive.is_none() {
        if a.server.len() != 2 {
            return refuse(
                "a comparison of servers needs two of them",
                "penstock verify --server A --server B",
            );
        }
        return said_twice(a.server.iter().map(String::as_str), &a.connection);
    }
    if a.against.is_some() || server {
        if a.files_only {
            return refuse(
                "--files-only is for an offline check, and a server is named",
                "leave one of the two out",
            );
        }
        return Ok(());
    }
    if a.no_definitions {
        return refuse(
            "--no-definitions is for a comparison with a server, and none is named",
            "add --against SERVER, or leave it out",
        );
    }
    if !a.selection.is_empty() {
        return refuse(
            "an offline check covers the whole archive; a selection needs a server to compare with",
            "add --against SERVER, or leave the selection out",
        );
    }
    no_names(
        &a.names,
        "an offline check covers the archive as it is",
        "add --against SERVER, or leave it out",
    )?;
    if how || a.limits.max_rate.is_some() {
        return refuse(
            "an offline check reads no server: options on a connection and its rate do not apply",
            "add --against SERVER, or leave them out",
        );
    }
    Ok(())
}
