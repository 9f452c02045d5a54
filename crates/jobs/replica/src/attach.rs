//! Position and channel: from where the new server follows, and whom.

use crate::made::From;
use crate::options::{Account, Address};
use crate::{execute, refused, value};
use base::{Error, Kind, Result};
use run::failure;
use server::replication::{self, Thread, Words};
use server::{Identity, Position, quote};
use wire::{Conn, Endpoint, Options, SslMode};

/// Seconds between two attempts to connect.
const RETRY: u32 = 5;

impl From {
    /// Where a copy of the source stands in its log.
    pub(crate) fn of(position: &Position) -> Result<From> {
        let place = position
            .binlog_file
            .clone()
            .zip(position.binlog_position)
            .ok_or_else(|| {
                let what = "the copy has no place in the source's binary log";
                Error::new(Kind::Internal, what)
            })?;
        Ok(From {
            file: place.0,
            position: place.1,
            gtid_executed: position.gtid_executed.clone(),
            gtid_binlog_pos: position.gtid_binlog_pos.clone(),
        })
    }

    /// Where a copy of a replica stands in the log of the replica's source.
    pub(crate) fn of_replica(position: &Position, channel: &str, by_gtid: bool) -> Result<From> {
        let mut sources = position.sources.iter();
        let place = sources.find(|s| s.channel == channel).ok_or_else(|| {
            Error::new(
                Kind::Internal,
                "the replica that was copied has no place in the log of its source",
            )
        })?;
        if !by_gtid && !place.exact {
            return Err(refused(
                "how far the replica that was copied had come in the log of its source is not exactly known: its applier has several workers",
                "copy from the source itself, or stop the replica's applier and begin again",
            ));
        }
        Ok(From {
            file: place.file.clone(),
            position: place.position,
            gtid_executed: position.gtid_executed.clone(),
            gtid_binlog_pos: position.gtid_slave_pos.clone(),
        })
    }

    /// The GTIDs to follow by, if the source has any.
    pub(crate) fn gtids(&self, by_gtid: bool) -> Option<&str> {
        let gtids = self
            .gtid_executed
            .as_ref()
            .or(self.gtid_binlog_pos.as_ref());
        gtids.map(String::as_str).filter(|_| by_gtid)
    }

    /// In words.
    pub(crate) fn described(&self, by_gtid: bool) -> String {
        match self.gtids(by_gtid) {
            Some(gtids) => format!("GTID {gtids}"),
            None => format!("{}:{}", self.file, self.position),
        }
    }
}

/// Where the new server finds its source.
pub(crate) fn address(
    given: Option<&Address>,
    source: &Options,
    new: &Options,
    id: &Identity,
) -> Result<Address> {
    if let Some(address) = given {
        return Ok(address.clone());
    }
    let is_here = |e: &Endpoint| match e {
        Endpoint::Unix(_) => true,
        Endpoint::Tcp(host, _) => host == "localhost" || host == "::1" || host.starts_with("127."),
    };
    let asked = || {
        refused(
            "the new server cannot reach its source by the address that penstock uses",
            "add --source-address HOST:PORT, as the new server sees the source",
        )
    };
    match &source.endpoint {
        Endpoint::Tcp(host, port) if !is_here(&source.endpoint) => Ok(Address {
            host: host.clone(),
            port: *port,
        }),
        here if is_here(&new.endpoint) => {
            let port = match here {
                Endpoint::Tcp(_, port) => Some(*port),
                Endpoint::Unix(_) => Some(id.port),
            };
            let port = port.filter(|p| *p != 0).ok_or_else(|| {
                refused(
                    "the source has no port, and replicas need one",
                    "start it without skip_networking",
                )
            })?;
            Ok(Address {
                host: "127.0.0.1".to_owned(),
                port,
            })
        }
        _ => Err(asked()),
    }
}

/// What to do about it after the copy.
pub(crate) const COPY_AGAIN: &str =
    "penstock replica abort, have the source keep its binary logs for longer, and begin again";

