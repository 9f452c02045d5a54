//! The ways to one snapshot for all readers, and which of them an account may go.
//!
//! Invariant: a way is only named if the account holds every privilege that it needs, so that a dump that starts does not
//! stop for want of one; what the privileges do not show (a managed server that refuses all the same) is found when it is
//! tried.

use super::compare;
use crate::{Consistency, Options};
use base::{Error, Kind, Result};
use server::privileges::{DumpNeeds, LockPlan};
use server::{Catalog, Identity, Privileges};

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Under the global read lock.
    Lock {
        /// Whether definitions are locked too, until the end of the dump.
        definitions: bool,
    },
    /// Without a lock; the server's own counts prove that nothing was committed in between.
    Compare,
    /// Under `LOCK TABLES … READ` on everything that is dumped.
    Tables,
    /// One snapshot of one reader.
    Transaction,
    /// No other session uses the server.
    Unused,
    /// Each reader has its own.
    None,
}

impl Way {
    /// The lock that it takes, for its privileges.
    fn lock(self) -> LockPlan {
        match self {
            Way::Lock { .. } => LockPlan::Global,
            Way::Tables => LockPlan::Tables,
            Way::Compare | Way::Transaction | Way::Unused | Way::None => LockPlan::None,
        }
    }

    /// Whether definitions cannot change while the dump runs.
    pub fn locks_definitions(self) -> bool {
        self == Way::Lock { definitions: true }
    }

    /// In words, for people.
    pub fn words(self, id: &Identity) -> String {
        match self {
            Way::Unused => "a data directory that no server used".to_owned(),
            Way::None => {
                "none: each worker has its own snapshot, tables may be inconsistent, no position"
                    .to_owned()
            }
            Way::Lock { .. } => {
                let name = match staged(id) {
                    true => "BACKUP STAGE BLOCK_COMMIT",
                    false => "FLUSH TABLES WITH READ LOCK",
                };
                format!("one snapshot for all workers, under {name}")
            }
            Way::Tables => "one snapshot for all workers, under LOCK TABLES".to_owned(),
            Way::Compare => format!(
                "one snapshot for all workers, without a lock: {} show that nothing was committed in between",
                compare::proof(id)
            ),
            Way::Transaction => "one snapshot of one reader, without a lock".to_owned(),
        }
    }
}

/// Whether the server has a lock for backups alone.
pub fn staged(id: &Identity) -> bool {
    id.mariadb_at_least(10, 4, 1)
}

/// The ways to try, in this order; or, for a way that was asked for, what is missing for it.
pub fn ways(
    granted: &Privileges,
    id: &Identity,
    options: &Options,
    catalog: &Catalog,
) -> Result<Vec<Way>> {
    let asked = |way: Way| {
        fit(granted, id, options, catalog, way)?;
        Ok(vec![way])
    };
    let definitions = options.backup_lock && id.mysql_at_least(8, 0, 0);
    match options.consistency {
        Consistency::Unused => asked(Way::Unused),
        Consistency::None => asked(Way::None),
        Consistency::Lock => asked(Way::Lock { definitions }),
        Consistency::Tables => asked(Way::Tables),
        Consistency::Transaction => asked(Way::Transaction),
        Consistency::Compare => {
            let all = asked(Way::Compare)?;
            match compare::obstacle(id) {
                None => Ok(all),
                Some(why) => Err(Error::new(
                    Kind::Usage,
                    format!("--consistency compare does not work here: {why}"),
                )
                .hint("leave --consistency out: the best way that this server and account allow is taken")),
            }
        }
        Consistency::Auto => {
            // What every way needs is said in full.
            fit(granted, id, options, catalog, Way::Transaction)?;
            let choices = [
                Way::Lock { definitions },
                Way::Lock { definitions: false },
                Way::Compare,
                Way::Tables,
            ];
            let mut all = Vec::new();
            for way in choices {
                let works = way != Way::Compare || compare::obstacle(id).is_none();
                if works && !all.contains(&way) && fit(granted, id, options, catalog, way).is_ok() {
                    all.push(way);
                }
            }
            all.push(Way::Transaction);
            Ok(all)
        }
    }
}

/// What a better way than the first one would take, if there is one: GRANT statements.
pub fn for_the_lock(granted: &Privileges, id: &Identity, options: &Options) -> Vec<String> {
    let way = Way::Lock {
        definitions: options.backup_lock && id.mysql_at_least(8, 0, 0),
    };
    granted.missing_for_dump(id, &needs(options, &Catalog::default(), way))
}

fn needs(options: &Options, catalog: &Catalog, way: Way) -> DumpNeeds {
    DumpNeeds {
        lock: way.lock(),
        backup_lock: way.locks_definitions(),
        position: matches!(way, Way::Lock { .. }),
        triggers: options.triggers,
        routines: options.routines,
        events: options.events,
        ..DumpNeeds::of(catalog)
    }
}

/// Refuses before anything is written or locked, naming every grant that is missing.
fn fit(
    granted: &Privileges,
    id: &Identity,
    options: &Options,
    catalog: &Catalog,
    way: Way,
) -> Result<()> {
    let needs = needs(options, catalog, way);
    let missing = granted.missing_for_dump(id, &needs);
    if missing.is_empty() {
        return Ok(());
    }
    let mut hint = missing.join(";\n") + ";";
    let without = DumpNeeds {
        lock: LockPlan::None,
        backup_lock: false,
        position: false,
        ..needs
    };
    if granted.missing_for_dump(id, &without) != missing {
        hint += "\nor leave --consistency out: without these the dump takes a way that needs no such lock";
    }
    Err(Error::new(
        Kind::Privilege,
        format!(
            "account {} lacks privileges that this dump needs",
            granted.account
        ),
    )
    .hint(hint))
}
