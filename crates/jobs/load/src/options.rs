//! The options of a load.

use crate::script::Allowed;
use crate::tablespace::ImportMode;
use instance::managed;
use instance::{ServerCommand, tune};
use server::{Filter, NameMap};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// How loaded rows are compared with the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// Tablespaces that were built: from their files, with a sample from the server. Other tables: by SQL.
    Auto,
    /// All tables by SQL.
    Sql,
    /// Only tablespaces that were built, as with [`Verification::Auto`].
    Files,
    /// As with [`Verification::Files`]: a tablespace that was built is never used without it.
    None,
}

impl Verification {
    /// Whether tables that are loaded by SQL are compared.
    pub fn compares_sql(self) -> bool {
        matches!(self, Verification::Auto | Verification::Sql)
    }

    /// Whether tablespaces that were built are compared from their files.
    pub fn reads_files(self) -> bool {
        self != Verification::Sql
    }

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Verification::Auto => "auto",
            Verification::Sql => "sql",
            Verification::Files => "files",
            Verification::None => "none",
        }
    }
}

/// What to load, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// The archive's directory, or the dump's file or directory.
    pub from: encryption::Place,
    /// Where the rows come from if `from` is the memory that a dump is being written into.
    pub feed: Option<Arc<rows::feed::Load>>,
    /// The target.
    pub target: wire::Options,
    /// Connections that load rows.
    pub threads: usize,
    /// How the target's rows are compared with the archive.
    pub verify: Verification,
    /// Load into the server that the archive came from.
    pub allow_same_server: bool,
    /// Which kinds of objects.
    pub parts: Parts,
    /// Take statistics of the tables at the end.
    pub analyze: bool,
    /// Whether the transactions of the source that the archive holds are made known to the target.
    pub gtids: Gtids,
    /// Keep the load out of the binary log.
    pub skip_binlog: bool,
    /// The target is to follow the source of the rows: its events do not run there.
    pub for_replica: bool,
    /// The load is a step of another command, which has few of its options.
    pub is_step: bool,
    /// What is done with objects that the target has already.
    pub existing: Existing,
    /// Resume an interrupted load of the same archive or dump.
    pub resume: bool,
    /// The schema for names without one, in dumps of other tools.
    pub schema: Option<String>,
    /// Skip statements that no dump needs, instead of refusing the dump.
    pub skip_unsupported: bool,
    /// What follows needs all rows: a table whose rows the target refuses ends the load.
    pub all_rows: bool,
    /// Load the tables of an archive that are whole, and name those that are damaged.
    pub skip_damaged: bool,
    /// Give tables that are in a general tablespace files of their own.
    pub strip_tablespaces: bool,
    /// Whose rights views, triggers, routines and events have.
    pub definers: Definers,
    /// Which accounts of an archive are made; none if they stay in it.
    pub accounts: Option<Arc<rows::accounts::Choice>>,
    /// Which secondary indexes are added after the rows.
    pub defer_indexes: DeferIndexes,
    /// How tables are filled.
    pub import_mode: ImportMode,
    /// Memory for sorting the keys of tables that are imported as tablespaces, in bytes.
    pub sort_memory: usize,
    /// Which schemas and tables.
    pub filter: Arc<Filter>,
    /// Which rows of tables of which not all are wanted, by the names of the archive.
    pub choices: Arc<rows::choices::Choices>,
    /// Under which names.
    pub names: Arc<NameMap>,
    /// How far the server may be tuned, and where the changes are journalled.
    pub tune: tune::Options,
    /// Directory of the completion record; created if it does not exist.
    pub state: Option<PathBuf>,
    /// Stops and starts the server, for [`ImportMode::Offline`].
    pub server_command: Option<ServerCommand>,
    /// Load into a managed instance instead of the target.
    pub managed: Option<managed::Options>,
    /// What is done with the managed instance when all is loaded, before it is shut down.
    pub when_loaded: Option<WhenLoaded>,
}

/// Which kinds of objects of what is selected are loaded, besides schemas and the definitions of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The rows of tables.
    pub rows: bool,
    /// Everything but rows: without it rows go into tables that are there.
    pub definitions: bool,
    /// Views.
    pub views: bool,
    /// Triggers.
    pub triggers: bool,
    /// Procedures and functions, and packages of MariaDB.
    pub routines: bool,
    /// Events.
    pub events: bool,
    /// Only a part that is added to a target which has the rest.
    pub only: Option<Only>,
}

