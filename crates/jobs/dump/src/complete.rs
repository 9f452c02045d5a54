//! An archive that is complete already where a dump is about to be written.

use crate::{Options, finish};
use archive::Manifest;
use base::units::printable;
use base::{Error, Kind, Result};
use rows::archives;
use run::{Run, connect, failure};

/// How a dump was made, and not what is in it.
const HOW: [&str; 4] = ["threads", "compression", "bytesPerChunk", "consistent"];

/// Whether a complete archive of what `options` would dump is there already; refused if it is one of another server, or of another
/// part of this one.
pub fn is_there(run: &Run, options: &Options) -> Result<bool> {
    let to = &options.to;
    let store = match to.location().open(None) {
        Ok(store) => store,
        Err(e) if e.not_found() => return Ok(false),
        Err(e) => return Err(failure::store(format_args!("cannot read {to}"), &e)),
    };
    let unread = |e| failure::archive(format_args!("cannot read {to}"), &e);
    if archive::marker::get(&*store).map_err(unread)?.is_some() {
        return Ok(false);
    }
    let Some(manifest) = Manifest::read(&*store).map_err(unread)? else {
        return Ok(false);
    };
    let (_, id) = connect::open(run, &options.source)?;
    let refused = |what: String| {
        let what = printable(&format!("{to} holds a complete archive {what}"));
        Err(Error::new(Kind::Target, what)
            .hint("name another directory, or remove this one if it is not needed"))
    };
    if !archives::is_of(&manifest.source, &id) {
        let of = &manifest.source;
        return refused(format!("of another server ({}:{})", of.hostname, of.port));
    }
    let part = |mut options: serde_json::Map<String, serde_json::Value>| {
        options.retain(|name, _| !HOW.contains(&name.as_str()));
        options
    };
    match part(manifest.options) == part(finish::option_map(options)) {
        true => Ok(true),
        false => refused("of another part of the server than this command is about".to_owned()),
    }
}
