//! Removes what `create` has made, and says what that was.

use crate::check::{Side, reset_gtids};
use crate::earlier::schemas_of;
use crate::made::{Made, Record};
use crate::{account, execute, of_new, of_source, refused, value};
use base::units::printable;
use base::{Result, failpoint};
use binlog::gtid::mariadb::Gtid;
use rows::accounts::make;
use run::{Run, connect, failure};
use server::replication::{Thread, Words};
use server::{quote, session};
use std::collections::BTreeSet;
use std::path::Path;

/// What was removed, and what could not be.
#[derive(Clone, Debug, Default)]
pub struct Aborted {
    /// The server that was to be a replica.
    pub server: String,
    /// In words.
    pub removed: Vec<String>,
    /// What was not asked to be removed, in words.
    pub kept: Vec<String>,
    /// What could not be removed, in words, with the reason.
    pub left: Vec<String>,
}

/// Undoes what an earlier run made of this server. `source`: where the account for replication is; `data`: also drop the copy.
pub fn abort(
    run: &Run,
    server: &wire::Options,
    source: Option<&wire::Options>,
    data: bool,
    state: &Path,
) -> Result<Aborted> {
    let target = server.endpoint.to_string();
    let Some(mut record) = Record::open(state, &target)? else {
        return Err(refused(
            format!(
                "nothing is recorded of {target}: no run on this host has begun to make it a replica"
            ),
            "run it on the host, and as the user, of penstock replica create",
        ));
    };
    let (conn, id) =
        connect::open(run, server).map_err(|e| failure::of_server("the new server", e))?;
    let mut new = Side { conn, id };
    session::skip_binlog(&mut new.conn, &new.id)
        .map_err(|e| failure::server("cannot keep this out of the binary log", e))?;
    let mut done = Aborted {
        server: format!("{} at {target}", new.id),
        ..Aborted::default()
    };
    if let Some(name) = record.made.channel.clone() {
        let words = Words::of(&new.id, &name);
        let all = server::replication::channels(&mut new.conn, &new.id)
            .map_err(|e| failure::server("cannot look for channels", e))?;
        if all.iter().any(|c| c.name == name) {
            execute(
                &mut new.conn,
                &words.stop(Thread::Both),
                "cannot stop the channel",
            )?;
            execute(&mut new.conn, &words.remove(), "cannot remove the channel")?;
            done.removed.push(match name.as_str() {
                "" => "the channel (unnamed)".to_owned(),
                name => printable(&format!("the channel {name}")),
            });
        }
        record.write(|made| made.channel = None)?;
        failpoint::reached("the channel is removed");
    }
    if let Some((user, host)) = record.made.account.clone() {
        let named = printable(&quote::account(&user, &host));
        let removed = source
            .ok_or_else(|| "the source is not named: add --source SERVER".to_owned())
            .and_then(|source| {
                let (mut conn, id) = connect::open(run, source).map_err(|e| e.what)?;
                account::remove(&mut conn, &id, &user, &host).map_err(|e| e.what)
            });
        match removed {
            Ok(()) => {
                done.removed
                    .push(format!("the account {named} of the source"));
                // It came here with the log.
                account::remove(&mut new.conn, &new.id, &user, &host)?;
                record.write(|made| made.account = None)?;
            }
            Err(why) => done
                .left
                .push(format!("the account {named} of the source: {why}")),
        }
    }
    let came = match (source, record.made.from.is_some() && data) {
        (Some(source), true) => {
            with_the_log(run, source, &mut new, &record.made).unwrap_or_else(|e| {
                let what = format!("what came with the source's log since: {}", e.what);
                done.left.push(printable(&what));
                Came::default()
            })
        }
        _ => Came::default(),
    };
    remove_data(&mut new, &mut record, (data, came), &mut done)?;
    if done.left.is_empty() && done.kept.is_empty() {
        record.remove()?;
    }
    Ok(done)
}

/// What came to the new server with the log of its source.
#[derive(Default)]
struct Came {
    schemas: Vec<String>,
    accounts: Vec<(String, String)>,
}