/// Refuses if the source has removed what comes behind the copy; `again`: the way out.
pub(crate) fn still_there(source: &mut Conn, from: &From, again: &str) -> Result<()> {
    let logs = replication::binary_logs(source)
        .map_err(|e| failure::server("cannot look at the source's binary logs", e))?;
    match logs.iter().find(|(name, _)| *name == from.file) {
        Some((_, size)) if *size >= from.position => return Ok(()),
        Some((_, size)) => {
            return Err(refused(
                format!(
                    "the binary log of the source was reset: {} ends at {size}, and the copy continues at {}",
                    from.file, from.position
                ),
                again,
            ));
        }
        None => {}
    }
    let oldest = logs.first().map_or("none", |(name, _)| name.as_str());
    Err(refused(
        format!(
            "the source has removed the binary log that the copy continues with: {} (its oldest is {oldest})",
            from.file
        ),
        again,
    ))
}

/// Tells the new server what it has, and whom it follows.
pub(crate) fn attach(
    new: &mut Conn,
    id: &Identity,
    channel: &str,
    (from, by_gtid): (&From, bool),
    (address, account): (&Address, &Account),
    source: &Options,
    tls: bool,
) -> Result<()> {
    let words = Words::of(id, channel);
    let word = words.source();
    let mut options = vec![
        format!("{word}_HOST = {}", quote::text(&address.host)),
        format!("{word}_PORT = {}", address.port),
        format!("{word}_USER = {}", quote::text(&account.user)),
        format!(
            "{word}_PASSWORD = {}",
            quote::text(account.password.reveal())
        ),
        format!("{word}_CONNECT_RETRY = {RETRY}"),
        format!("{word}_SSL = {}", u8::from(tls)),
    ];
    match from.gtids(by_gtid) {
        Some(gtids) if id.is_mariadb() => {
            let sql = format!("SET GLOBAL gtid_slave_pos = {}", quote::text(gtids));
            execute(new, &sql, "cannot set the GTID position")?;
            options.push("MASTER_USE_GTID = slave_pos".to_owned());
        }
        Some(gtids) => {
            let has = value(
                new,
                "SELECT @@GLOBAL.gtid_executed",
                "cannot read the executed GTIDs",
            )?;
            // A run before may have set it.
            if has.is_empty() {
                let sql = format!("SET GLOBAL gtid_purged = {}", quote::text(gtids));
                execute(new, &sql, "cannot set the executed GTIDs")?;
            }
            options.push("SOURCE_AUTO_POSITION = 1".to_owned());
        }
        None => {
            options.push(format!("{word}_LOG_FILE = {}", quote::text(&from.file)));
            options.push(format!("{word}_LOG_POS = {}", from.position));
            options.push(match id.is_mariadb() {
                true => "MASTER_USE_GTID = no".to_owned(),
                false => "SOURCE_AUTO_POSITION = 0".to_owned(),
            });
        }
    }
    if id.is_mysql() && !tls {
        // Without TLS a password is encrypted by the server's own key.
        options.push("GET_SOURCE_PUBLIC_KEY = 1".to_owned());
    }
    if tls {
        let verifies = matches!(source.ssl_mode, SslMode::VerifyCa | SslMode::VerifyIdentity);
        if let Some(ca) = source.ssl_ca.as_ref().filter(|_| verifies) {
            options.push(format!(
                "{word}_SSL_CA = {}",
                quote::text(&ca.to_string_lossy())
            ));
        }
        let by_name = u8::from(source.ssl_mode == SslMode::VerifyIdentity);
        options.push(format!("{word}_SSL_VERIFY_SERVER_CERT = {by_name}"));
    } else if id.is_mariadb() {
        options.push("MASTER_SSL_VERIFY_SERVER_CERT = 0".to_owned());
    }
    execute(new, &words.change(&options), "cannot make the channel")?;
    execute(new, &words.start(Thread::Both), "cannot start the channel")
}
