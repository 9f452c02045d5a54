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

/// What a temporary server needs so that it can apply the log of this plan.
pub fn plan_options(plan: &repository::Plan) -> Vec<String> {
    match plan.is_mariadb() {
        true => Vec::new(),
        false => server_options(plan.backup.position.gtid_executed.is_some()).to_vec(),
    }
}

/// What a temporary server needs so that it can apply a log with these GTIDs.
pub fn server_options(with_gtids: bool) -> [String; 2] {
    match with_gtids {
        true => ["gtid_mode=ON", "enforce_gtid_consistency=ON"],
        false => ["gtid_mode=OFF", "enforce_gtid_consistency=OFF"],
    }
    .map(str::to_owned)
}