/// What it has that the source has, too, and that it neither had before nor got from the copy.
fn with_the_log(run: &Run, source: &wire::Options, new: &mut Side, made: &Made) -> Result<Came> {
    let (conn, id) = connect::open(run, source).map_err(of_source)?;
    let mut source = Side { conn, id };
    let theirs = schemas_of(&mut source).map_err(of_source)?;
    let mut schemas = schemas_of(new).map_err(of_new)?;
    schemas.retain(|s| theirs.contains(s) && !made.schemas.contains(s));
    let Some(before) = &made.accounts_before else {
        return Ok(Came {
            schemas,
            ..Came::default()
        });
    };
    let theirs = make::existing(&mut source.conn).map_err(of_source)?;
    let lower = |(user, host): &(String, String)| (user.clone(), host.to_lowercase());
    let copied: BTreeSet<_> = made.accounts.iter().map(lower).collect();
    let all = make::existing(&mut new.conn).map_err(of_new)?.into_iter();
    let came = all.filter(|a| theirs.contains(a) && !before.contains(a) && !copied.contains(a));
    Ok(Came {
        schemas,
        accounts: came.collect(),
    })
}

fn remove_data(
    new: &mut Side,
    record: &mut Record,
    (data, came): (bool, Came),
    done: &mut Aborted,
) -> Result<()> {
    let made = record.made.clone();
    let copied = made.copying && made.from.is_none();
    if !data {
        if made.copying {
            let what = match copied {
                true if made.archive.is_some() => "what was loaded of the archive",
                true => "a part of the copy",
                false => "the copy and its accounts",
            };
            done.kept.push(format!(
                "{what}: --drop-data removes the schemas of users and the accounts that were made"
            ));
        }
        return Ok(());
    }
    let names = match copied {
        // It had none before the copy began.
        true => schemas_of(new)?,
        false => [made.schemas.clone(), came.schemas].concat(),
    };
    if !names.is_empty() {
        execute(
            &mut new.conn,
            "SET SESSION foreign_key_checks = 0",
            "cannot prepare the session",
        )?;
    }
    for name in &names {
        let quoted = quote::ident(name);
        execute(
            &mut new.conn,
            &format!("DROP DATABASE IF EXISTS {quoted}"),
            format!("cannot drop {quoted}"),
        )?;
        done.removed.push(printable(&format!("schema {quoted}")));
    }
    for (user, host) in made.accounts.iter().chain(&came.accounts) {
        account::remove(&mut new.conn, &new.id, user, host)?;
        done.removed.push(printable(&format!(
            "account {}",
            quote::account(user, host)
        )));
    }
    if made.from.is_some() {
        forget_transactions(new, done)?;
    }
    record.write(|made| {
        made.copying = false;
        made.archive = None;
        made.from = None;
        made.copied = None;
        made.exceptions.clear();
        made.schemas.clear();
        made.accounts.clear();
    })
}

/// The transactions of other servers in the log of a server of MariaDB.
fn logged_of_others(new: &mut Side) -> Result<String> {
    let sql = "SELECT @@GLOBAL.gtid_binlog_state";
    let state = value(&mut new.conn, sql, "cannot read the GTIDs of its log")?;
    let own: Option<u32> = new.id.variable("server_id").and_then(|n| n.parse().ok());
    let all = state.split(',').filter_map(Gtid::parse);
    let others = all.filter(|g| Some(g.server) != own);
    let others: Vec<String> = others.map(|g| g.to_string()).collect();
    Ok(others.join(","))
}

/// It had executed none before it became a replica.
fn forget_transactions(new: &mut Side, done: &mut Aborted) -> Result<()> {
    if new.id.is_mariadb() {
        // With log_slave_updates the source's transactions are in its own log, too, and with gtid_strict_mode they could
        // not come there a second time.
        let written = logged_of_others(new)?;
        if !written.is_empty() {
            match execute(&mut new.conn, "RESET MASTER", "cannot reset the binary log") {
                Ok(()) => done.removed.push(printable(&format!(
                    "the binary log, which had the source's transactions ({written})"
                ))),
                Err(e) => done.left.push(printable(&format!(
                    "the source's transactions in the binary log ({written}): {}",
                    e.what
                ))),
            }
        }
        let sql = "SET GLOBAL gtid_slave_pos = ''";
        return execute(&mut new.conn, sql, "cannot reset the GTID position");
    }
    if new.id.variable("gtid_mode") != Some("ON") {
        return Ok(());
    }
    let reset = reset_gtids(&new.id);
    execute(&mut new.conn, reset, "cannot reset the executed GTIDs")
}
