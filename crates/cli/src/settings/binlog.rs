//! What `penstock binlog` shall do.

use crate::args::binlog::{Archive, Find, Kind as Done};
use base::{Error, Kind, Result};
use binlog_archive::{FoundKind, Options, Search, Start};
use std::time::Duration;
use store::Location;

/// Segments are at least this long, in bytes.
const LEAST_SEGMENT: u64 = 64 << 10;
/// They are kept in memory until they are stored.
const LONGEST_SEGMENT: u64 = 1 << 30;

/// What to archive. Where it begins may depend on the backups: `None`.
pub fn archive(a: &Archive, repository: &Location) -> Result<(Options, Option<Start>)> {
    let refuse = |what: &str, hint: &str| Err(Error::new(Kind::Usage, what).hint(hint));
    if a.max_age.is_zero() || a.max_age > Duration::from_secs(86_400) {
        return refuse(
            "--max-age is how often to store what came, and is between 1 ms and a day",
            "10s, for instance",
        );
    }
    if !(LEAST_SEGMENT..=LONGEST_SEGMENT).contains(&a.segment_size) {
        return refuse("--segment-size is between 64k and 1G", "16M, for instance");
    }
    let mut sources = vec![a.connection.resolve(a.source.as_deref())?];
    for server in &a.failover {
        sources.push(a.connection.another(server)?);
    }
    let start = a.start.as_deref().map(|start| match start {
        "oldest" => Start::Oldest,
        "newest" => Start::Newest,
        file => Start::File(file.to_owned()),
    });
    let options = Options {
        sources,
        start: start.clone().unwrap_or(Start::Newest),
        max_age: a.max_age,
        max_segment: a.segment_size,
        once: a.once,
        repair: a.repair,
        keys: super::keys::encrypting(&a.encryption)?,
        encrypted_only: false,
        server_id: a.server_id.unwrap_or_else(|| {
            binlog_archive::replica_number(&format!("{} {}", a.name, repository.absolute()))
        }),
    };
    Ok((options, start))
}

/// What to look for.
pub fn find(a: &Find) -> Result<Search> {
    let (mut schema, mut table) = (a.schema.clone(), a.table.clone());
    if let Some((of, name)) = a.table.as_deref().and_then(|t| t.split_once('.')) {
        if schema.as_deref().is_some_and(|s| s != of) {
            let what = format!("--table names the schema {of}, and --schema another one");
            return Err(
                Error::new(Kind::Usage, base::units::printable(&what)).hint("leave --schema out")
            );
        }
        (schema, table) = (Some(of.to_owned()), Some(name.to_owned()));
    }
    Ok(Search {
        schema,
        table,
        kind: a.kind.map(|kind| match kind {
            Done::Insert => FoundKind::Insert,
            Done::Update => FoundKind::Update,
            Done::Delete => FoundKind::Delete,
            Done::Statement => FoundKind::Statement,
        }),
        after: a.after,
        before: a.before,
        gtid: a.gtid.clone(),
        thread: a.thread,
        text: a.text.clone(),
        limit: a.limit as usize,
    })
}
