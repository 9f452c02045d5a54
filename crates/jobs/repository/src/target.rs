//! Whether a server could be brought to a point in time: looked at before anything is restored, because the restore of a backup
//! may take hours.

use crate::accounts::{Accounts, Trouble};
use crate::obstacles::AccountChange;
use crate::point_in_time::{Log, Plan, executed_after, of_backup};
use base::units::printable;
use base::{Error, Kind, Result};
use binlog::gtid::Executed;
use run::Run;

/// Where a backup is restored to.
pub enum At<'a> {
    /// A server.
    Server(&'a wire::Options),
    /// A data directory that is initialized for it.
    NewServer,
}

/// Fails if the log could not be applied there; changes nothing.
pub fn check_target(run: &Run, plan: &Plan, at: &At<'_>) -> Result<()> {
    let At::Server(options) = at else {
        return accounts(plan, Accounts::of_new_server(), false);
    };
    for leg in &plan.route.legs {
        let log = Log::new(&plan.kept, leg.timeline);
        let request = replay::Request {
            log: &log,
            from: log.place(&leg.from),
            to: log.place(&leg.to),
            executed: None,
        };
        replay::check(options, &request)?;
    }
    let (mut conn, identity) = run::connect::open(run, options)?;
    if identity.is_mysql() && identity.variable("gtid_mode") == Some("ON") {
        nothing_twice(plan, &run::gtids::executed(&mut conn, false)?)?;
    }
    if plan.accounts.is_empty() {
        return Ok(());
    }
    match conn.fetch("SELECT User, Host FROM mysql.user") {
        Ok(rows) => {
            let text = |cell: Option<&Option<Vec<u8>>>| {
                let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
                String::from_utf8_lossy(bytes).into_owned()
            };
            let all = rows.iter().map(|r| (text(r.first()), text(r.get(1))));
            accounts(plan, Accounts::new(all), true)
        }
        Err(e) => {
            run.observer.warn(printable(&format!(
                "the log changes accounts, and which ones the target has cannot be seen ({e}): if one of them is missing, the restore ends there"
            )));
            Ok(())
        }
    }
}

/// Refuses a server that believes to have transactions of the log already, because its applier would pass over them in silence.
pub(crate) fn nothing_twice(plan: &Plan, theirs: &Executed) -> Result<()> {
    let held = of_backup(&plan.backup, false);
    let mut log = Executed::empty(false);
    for leg in &plan.route.legs {
        log.add_all(&executed_after(plan, leg, None));
    }
    let log = log.without(&held);
    let twice = log.without(&log.without(theirs));
    if twice.is_empty() {
        return Ok(());
    }
    let what = format!(
        "the target has executed transactions of the log already, as it says, and would pass over them: {twice}"
    );
    Err(Error::new(Kind::Target, what)
        .hint("RESET BINARY LOGS AND GTIDS on it, if it is to be a new server, and restore again"))
}

impl Plan {
    /// Accounts that a server must have before the backup is restored, with the first statement that needs each.
    pub fn accounts_needed(&self) -> Vec<String> {
        let mut known = Accounts::of_new_server();
        let all = self.accounts.iter().flat_map(|change| {
            let troubles = change.steps.iter().filter_map(|s| known.take(s));
            let named: Vec<String> = troubles.map(|t| in_words(&t, change)).collect();
            named
        });
        all.collect()
    }
}

fn in_words(trouble: &Trouble, change: &AccountChange) -> String {
    let name = match &change.gtid {
        Some(gtid) => format!("transaction {gtid}"),
        None => change.place.to_string(),
    };
    printable(&match trouble {
        Trouble::Missing(account) => format!("{account} ({}, {name})", change.verb),
        Trouble::Exists(account) => {
            format!(
                "{account}, which the log creates ({}, {name}), and which is there already",
                change.verb
            )
        }
    })
}

/// Refuses accounts with which a statement of the log would fail.
fn accounts(plan: &Plan, mut known: Accounts, running: bool) -> Result<()> {
    let (mut missing, mut there) = (Vec::new(), Vec::new());
    for change in &plan.accounts {
        for trouble in change.steps.iter().filter_map(|s| known.take(s)) {
            let words = in_words(&trouble, change);
            match trouble {
                Trouble::Missing(_) => missing.push(words),
                Trouble::Exists(_) => there.push(words),
            }
        }
    }
    if !missing.is_empty() {
        let what = format!(
            "the log changes accounts that the {} will not have, because the accounts of a dump are not restored with a log: {}",
            if running { "target" } else { "new server" },
            shown(&missing)
        );
        let way = match running {
            true => "create them on the target first, each as it was when the backup was taken",
            false => "restore into a running server that has them (--into)",
        };
        return Err(Error::new(Kind::Target, what).hint(format!(
            "{way}; or begin with a snapshot, which has all accounts (--kind snapshot; penstock backup --snapshot takes one); or stop before them with --before-gtid"
        )));
    }
    if !there.is_empty() {
        let what = format!(
            "the log creates accounts that the target has already, and its applier would stop there: {}",
            shown(&there)
        );
        return Err(Error::new(Kind::Target, what)
            .hint("drop them on the target: the log creates them again"));
    }
    Ok(())
}

/// Some of them, and how many more there are.
fn shown(all: &[String]) -> String {
    const SHOWN: usize = 8;
    let named = all
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    match all.len().saturating_sub(SHOWN) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}
