//! What the listing of a repository says of each server.

use jiff::Timestamp;
use repository::{Entry, Listing, Proof};
use std::collections::BTreeMap;

/// What is known of one server, in the order of time.
pub struct Server<'a> {
    pub name: &'a str,
    pub entries: Vec<&'a Entry>,
    pub drills: Vec<&'a Proof>,
    pub unfinished: usize,
}

impl Server<'_> {
    /// What the last drill of this backup found, if there was one.
    pub fn proven(&self, entry: &Entry) -> Option<bool> {
        let last = self.drills.iter().rfind(|p| p.id.as_str() == entry.id);
        last.map(|p| p.proven)
    }

    /// The newest backup that a drill has proven: when it began.
    pub fn last_proven(&self) -> Option<Timestamp> {
        let proven = self.drills.iter().filter(|p| p.proven);
        proven.map(|p| p.id.time()).max()
    }
}

/// All servers, by name.
pub fn servers(l: &Listing) -> Vec<Server<'_>> {
    let mut all: BTreeMap<&str, Server<'_>> = BTreeMap::new();
    fn of<'a, 'm>(all: &'m mut BTreeMap<&'a str, Server<'a>>, name: &'a str) -> &'m mut Server<'a> {
        all.entry(name).or_insert_with(|| Server {
            name,
            entries: Vec::new(),
            drills: Vec::new(),
            unfinished: 0,
        })
    }
    for entry in &l.entries {
        of(&mut all, &entry.server).entries.push(entry);
    }
    for proof in &l.proofs {
        of(&mut all, proof.server.as_str()).drills.push(proof);
    }
    for left in l.unlisted.iter().filter(|u| !u.running) {
        of(&mut all, left.server.as_str()).unfinished += 1;
    }
    all.into_values().collect()
}
