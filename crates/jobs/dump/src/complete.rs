//! An archive in between, which a copy makes, loads and removes: whether it is there already.
//!
//! Invariant: an archive that somebody made for keeps is never taken for one in between; its manifest says which it is.

use crate::{Options, finish, look_at};
use archive::Manifest;
use base::units::printable;
use base::{Error, Kind, Result};
use rows::archives;
use run::{Run, failure};
use serde_json::{Map, Value};

/// How a dump was made, and not what is in it.
const HOW: [&str; 4] = ["threads", "compression", "bytesPerChunk", "consistent"];

/// What marks an archive in between, in the options of its manifest.
pub(crate) const IN_BETWEEN: &str = "inBetween";

/// An archive that an earlier run has made.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// The server, in words.
    pub server: String,
    /// When it was made: UTC, RFC 3339.
    pub moment: String,
    /// What it lacks: the exceptions of its dump.
    pub exceptions: Vec<String>,
    /// Objects that the account does not see now.
    pub not_seen: Vec<String>,
}

/// The complete archive of what `options` would dump, if it is there; refused if it is none in between, or one of another
/// server, or of another part of this one. The source is looked at as for a dump, and nothing is read of it.
pub fn find(run: &Run, options: &Options) -> Result<Option<Earlier>> {
    let to = &options.to;
    let store = match to.location().open(None) {
        Ok(store) => store,
        Err(e) if e.not_found() => return Ok(None),
        Err(e) => return Err(failure::store(format_args!("cannot read {to}"), &e)),
    };
    let unread = |e| failure::archive(format_args!("cannot read {to}"), &e);
    if archive::marker::get(&*store).map_err(unread)?.is_some() {
        return Ok(None);
    }
    let Some(manifest) = Manifest::read(&*store).map_err(unread)? else {
        return Ok(None);
    };
    let refused = |what: String, hint: &str| {
        let what = printable(&format!("{to} holds a complete archive {what}"));
        Err(Error::new(Kind::Target, what).hint(hint))
    };
    if !is_in_between(&manifest) {
        return refused(
            "that was made for keeps, and not by this command".to_owned(),
            "penstock load loads it, and replica create --from-archive; or name another place",
        );
    }
    let other = "name another place, or remove this archive if it is not needed";
    // The patterns of the selection are compared with what there is now, and the account is asked what it sees.
    let looked = look_at(run, options)?;
    let of = &manifest.source;
    let server = printable(&format!(
        "{} {}, {}:{}",
        of.flavour, of.version, of.hostname, of.port
    ));
    if !archives::is_of(of, &looked.source.id) {
        return refused(format!("of another server ({server})"), other);
    }
    if in_order(manifest.options) != part(options) {
        let what = "of another part of the server than this command is about";
        return refused(what.to_owned(), other);
    }
    Ok(Some(Earlier {
        server,
        moment: manifest.created.begin,
        exceptions: manifest.consistency.exceptions,
        not_seen: looked.not_seen,
    }))
}

/// Which part of the server is dumped, and not how.
pub fn part(options: &Options) -> Map<String, Value> {
    in_order(finish::option_map(options))
}

/// Options as they stand in a manifest, without how it was made, and lists in whichever order they were named.
fn in_order(mut options: Map<String, Value>) -> Map<String, Value> {
    options.retain(|name, _| !HOW.contains(&name.as_str()));
    for list in options.values_mut().filter_map(Value::as_array_mut) {
        list.sort_by_key(ToString::to_string);
    }
    options
}

/// Whether a copy has made it, and removes it when it is loaded.
pub fn is_in_between(manifest: &Manifest) -> bool {
    manifest.options.get(IN_BETWEEN) == Some(&true.into())
}
