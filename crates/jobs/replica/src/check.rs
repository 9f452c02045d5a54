//! What would end badly, refused before anything is changed.

use crate::options::Options;
use crate::refused;
use base::{Error, Kind, Result};
use binlog::gtid::Executed;
use binlog::gtid::mariadb::Position;
use run::failure;
use server::privileges::{Privileges, for_new_replica, for_source_of_replica};
use server::{Identity, replication};
use wire::Conn;

/// A server, as the checks see it.
pub(crate) struct Side {
    pub(crate) conn: Conn,
    pub(crate) id: Identity,
}

/// Both servers, as they are.
pub(crate) fn check(source: &mut Side, new: &mut Side, options: &Options) -> Result<()> {
    if source.id.same_server(&new.id) {
        return Err(refused(
            "both addresses are of one and the same server",
            "name another server",
        ));
    }
    versions(&source.id, &new.id)?;
    numbers(&source.id, &new.id)?;
    settings(&new.id, options)?;
    gtids(source, new)?;
    no_channel(new, options)?;
    rights(source, new, options)
}

fn versions(source: &Identity, new: &Identity) -> Result<()> {
    let by_copy = "penstock copy makes a copy that does not follow its source";
    if source.is_mariadb() != new.is_mariadb() {
        return Err(refused(
            format!("{new} cannot be a replica of {source}: it does not apply all of its events"),
            by_copy,
        ));
    }
    for (id, who) in [(source, "source"), (new, "new server")] {
        let known = id.mysql_at_least(8, 0, 23) || id.mariadb_at_least(10, 4, 0);
        if !known {
            return Err(refused(
                format!(
                    "the {who} is {id}; replicas are made of MySQL 8.0.23 and later, and of MariaDB 10.4 and later"
                ),
                by_copy,
            ));
        }
    }
    let (of_source, of_new) = (&source.version, &new.version);
    if (of_new.major, of_new.minor) < (of_source.major, of_source.minor) {
        return Err(refused(
            format!(
                "{new} is older than its source, {source}: servers replicate to the same or a later version"
            ),
            by_copy,
        ));
    }
    Ok(())
}

fn numbers(source: &Identity, new: &Identity) -> Result<()> {
    let number = |id: &Identity| id.variable("server_id").unwrap_or("0").to_owned();
    let (theirs, own) = (number(source), number(new));
    if !source.log_bin {
        return Err(refused(
            "the source writes no binary log, so nothing can follow it",
            "start it with log_bin and a server_id",
        ));
    }
    for (id, who) in [(&theirs, "source"), (&own, "new server")] {
        if id == "0" {
            return Err(refused(
                format!("the {who} has no server_id"),
                "SET GLOBAL server_id = …, a number of its own, also in its option file",
            ));
        }
    }
    if theirs == own {
        return Err(refused(
            format!(
                "both servers have the server_id {own}: a replica ignores events of its own number"
            ),
            "SET GLOBAL server_id = … on the new server, also in its option file",
        ));
    }
    if source.uuid.is_some() && source.uuid == new.uuid {
        return Err(refused(
            "both servers have the same server_uuid: one is a copy of the other's files",
            "stop the new server, remove auto.cnf from its data directory, and start it",
        ));
    }
    Ok(())
}

fn settings(new: &Identity, options: &Options) -> Result<()> {
    if !new.read_only && !new.super_read_only && !options.allow_writable {
        return Err(refused(
            "read_only is OFF on the new server: an application that writes there would make it another server than its source",
            "SET GLOBAL read_only = ON, also in its option file; or add --allow-writable",
        ));
    }
    for (name, value) in &new.variables {
        let filter = name.starts_with("replicate_")
            && (name.contains("_do_") || name.contains("_ignore_") || name.contains("_rewrite_"));
        if filter && !value.is_empty() {
            return Err(refused(
                format!(
                    "the new server has a replication filter ({name} = {value}): it would not get everything"
                ),
                "remove the filter",
            ));
        }
    }
    for name in ["replica_skip_errors", "slave_skip_errors"] {
        if let Some(value) = new.variable(name)
            && !matches!(value, "" | "OFF" | "0")
        {
            return Err(refused(
                format!("the new server skips errors of its applier ({name} = {value})"),
                format!("remove {name} from its option file, and restart it"),
            ));
        }
    }
    Ok(())
}

/// Whether the source has GTIDs that the new server can follow by.
pub(crate) fn uses_gtids(source: &Identity) -> bool {
    source.is_mysql() && source.variable("gtid_mode") == Some("ON")
}

