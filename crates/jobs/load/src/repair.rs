//! The repair record: a file on this host that says that a load ended and the target refused some of its objects. The
//! same command finds it, takes what exists for loaded, and creates what is missing.
//!
//! Invariant: what exists is left as it is: no row, no index, no view of it is touched. An object that was altered or
//! made again since is noticed by the server's own time of it. Rows are not compared again, for others may have written
//! since.

use super::Target;
use crate::earlier_accounts::EarlierAccounts;
use crate::from_archive::existing::ExistingObjects;
use crate::left_out::LeftOut;
use instance::identity::server_id;
use run::state::{self, StateDir};
use serde::{Deserialize, Serialize};
use server::quote;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Most bytes of a record.
const MAX_SIZE: u64 = 16 << 20;

/// A load that ended without some of its objects.
#[derive(Debug, Serialize, Deserialize)]
pub struct Repairable {
    /// Objects that did not exist then, in words.
    pub missing: Vec<String>,
    /// When each of the others was made or altered, as the server says it.
    #[serde(default)]
    pub made: BTreeMap<String, String>,
    /// Tables and views that were damaged in the archive, quoted and qualified.
    #[serde(default)]
    pub damaged: Vec<String>,
    /// Schemas of which something was damaged, quoted: of their triggers, routines and events the archive may have
    /// more now than it had then.
    #[serde(default)]
    pub damaged_schemas: Vec<String>,
    /// The accounts that it made.
    #[serde(default)]
    pub accounts: EarlierAccounts,
}

impl Repairable {
    /// Writes it, or says why that is not possible: no reason to fail now.
    pub(super) fn note(
        t: &Target<'_>,
        load: &str,
        existing: ExistingObjects,
        damaged: &[LeftOut],
    ) -> Result<(), String> {
        let objects = damaged.iter().filter_map(|d| {
            let object = d.object.as_ref()?;
            Some(quote::qualified(&d.schema, object))
        });
        let schemas = damaged.iter().map(|d| quote::ident(&d.schema));
        let record = Repairable {
            missing: existing.missing,
            made: existing.made,
            damaged: objects.collect(),
            damaged_schemas: schemas.collect(),
            accounts: t.earlier.clone(),
        };
        record.write(place(t, load), t.options.managed.is_some())
    }

    /// Writes one that is about accounts alone; it is called again and again.
    pub(super) fn of_accounts<'a>(
        t: &Target<'a>,
        load: &str,
    ) -> impl Fn(&EarlierAccounts) -> Result<(), String> + use<'a> {
        let (place, managed) = (place(t, load), t.options.managed.is_some());
        move |accounts| {
            let record = Repairable {
                missing: Vec::new(),
                made: BTreeMap::new(),
                damaged: Vec::new(),
                damaged_schemas: Vec::new(),
                accounts: accounts.clone(),
            };
            record.write(place.clone(), managed)
        }
    }

    fn write(&self, place: Option<(StateDir<'_>, PathBuf)>, managed: bool) -> Result<(), String> {
        match place {
            Some((dir, path)) => state::put_json(dir, &path, self)
                .map_err(|e| format!("its record cannot be written: {e}")),
            None if managed => Err("each load initializes its own data directory".to_owned()),
            None => {
                Err("no directory for its record is known: set PENSTOCK_STATE, or HOME".to_owned())
            }
        }
    }

    /// Whether that load left this object out, in words: the target refused it, or it was damaged.
    pub fn left_out(&self, what: &str) -> bool {
        if self.missing.iter().any(|m| m == what) {
            return true;
        }
        let Some((kind, name)) = what.split_once(' ') else {
            return false;
        };
        match kind {
            "table" | "view" | "sequence" => self.damaged.iter().any(|d| d == name),
            _ => {
                let of = |schema: &String| {
                    name.strip_prefix(schema.as_str())
                        .is_some_and(|rest| rest.starts_with('.'))
                };
                self.damaged_schemas.iter().any(of)
            }
        }
    }

    /// The record of this load into this server.
    pub(super) fn find(t: &Target<'_>, load: &str) -> Option<Repairable> {
        let (_, path) = place(t, load)?;
        state::read_json(&path, MAX_SIZE).ok()
    }

    /// Removes it: nothing is missing any more, or what it is about no longer exists.
    pub(super) fn forget(t: &Target<'_>, load: &str) {
        if let Some((_, path)) = place(t, load) {
            let _ = state::remove(&path);
        }
    }
}

/// The directory, and the file in it, whose name says which load and which server.
fn place<'a>(t: &Target<'a>, load: &str) -> Option<(StateDir<'a>, PathBuf)> {
    // A data directory that the load initializes is made again.
    if t.options.managed.is_some() {
        return None;
    }
    let dir = StateDir(t.options.state.as_deref()?);
    let about = format!("{} {load}", server_id(&t.id));
    Some((dir, dir.hashed("refused-", &about, 24, ".json")))
}