/// A part of an archive that is added to a target which has the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Views, triggers, routines and events.
    Objects,
    /// Indexes and foreign keys.
    Indexes,
    /// Accounts.
    Users,
}

impl Only {
    /// As users write it.
    pub fn option(self) -> &'static str {
        match self {
            Only::Objects => "--only objects",
            Only::Indexes => "--only indexes",
            Only::Users => "--only users",
        }
    }
}

impl Default for Parts {
    fn default() -> Self {
        Parts {
            rows: true,
            definitions: true,
            views: true,
            triggers: true,
            routines: true,
            events: true,
            only: None,
        }
    }
}

impl Parts {
    /// Whether statements of this kind are run.
    pub(crate) fn has(&self, kind: Allowed) -> bool {
        match kind {
            Allowed::View => self.views,
            Allowed::Trigger => self.triggers,
            Allowed::Routine => self.routines,
            Allowed::Event => self.events,
            _ => true,
        }
    }

    /// The options that leave some of them out.
    pub fn options(&self) -> Vec<&'static str> {
        if !self.definitions {
            return vec!["--data-only"];
        }
        let first = match self.only {
            Some(only @ (Only::Indexes | Only::Users)) => return vec![only.option()],
            Some(Only::Objects) => (false, Only::Objects.option()),
            None => (self.rows, "--ddl-only"),
        };
        let all = [
            first,
            (self.views, "--no-views"),
            (self.triggers, "--no-triggers"),
            (self.routines, "--no-routines"),
            (self.events, "--no-events"),
        ];
        let left_out = all.into_iter().filter(|(loaded, _)| !loaded);
        left_out.map(|(_, option)| option).collect()
    }
}

/// Uses a server that was loaded; gets how it is connected to.
#[derive(Clone)]
pub struct WhenLoaded(pub Arc<dyn Fn(&wire::Options) + Send + Sync>);

impl std::fmt::Debug for WhenLoaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WhenLoaded")
    }
}

impl Options {
    /// Whether a table whose rows the target refuses ends the load, because what follows cannot do without, or nothing could fill
    /// it later.
    pub(crate) fn needs_all_rows(&self) -> bool {
        self.all_rows || self.is_step || self.managed.is_some()
    }

    /// Whether the server is stopped for tables that are imported as tablespaces.
    pub(crate) fn is_offline(&self) -> bool {
        self.import_mode.stops(self.server_command.as_ref())
    }
}

/// What is done with objects that the target has already. What may be lost of them was agreed to: all of it, or these, each in
/// words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The load is refused.
    #[default]
    Refuse,
    /// They are left as they are, and what is missing is loaded.
    Skip,
    /// They are dropped, and loaded from the archive.
    Replace(Option<BTreeSet<String>>),
    /// Tables are emptied, and filled from the archive; other objects are left as they are.
    Truncate(Option<BTreeSet<String>>),
}

impl Existing {
    /// Whether anything may be lost.
    pub fn destroys(&self) -> bool {
        matches!(self, Existing::Replace(_) | Existing::Truncate(_))
    }

    /// The same, if this is all that was agreed to.
    pub fn only(self, agreed: Vec<String>) -> Existing {
        let agreed = Some(agreed.into_iter().collect());
        match self {
            Existing::Replace(_) => Existing::Replace(agreed),
            Existing::Truncate(_) => Existing::Truncate(agreed),
            other => other,
        }
    }

    /// As users write it.
    pub fn name(&self) -> &'static str {
        match self {
            Existing::Refuse => "refuse",
            Existing::Skip => "skip",
            Existing::Replace(_) => "replace",
            Existing::Truncate(_) => "truncate",
        }
    }
}

/// Whose rights views, triggers, routines and events have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Definers {
    /// Those of the account that they had.
    #[default]
    Keep,
    /// Those of the account that loads them.
    Strip,
    /// Those of another account for these, by user and host in small letters; the others keep theirs.
    Map(BTreeMap<(String, String), rows::accounts::Name>),
}

/// What is done with the GTIDs of an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gtids {
    /// Nothing.
    #[default]
    None,
    /// They become those of a target that has none.
    Set,
    /// They are added to those of the target.
    Append,
}

/// Which tables get their secondary indexes after their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferIndexes {
    /// Those that are big enough for it to be faster.
    Auto,
    /// Every one.
    All,
    /// None.
    Off,
}