fn gtids(source: &mut Side, new: &mut Side) -> Result<()> {
    if source.id.is_mariadb() {
        let own = crate::value(
            &mut new.conn,
            "SELECT @@GLOBAL.gtid_slave_pos",
            "cannot read the GTID position",
        )?;
        strict(source, new)?;
        return match own.as_str() {
            "" => Ok(()),
            own => Err(refused(
                format!(
                    "the new server has applied transactions of another source already ({own})"
                ),
                "it must be a new server; SET GLOBAL gtid_slave_pos = '' makes it forget them",
            )),
        };
    }
    let mode = |id: &Identity| id.variable("gtid_mode").unwrap_or("OFF").to_owned();
    let (theirs, own) = (mode(&source.id), mode(&new.id));
    if theirs == "ON" && own != "ON" || theirs != "ON" && own == "ON" {
        return Err(refused(
            format!("gtid_mode is {theirs} on the source and {own} on the new server"),
            format!("set gtid_mode = {theirs} on the new server"),
        ));
    }
    let executed = crate::value(
        &mut new.conn,
        "SELECT @@GLOBAL.gtid_executed",
        "cannot read the executed GTIDs",
    )?;
    if theirs == "ON" && !executed.is_empty() {
        let reset = reset_gtids(&new.id);
        return Err(refused(
            format!(
                "the new server has executed transactions of its own ({}), which its source would not have",
                executed.replace('\n', "")
            ),
            format!("if nothing of them matters: {reset} on the new server"),
        ));
    }
    Ok(())
}

/// With `gtid_strict_mode` a server of MariaDB writes no number of a domain into its log that is not above all before.
fn strict(source: &mut Side, new: &mut Side) -> Result<()> {
    if !new.id.is_on("gtid_strict_mode") || !new.id.is_on("log_slave_updates") || !new.id.log_bin {
        return Ok(());
    }
    let doing = "cannot read the GTIDs of the logs";
    let sql = "SELECT @@GLOBAL.gtid_binlog_pos";
    let own = crate::value(&mut new.conn, sql, doing)?;
    let theirs = crate::value(&mut source.conn, sql, doing)?;
    let parsed = (Position::parse(&own), Position::parse(&theirs));
    let (Some(own), Some(theirs)) = parsed else {
        return Ok(());
    };
    let (own, theirs) = (Executed::MariaDb(own), Executed::MariaDb(theirs));
    let beyond = own.without(&theirs);
    // A domain that the source has never written to is no obstacle.
    let domains = theirs.to_string();
    let domain = |text: &str| text.split('-').next().unwrap_or_default().to_owned();
    let known: Vec<String> = domains.split(',').map(domain).collect();
    let beyond = beyond.to_string();
    match beyond.split(',').find(|g| known.contains(&domain(g))) {
        None => Ok(()),
        Some(own) => Err(refused(
            format!(
                "the binary log of the new server has {own}, which is beyond the source's ({theirs}): with gtid_strict_mode and log_slave_updates it cannot write what comes from there"
            ),
            "if nothing follows the new server: RESET MASTER there",
        )),
    }
}

/// The statement that makes a server of MySQL forget what it has executed.
pub(crate) fn reset_gtids(id: &Identity) -> &'static str {
    match id.mysql_at_least(8, 4, 0) {
        true => "RESET BINARY LOGS AND GTIDS",
        false => "RESET MASTER",
    }
}

fn no_channel(new: &mut Side, options: &Options) -> Result<()> {
    let channels = replication::channels(&mut new.conn, &new.id)
        .map_err(|e| failure::server("cannot look for channels", e))?;
    let Some(channel) = channels.first() else {
        return Ok(());
    };
    let name = match channel.name.as_str() {
        "" => "its unnamed channel".to_owned(),
        name => format!("channel {name}"),
    };
    let hint = match options.resume {
        true => "penstock replica status shows it",
        false => {
            "penstock replica status shows it; --resume continues one that penstock has begun, penstock replica abort removes it"
        }
    };
    Err(refused(
        format!(
            "the new server is a replica already: {name} reads from {}:{}",
            channel.host, channel.port
        ),
        hint,
    ))
}

/// Rights beyond those of a dump and a load, which these check themselves.
fn rights(source: &mut Side, new: &mut Side, options: &Options) -> Result<()> {
    let read = |side: &mut Side| {
        Privileges::read(&mut side.conn, &side.id)
            .map_err(|e| failure::server("cannot read the account's privileges", e))
    };
    let mut missing = Vec::new();
    let theirs = read(source)?;
    for privilege in for_source_of_replica(options.account.is_none()) {
        if !theirs.has(privilege) {
            let option = match *privilege {
                "REPLICATION SLAVE" => " WITH GRANT OPTION",
                _ => "",
            };
            missing.push(format!(
                "on the source: GRANT {privilege} ON *.* TO {}{option}",
                theirs.account
            ));
        }
    }
    let own = read(new)?;
    for privilege in for_new_replica(&new.id) {
        if !own.has(privilege) && !own.has("SUPER") {
            missing.push(format!(
                "on the new server: GRANT {privilege} ON *.* TO {}",
                own.account
            ));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let what = "the accounts lack privileges that a replica needs";
    Err(Error::new(Kind::Privilege, what).hint(missing.join(";\n") + ";"))
}
