//! To which moment a restore shall go.

use super::state;
use crate::args::load::Loading;
use crate::args::point_in_time::PointInTime;
use base::{Error, Kind, Result};
use binlog_archive::Target;

/// The moment that was asked for.
pub fn target(a: &PointInTime) -> Option<Target> {
    if a.latest {
        return Some(Target::Latest);
    }
    let time = a.to_time.map(Target::Time);
    let after = || a.to_gtid.clone().map(Target::After);
    let before = || a.before_gtid.clone().map(Target::Before);
    let position = || a.to_position.clone().map(Target::Position);
    time.or_else(after).or_else(before).or_else(position)
}

/// The log is that of the whole server.
pub fn check(a: &PointInTime, how: &Loading) -> Result<()> {
    if target(a).is_none() {
        return Ok(());
    }
    let refuse = |what: &str, hint: &str| Err(Error::new(Kind::Usage, what).hint(hint));
    let selection = &how.selection;
    let given = [
        ("--include-schemas", &selection.include_schemas),
        ("--exclude-schemas", &selection.exclude_schemas),
        ("--include-tables", &selection.include_tables),
        ("--exclude-tables", &selection.exclude_tables),
    ];
    if let Some((option, _)) = given.iter().find(|(_, patterns)| !patterns.is_empty()) {
        return refuse(
            &format!(
                "{option} does not apply: the binary log changes all tables, so a part of them cannot be restored to a point in time"
            ),
            "restore all of them with --datadir, and dump what you need from there",
        );
    }
    if how.skip_damaged {
        return refuse(
            "the binary log cannot be applied to a backup of which a part is left out (--skip-damaged)",
            "restore to the point in time from another backup",
        );
    }
    if how.resume {
        return refuse(
            "a restore to a point in time cannot be resumed (--resume)",
            "restore the backup with --resume first, without a point in time; or begin again",
        );
    }
    Ok(())
}

/// How the log is applied to this server.
pub fn replay(server: wire::Options, how: &Loading) -> Result<replay::Options> {
    let state = state::directory().ok_or_else(|| {
        Error::new(
            Kind::Usage,
            "no directory is known for the journal of settings",
        )
        .hint("set PENSTOCK_STATE, or HOME")
    })?;
    let new_server = how.new_server.datadir.is_some();
    Ok(replay::Options {
        tune: new_server || matches!(how.settings.tune, crate::args::values::Tune::Max),
        ..replay::Options::new(server, state)
    })
}

/// What a temporary server needs so that it can apply a log with these GTIDs.
pub fn server_options(with_gtids: bool) -> [String; 2] {
    match with_gtids {
        true => ["gtid_mode=ON", "enforce_gtid_consistency=ON"],
        false => ["gtid_mode=OFF", "enforce_gtid_consistency=OFF"],
    }
    .map(str::to_owned)
}
