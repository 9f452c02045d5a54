//! Whether a dump fits where it would be written.

use crate::check::{Check, Group, Job, Needs, Seen, Severity};
use crate::facts::{Facts, Known};
use base::units::bytes;

pub const CHECK: Check = Check {
    name: "dump-space",
    group: Group::Jobs,
    job: Some(Job::Dump),
    needs: Some(Needs::Place),
    reason: "a dump that fills its disk ends with an error, and its files are removed. Rows take less room in an archive than in table files; by how much shows only when they are compressed",
    source: "penstock, docs/dump.md",
    look,
};

/// An archive of rows that compress well is this part of the table files.
const SMALLEST: u64 = 10;

fn look(facts: &Facts) -> Known<Seen> {
    if !facts.dump_place {
        return Err("no place for a dump is named: --to DIR".to_owned());
    }
    let preview = match facts.dump.as_ref().map_err(Clone::clone)? {
        Ok(preview) => preview,
        Err(e) => {
            // The place itself may be what is refused.
            return match e.kind {
                base::Kind::Target | base::Kind::Storage => {
                    let mut seen = Seen::fine("the place is refused");
                    // It was named, so a dump is meant.
                    let finding = seen.found(Severity::Serious, e.what.clone());
                    if let Some(hint) = &e.hint {
                        finding.todo(hint);
                    }
                    Ok(seen)
                }
                _ => Err(format!(
                    "how large a dump would be is not known: {}",
                    e.what
                )),
            };
        }
    };
    let Some(free) = preview.free else {
        return Err(format!(
            "how much room there is at {} cannot be seen",
            preview.to
        ));
    };
    let needed = preview.data_bytes;
    let figures = format!(
        "{} are free at {}, and table files are about {}",
        bytes(free),
        preview.to,
        bytes(needed)
    );
    let mut seen = Seen::fine(&figures);
    let severity = match free {
        f if f < needed / SMALLEST => Severity::Serious,
        f if f < needed => Severity::Warning,
        _ => return Ok(seen),
    };
    seen.found(
        severity,
        format!("a dump may not fit: {figures}, without their indexes"),
    )
    .todo("name a place with more room, or fewer schemas");
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::{GIB, Made};
    use base::{Error, Kind};

    fn free(free: Option<u64>) -> Made {
        let preview = dump::Preview {
            data_bytes: 100 * GIB,
            free,
            to: "/backup/x".to_owned(),
            ..dump::Preview::default()
        };
        Made::new(&[]).but(|f| (f.dump, f.dump_place) = (Ok(Ok(preview)), true))
    }

    #[test]
    fn it_fires_where_a_dump_may_not_fit() {
        free(Some(200 * GIB)).fine(&CHECK);
        free(Some(50 * GIB)).fires(&CHECK, Severity::Warning, "may not fit");
        free(Some(5 * GIB)).fires(&CHECK, Severity::Serious, "may not fit");
        free(None).unseen(&CHECK, "cannot be seen");
        Made::new(&[]).unseen(&CHECK, "--to DIR");
        let refused = |kind| {
            let e = Error::new(kind, "/backup/x is not empty");
            Made::new(&[]).but(|f| (f.dump, f.dump_place) = (Ok(Err(e)), true))
        };
        refused(Kind::Target).fires(&CHECK, Severity::Serious, "not empty");
        refused(Kind::Privilege).unseen(&CHECK, "how large a dump would be");
    }
}
