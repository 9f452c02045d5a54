//! Which privileges the jobs need, per flavour and version.

use super::{Privileges, Scope};
use crate::{Catalog, Identity, position};

/// How a dump keeps writers out while it takes its snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockPlan {
    /// Not at all.
    None,
    /// `LOCK TABLES … READ` on everything dumped.
    Tables,
    /// `FLUSH TABLES WITH READ LOCK`; on MariaDB also `BACKUP STAGE`.
    #[default]
    Global,
}

/// What a dump is going to read.
#[derive(Clone, Debug, Default)]
pub struct DumpNeeds {
    /// Schemas read whole.
    pub schemas: Vec<String>,
    /// Tables read out of schemas that are not read whole.
    pub tables: Vec<(String, String)>,
    /// How writers are kept out.
    pub lock: LockPlan,
    /// Whether `LOCK INSTANCE FOR BACKUP` is taken (MySQL 8 and later).
    pub backup_lock: bool,
    /// Whether the position in the binary log is read.
    pub position: bool,
    /// Whether definitions of views are read.
    pub views: bool,
    /// Whether triggers are read.
    pub triggers: bool,
    /// Whether stored routines are read.
    pub routines: bool,
    /// Whether events are read.
    pub events: bool,
}

impl DumpNeeds {
    /// Reading all of a catalog; how it is locked, and what of programs is read, is still to be said.
    pub fn of(catalog: &Catalog) -> DumpNeeds {
        let mut needs = DumpNeeds {
            lock: LockPlan::None,
            views: catalog.schemas.iter().any(|s| !s.views.is_empty()),
            ..DumpNeeds::default()
        };
        for schema in &catalog.schemas {
            if schema.whole {
                needs.schemas.push(schema.name.clone());
            } else {
                let tables = schema.tables.iter();
                let names = tables.map(|t| (t.schema.clone(), t.name.clone()));
                needs.tables.extend(names);
            }
        }
        needs
    }
}

/// What a load is going to create.
#[derive(Clone, Debug, Default)]
pub struct LoadNeeds {
    /// Schemas that are created or filled.
    pub schemas: Vec<String>,
    /// Whether any schema may be, because they are not known yet.
    pub everywhere: bool,
    /// Whether there are views.
    pub views: bool,
    /// Whether there are triggers.
    pub triggers: bool,
    /// Whether there are stored routines.
    pub routines: bool,
    /// Whether there are stored functions among them.
    pub functions: bool,
    /// Whether there are events.
    pub events: bool,
    /// Whether objects keep a definer other than the account itself.
    pub definers: bool,
    /// Whether accounts are made.
    pub accounts: bool,
    /// Whether it has to see all triggers of the tables.
    pub sees_triggers: bool,
    /// Whether nothing is created but the load's journal.
    pub rows_only: bool,
    /// Whether the load is kept out of the binary log.
    pub skip_binlog: bool,
}

