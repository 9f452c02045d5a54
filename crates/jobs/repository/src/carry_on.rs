//! The log behind a backup, applied by the server that the backup was restored into.

use crate::point_in_time::{Log, Plan, executed_after, of_backup};
use crate::target::nothing_twice;
use base::Result;
use binlog::gtid::Executed;
use run::{Run, failure};

/// Has a server that holds the backup apply the log behind it.
pub fn carry_on(run: &Run, plan: &Plan, options: &replay::Options) -> Result<Vec<replay::Summary>> {
    seed(run, plan, &options.wire)?;
    let mut done = Vec::new();
    let mut executed: Option<Executed> = None;
    for leg in &plan.route.legs {
        let log = Log::new(&plan.kept, leg.timeline);
        let request = replay::Request {
            log: &log,
            from: log.place(&leg.from),
            to: log.place(&leg.to),
            // A log that carries nothing on has nothing of what was applied before.
            executed: executed.as_ref().filter(|_| plan.carries_on(leg)),
        };
        done.push(replay::replay(run, options, &request)?);
        // The next timeline may hold some of these again.
        executed = Some(executed_after(plan, leg, executed.take()));
    }
    Ok(done)
}

/// Says to the server which transactions the backup holds, so that it can follow others later.
fn seed(run: &Run, plan: &Plan, options: &wire::Options) -> Result<()> {
    let (mut conn, identity) = run::connect::open(run, options)?;
    let cannot = |e| failure::wire("cannot prepare the target for the binary log", e);
    let mariadb = identity.is_mariadb();
    let held = of_backup(&plan.backup, mariadb);
    if mariadb {
        let now = conn
            .fetch("SELECT @@GLOBAL.gtid_slave_pos")
            .map_err(cannot)?;
        let cell = now.into_iter().next().and_then(|r| r.into_iter().next());
        if !held.is_empty() && cell.flatten().unwrap_or_default().is_empty() {
            let set = format!("SET GLOBAL gtid_slave_pos = '{held}'");
            conn.execute(&set).map_err(cannot)?;
        }
        return Ok(());
    }
    if identity.variable("gtid_mode") != Some("ON") {
        return Ok(());
    }
    // The restore of the backup may have taken hours.
    let theirs = run::gtids::executed(&mut conn, false)?;
    nothing_twice(plan, &theirs)?;
    let missing = held.without(&theirs);
    if !missing.is_empty() {
        let set = format!("SET GLOBAL gtid_purged = '+{missing}'");
        conn.execute(&set).map_err(cannot)?;
    }
    Ok(())
}
