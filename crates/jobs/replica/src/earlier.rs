//! What an earlier run has begun, and whether this one may go on with it.

use crate::check::Side;
use crate::from_archive::Given;
use crate::made::Record;
use crate::options::Options;
use crate::{execute, refused};
use base::Result;
use base::units::printable;
use run::failure;
use server::replication::{self, Thread, Words};

/// What tells a source from another server at the same address.
pub(crate) fn source_id(source: &Side) -> String {
    let number = source.id.variable("server_id").unwrap_or("0");
    match &source.id.uuid {
        Some(uuid) => format!("server_id {number}, {uuid}"),
        None => format!("server_id {number}"),
    }
}

/// What an earlier run has recorded; refused unless this one shall go on with it.
pub(crate) fn record(
    options: &Options,
    (target, name): (&str, &str),
    source: &Side,
    new: &mut Side,
) -> Result<Option<Record>> {
    let Some(mut record) = Record::open(&options.state, target)? else {
        return Ok(None);
    };
    let made = &record.made;
    if made.source != name {
        return Err(refused(
            format!(
                "an earlier run has begun to make {target} a replica of {}",
                made.source
            ),
            "penstock replica abort removes what it has made",
        ));
    }
    // Whether that run came to make anything, only the server knows.
    if made.copying
        && made.from.is_none()
        && made.accounts.is_empty()
        && schemas_of(new)?.is_empty()
    {
        record.write(|made| made.copying = false)?;
    }
    let made = &record.made;
    if !made.copying {
        // Nothing was made yet, but perhaps an account.
        return Ok(Some(record));
    }
    if !options.resume {
        return Err(refused(
            format!(
                "{target} was made a replica by an earlier run, which began at {}",
                made.began
            ),
            "--resume continues it; penstock replica abort removes what it has made",
        ));
    }
    // Rows and accounts are of one moment.
    match (&made.archive, &made.from) {
        (Some(archive), None) if !options.from_archive => {
            return Err(refused(
                format!(
                    "an earlier run has begun to load the archive {}",
                    archive.name
                ),
                "name it again, with --from-archive, or with --via if this command had made it; penstock replica abort removes what was made",
            ));
        }
        (None, None) if options.from_archive => {
            return Err(refused(
                "an earlier run has begun to copy the source",
                "leave --from-archive and --via out; penstock replica abort removes what was made",
            ));
        }
        _ => {}
    }
    let (was, is) = (&made.source_id, source_id(source));
    if !was.is_empty() && *was != is {
        return Err(refused(
            format!(
                "{name} is another server than the one that was copied: {is}, and it was {was} (a failover?)"
            ),
            "what was copied has no known place in its log: penstock replica abort --drop-data, and begin again with the new source; or name the server that was copied",
        ));
    }
    Ok(Some(record))
}

/// The archive that is named; refused if it is another one than an earlier run has begun to load.
pub(crate) fn opened(options: &Options, found: Option<&Record>) -> Result<Given> {
    // Before it is looked for where it may not be.
    let named = options
        .copy
        .loads
        .first()
        .map(|l| printable(&l.from.absolute()));
    if let (Some(made), Some(named)) = (found.map(|r| &r.made), named)
        && made.copying
        && let Some(archive) = &made.archive
        && archive.name != named
    {
        return Err(refused(
            format!(
                "{named} is not the archive that an earlier run has begun to load, which was {}",
                archive.name
            ),
            "name that one; penstock replica abort --drop-data removes what was made",
        ));
    }
    let given = Given::open(options)?;
    match found.map(|r| &r.made) {
        Some(made) if made.copying && made.archive.as_ref() != Some(&given.which) => {
            let which = made.archive.clone().unwrap_or_default();
            Err(refused(
                format!(
                    "{} is not the archive that an earlier run has begun to load, which was {}",
                    given.which.name, which.name
                ),
                "name that one; penstock replica abort --drop-data removes what was made",
            ))
        }
        _ => Ok(given),
    }
}

/// Whether it has a channel that was connected. One that never was is removed: its address or account may be wrong.
pub(crate) fn has_connected(new: &mut Side, name: &str) -> Result<bool> {
    let all = replication::channels(&mut new.conn, &new.id)
        .map_err(|e| failure::server("cannot look for channels", e))?;
    let Some(channel) = all.iter().find(|c| c.name == name) else {
        return Ok(false);
    };
    if channel.source_id != 0 || channel.is_connected() {
        return Ok(true);
    }
    let words = Words::of(&new.id, name);
    let doing = "cannot remove the channel that never connected";
    execute(&mut new.conn, &words.stop(Thread::Both), doing)?;
    execute(&mut new.conn, &words.remove(), doing)?;
    Ok(false)
}

/// The schemas of users on the new server: it had none before.
pub(crate) fn schemas_of(new: &mut Side) -> Result<Vec<String>> {
    let rows = new
        .conn
        .fetch("SHOW DATABASES")
        .map_err(|e| failure::wire("cannot list the schemas of the new server", e))?;
    let names = rows.into_iter().flatten().flatten();
    Ok(names
        .map(|n| String::from_utf8_lossy(&n).into_owned())
        .filter(|n| !server::filter::is_system_schema(n))
        .collect())
}