type Needs = Vec<(Scope, Vec<&'static str>)>;

impl Privileges {
    /// The GRANT statements that are missing for a dump.
    pub fn missing_for_dump(&self, identity: &Identity, needs: &DumpNeeds) -> Vec<String> {
        self.missing(&dump(identity, needs))
    }

    /// The GRANT statements that are missing for a snapshot of the server's files.
    pub fn missing_for_snapshot(&self, identity: &Identity) -> Vec<String> {
        self.missing(&snapshot(identity))
    }

    /// The GRANT statements that are missing for stopping a replica's applier, and locking tables for reading their files,
    /// besides those for a dump.
    pub fn missing_for_replica_files(&self, identity: &Identity) -> Vec<String> {
        let names: &[&[&'static str]] = match identity.is_mariadb() {
            // SUPER does not have these from here on.
            true if identity.mariadb_at_least(11, 0, 0) => &[
                &["RELOAD"],
                &["REPLICATION SLAVE ADMIN"],
                &["REPLICA MONITOR", "SLAVE MONITOR"],
            ],
            true if identity.mariadb_at_least(10, 5, 9) => &[
                &["RELOAD"],
                &["REPLICATION SLAVE ADMIN", "SUPER"],
                &["REPLICA MONITOR", "SLAVE MONITOR", "SUPER"],
            ],
            true if identity.mariadb_at_least(10, 5, 2) => {
                &[&["RELOAD"], &["REPLICATION SLAVE ADMIN", "SUPER"]]
            }
            true => &[&["RELOAD"], &["SUPER"]],
            false => &[
                &["FLUSH_TABLES", "RELOAD"],
                &["REPLICATION_SLAVE_ADMIN", "SUPER"],
                &["REPLICATION CLIENT", "SUPER"],
                &["XA_RECOVER_ADMIN"],
                &["PROCESS"],
            ],
        };
        let need = |choices: &&[&'static str]| (Scope::Global, choices.to_vec());
        let mut all: Needs = names.iter().map(need).collect();
        if identity.is_mariadb() {
            all.push((Scope::Global, vec!["PROCESS"]));
        }
        if identity.log_bin && identity.is_mariadb() {
            all.push((Scope::Global, vec![position::needed(identity), "SUPER"]));
        }
        self.missing(&all)
    }

    /// The GRANT statements that are missing for making a server a replica for a while.
    pub fn missing_for_replay(&self, identity: &Identity) -> Vec<String> {
        self.missing(&replay(identity))
    }

    /// The GRANT statements that are missing for archiving the server's binary log.
    pub fn missing_for_binlog_archive(&self, identity: &Identity) -> Vec<String> {
        self.missing(&[
            (Scope::Global, vec!["REPLICATION SLAVE"]),
            (Scope::Global, vec![position::needed(identity), "SUPER"]),
        ])
    }

    /// The GRANT statements that are missing for a load.
    pub fn missing_for_load(&self, identity: &Identity, needs: &LoadNeeds) -> Vec<String> {
        self.missing(&load(identity, needs))
    }

    /// The statement without which the server takes no function and no trigger from this account, because its
    /// binary log is on (error 1419).
    pub fn missing_trust(&self, identity: &Identity, needs: &LoadNeeds) -> Option<String> {
        if !identity.log_bin || !(needs.functions || needs.triggers) || self.has("SUPER") {
            return None;
        }
        match identity.variable("log_bin_trust_function_creators") {
            Some("ON" | "1") => None,
            Some(_) => Some("SET GLOBAL log_bin_trust_function_creators = ON".into()),
            None => Some(format!("GRANT SUPER ON *.* TO {}", self.account)),
        }
    }
}

/// What an account of the source needs for a new replica, besides what a dump needs. `makes_account`: it makes the
/// account that the replica logs in with, and gives this to it.
pub fn for_source_of_replica(makes_account: bool) -> &'static [&'static str] {
    match makes_account {
        true => &["CREATE USER", "REPLICATION SLAVE"],
        false => &["CREATE USER"],
    }
}

/// What an account of a new replica needs, besides what a load needs.
pub fn for_new_replica(identity: &Identity) -> &'static [&'static str] {
    match identity.is_mariadb() {
        true => &["REPLICATION SLAVE ADMIN", "CREATE USER"],
        false => &[
            "REPLICATION_SLAVE_ADMIN",
            "SYSTEM_VARIABLES_ADMIN",
            "CREATE USER",
        ],
    }
}

fn replay(identity: &Identity) -> Needs {
    let names: &[&str] = match identity.is_mariadb() {
        true if identity.mariadb_at_least(10, 5, 2) => &["REPLICATION SLAVE ADMIN"],
        true => &["SUPER"],
        false => &[
            "REPLICATION_SLAVE_ADMIN",
            "SYSTEM_VARIABLES_ADMIN",
            "REPLICATION CLIENT",
        ],
    };
    let need = |name: &&'static str| (Scope::Global, vec![*name, "SUPER"]);
    names.iter().map(need).collect()
}

fn snapshot(identity: &Identity) -> Needs {
    // For the read lock, and to flush the redo log under it.
    let mut list: Needs = vec![(Scope::Global, vec!["RELOAD"])];
    if identity.mysql_at_least(8, 0, 0) {
        list.push((Scope::Global, vec!["BACKUP_ADMIN"]));
    }
    // Long statements are looked for before the lock is requested, and tablespaces by their paths.
    if !identity.mariadb_at_least(10, 4, 1) {
        list.push((Scope::Global, vec!["PROCESS"]));
    }
    if identity.log_bin {
        list.push((Scope::Global, vec![position::needed(identity), "SUPER"]));
    }
    list
}

fn dump(identity: &Identity, needs: &DumpNeeds) -> Needs {
    let mut list: Needs = Vec::new();
    match needs.lock {
        // FLUSH_TABLES is enough for FLUSH TABLES WITH READ LOCK from 8.0.23 on.
        LockPlan::Global if identity.mysql_at_least(8, 0, 23) => {
            list.push((Scope::Global, vec!["FLUSH_TABLES", "RELOAD"]));
        }
        LockPlan::Global => list.push((Scope::Global, vec!["RELOAD"])),
        LockPlan::Tables | LockPlan::None => {}
    }
    if needs.backup_lock && identity.mysql_at_least(8, 0, 0) {
        list.push((Scope::Global, vec!["BACKUP_ADMIN"]));
    }
    if needs.position && identity.log_bin {
        list.push((Scope::Global, vec![position::needed(identity), "SUPER"]));
    }
    let mut places: Vec<Scope> = needs.schemas.iter().cloned().map(Scope::Schema).collect();
    places.extend(
        needs
            .tables
            .iter()
            .cloned()
            .map(|(s, t)| Scope::Table(s, t)),
    );
    for place in places {
        let whole = matches!(place, Scope::Schema(_));
        let mut need = |privilege| list.push((place.clone(), vec![privilege]));
        need("SELECT");
        if needs.views {
            need("SHOW VIEW");
        }
        if needs.triggers {
            // Without it the triggers are not even listed.
            need("TRIGGER");
        }
        if needs.events && whole {
            need("EVENT");
        }
        if needs.lock == LockPlan::Tables {
            // There is no LOCK TABLES for a single table.
            let schema = match &place {
                Scope::Schema(s) | Scope::Table(s, _) => s.clone(),
                Scope::Global => continue,
            };
            list.push((Scope::Schema(schema), vec!["LOCK TABLES"]));
        }
    }
    if needs.routines && !needs.schemas.is_empty() {
        list.push(routines(identity));
    }
    list
}

/// Reading the body of another account's routine.
fn routines(identity: &Identity) -> (Scope, Vec<&'static str>) {
    if identity.mysql_at_least(8, 0, 20) {
        (Scope::Global, vec!["SHOW_ROUTINE", "SELECT"])
    } else if identity.mysql_at_least(8, 0, 0) {
        (Scope::Global, vec!["SELECT"])
    } else {
        (Scope::Table("mysql".into(), "proc".into()), vec!["SELECT"])
    }
}

fn load(identity: &Identity, needs: &LoadNeeds) -> Needs {
    let mut list: Needs = Vec::new();
    let mut places: Vec<Scope> = needs.schemas.iter().cloned().map(Scope::Schema).collect();
    if needs.everywhere {
        places.push(Scope::Global);
    }
    for place in places {
        // SELECT for checking, DELETE for REPLACE and for a chunk done again, DROP for placeholders of views.
        let mut all = vec!["CREATE", "DROP"];
        if !needs.rows_only {
            all.extend(["ALTER", "INDEX", "REFERENCES"]);
        }
        all.extend(["SELECT", "INSERT", "DELETE"]);
        if needs.views {
            all.extend(["CREATE VIEW", "SHOW VIEW"]);
        }
        if needs.triggers || needs.sees_triggers {
            all.push("TRIGGER");
        }
        if needs.routines {
            all.extend(["CREATE ROUTINE", "ALTER ROUTINE"]);
        }
        if needs.events {
            all.push("EVENT");
        }
        list.extend(all.into_iter().map(|p| (place.clone(), vec![p])));
    }
    if needs.definers {
        let choices = if identity.mysql_at_least(8, 2, 0) {
            vec!["SET_ANY_DEFINER", "SUPER"]
        } else if identity.mysql_at_least(8, 0, 0) {
            vec!["SET_USER_ID", "SUPER"]
        } else if identity.mariadb_at_least(10, 5, 2) {
            vec!["SET USER", "SUPER"]
        } else {
            vec!["SUPER"]
        };
        list.push((Scope::Global, choices));
    }
    if needs.accounts {
        list.push((Scope::Global, vec!["CREATE USER"]));
        list.push((Scope::Table("mysql".into(), "user".into()), vec!["SELECT"]));
    }
    if needs.skip_binlog {
        let choices = if identity.mysql_at_least(8, 0, 14) {
            vec!["SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN", "SUPER"]
        } else if identity.mysql_at_least(8, 0, 0) {
            vec!["SYSTEM_VARIABLES_ADMIN", "SUPER"]
        } else if identity.mariadb_at_least(10, 5, 2) {
            vec!["BINLOG ADMIN", "SUPER"]
        } else {
            vec!["SUPER"]
        };
        list.push((Scope::Global, choices));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(version: &str) -> Identity {
        let pairs = [("version", version), ("log_bin", "ON")];
        let variables = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        Identity::from_variables(variables).expect("a version")
    }

    fn everything() -> DumpNeeds {
        DumpNeeds {
            schemas: vec!["shop".into()],
            tables: vec![("crm".into(), "people".into())],
            backup_lock: true,
            position: true,
            views: true,
            triggers: true,
            routines: true,
            events: true,
            ..DumpNeeds::default()
        }
    }

    #[test]
    fn a_bare_account_is_told_all_it_needs() {
        let none = Privileges::from_grants("'u'@'%'", &["GRANT USAGE ON *.* TO `u`@`%`"]);
        assert_eq!(
            none.missing_for_dump(&server("9.7.4"), &everything()),
            [
                "GRANT FLUSH_TABLES, BACKUP_ADMIN, REPLICATION CLIENT, SHOW_ROUTINE ON *.* TO 'u'@'%'",
                "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON `shop`.* TO 'u'@'%'",
                "GRANT SELECT, SHOW VIEW, TRIGGER ON `crm`.`people` TO 'u'@'%'",
            ]
        );
        assert_eq!(
            none.missing_for_dump(&server("10.11.1-MariaDB"), &everything()),
            [
                "GRANT RELOAD, BINLOG MONITOR ON *.* TO 'u'@'%'",
                "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON `shop`.* TO 'u'@'%'",
                "GRANT SELECT, SHOW VIEW, TRIGGER ON `crm`.`people` TO 'u'@'%'",
                "GRANT SELECT ON `mysql`.`proc` TO 'u'@'%'",
            ]
        );
    }

    #[test]
    fn trust_is_asked_for_functions_and_triggers_only() {
        let of = |grants: &str, functions, triggers, trust: Option<&str>| {
            let mut pairs = vec![("version", "9.7.4"), ("log_bin", "ON")];
            pairs.extend(trust.map(|v| ("log_bin_trust_function_creators", v)));
            let owned = |(k, v): (&str, &str)| (k.to_owned(), v.to_owned());
            let id = Identity::from_variables(pairs.into_iter().map(owned).collect());
            let needs = LoadNeeds {
                routines: true,
                functions,
                triggers,
                ..LoadNeeds::default()
            };
            Privileges::from_grants("'u'@'%'", &[grants])
                .missing_trust(&id.expect("a version"), &needs)
        };
        let (bare, own) = (
            "GRANT USAGE ON *.* TO `u`@`%`",
            "GRANT SUPER ON *.* TO `u`@`%`",
        );
        let set = Some("SET GLOBAL log_bin_trust_function_creators = ON".to_owned());
        assert_eq!(of(bare, true, false, Some("OFF")), set);
        assert_eq!(of(bare, false, true, Some("0")), set);
        assert_eq!(of(bare, false, false, Some("OFF")), None);
        assert_eq!(of(bare, true, true, Some("ON")), None);
        assert_eq!(of(own, true, true, Some("OFF")), None);
        let grant = Some("GRANT SUPER ON *.* TO 'u'@'%'".to_owned());
        assert_eq!(of(bare, true, true, None), grant);
    }

    #[test]
    fn an_administrator_lacks_nothing() {
        let all = Privileges::from_grants(
            "'root'@'localhost'",
            &["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`"],
        );
        for version in ["5.5.9", "8.4.0", "9.7.4", "10.11.1-MariaDB"] {
            assert!(
                all.missing_for_dump(&server(version), &everything())
                    .is_empty()
            );
            let needs = LoadNeeds {
                schemas: vec!["shop".into()],
                definers: true,
                skip_binlog: true,
                routines: true,
                ..LoadNeeds::default()
            };
            assert!(all.missing_for_load(&server(version), &needs).is_empty());
        }
    }
}
