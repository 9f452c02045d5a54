//! The two places in the binary log between which it is the proof, or why it proves nothing.

use archive::Manifest;
use binlog_archive::{Place, Since};
use server::{Identity, Position};

/// Where the log is to be read from; the error says why it proves nothing.
pub fn since(earlier: &Manifest, id: &Identity) -> Result<Since, String> {
    let position = &earlier.position;
    let (file, offset) = match (&position.binlog_file, position.binlog_position) {
        (Some(file), Some(offset)) => (file.clone(), offset),
        _ => return Err("it has no place in a binary log".to_owned()),
    };
    let Some(time) = position.server_time else {
        return Err("it does not say when its snapshot was taken".to_owned());
    };
    let then = &earlier.source;
    let address = (&id.hostname, id.port, &id.socket, &id.datadir);
    // Old servers have no UUID.
    let same = match id.uuid.as_deref().unwrap_or_default() {
        "" => {
            then.uuid.is_empty()
                && address == (&then.hostname, then.port, &then.socket, &then.datadir)
        }
        uuid => uuid == then.uuid,
    };
    if !same {
        return Err("it is of another server".to_owned());
    }
    let knows_changes = id.mysql_at_least(5, 7, 0) || id.mariadb_at_least(10, 2, 2);
    if !knows_changes {
        return Err(format!(
            "{id} does not know when rows of a table were changed"
        ));
    }
    if !id.log_bin {
        return Err("the server writes no binary log".to_owned());
    }
    Ok(Since {
        place: Place { file, offset },
        time,
    })
}

/// The place of the snapshot; the error says why it proves nothing.
pub fn here(position: &Position, earlier: &Manifest, id: &Identity) -> Result<Place, String> {
    let logs = id.is_on("log_slave_updates") || id.is_on("log_replica_updates");
    if id.is_on("wsrep_on") && !logs {
        return Err(
            "the server is a node of a cluster and does not log what others write".to_owned(),
        );
    }
    // It may have been one at the earlier moment only.
    let sources = !position.sources.is_empty() || !earlier.position.sources.is_empty();
    let applied = id.variable("gtid_slave_pos").is_some_and(|p| !p.is_empty());
    if (sources || applied) && !logs {
        return Err("the server is or was a replica, and does not log what it applies".to_owned());
    }
    if let Some(grant) = position.sources_hidden.as_ref().filter(|_| !logs) {
        return Err(format!(
            "the server does not log what it would apply as a replica, and the account may not see whether it is one ({grant})"
        ));
    }
    if id.variable("slave_run_triggers_for_rbr") == Some("YES") {
        let why = "triggers run on what is replicated without being logged (slave_run_triggers_for_rbr=YES)";
        return Err(why.to_owned());
    }
    match (&position.binlog_file, position.binlog_position) {
        (Some(file), Some(offset)) => Ok(Place {
            file: file.clone(),
            offset,
        }),
        _ => Err("the new snapshot has no place in the binary log".to_owned()),
    }
}
