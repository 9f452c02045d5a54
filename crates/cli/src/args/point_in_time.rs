//! A moment to restore to, by the binary log that is kept beside the backups.

use super::values::{gtid, log_place, moment};
use binlog::gtid::Gtid;
use binlog_archive::Place;
use clap::Args;

/// Which moment. None of these: the backup as it is.
#[derive(Args, Debug, Clone, Default)]
#[command(
    next_help_heading = "Point in time (a backup, and the binary log behind it: penstock binlog archive)"
)]
pub struct PointInTime {
    /// Every transaction that was committed until then: '2026-11-21 12:00:00+09:00', or without a
    /// zone in that of this host
    #[arg(long, value_name = "TIME", value_parser = moment, group = "moment")]
    pub to_time: Option<u64>,
    /// Everything up to this transaction, and it: UUID:NUMBER, or DOMAIN-SERVER-NUMBER of MariaDB
    #[arg(long, value_name = "GTID", value_parser = gtid, group = "moment")]
    pub to_gtid: Option<Gtid>,
    /// Everything before this transaction
    #[arg(long, value_name = "GTID", value_parser = gtid, group = "moment")]
    pub before_gtid: Option<Gtid>,
    /// Everything before this place in the binary log
    #[arg(long, value_name = "FILE:OFFSET", value_parser = log_place, group = "moment")]
    pub to_position: Option<Place>,
    /// Everything that is archived
    #[arg(long, group = "moment")]
    pub latest: bool,
    /// Apply the log also where a part of it is missing
    #[arg(long, requires = "moment")]
    pub across_gap: bool,
    /// Say what would be restored, for a moment also from which backup and through which part of the
    /// log, and how long it will take; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

impl PointInTime {
    /// Whether a moment is asked for.
    pub fn is_given(&self) -> bool {
        self.latest
            || self.to_time.is_some()
            || self.to_gtid.is_some()
            || self.before_gtid.is_some()
            || self.to_position.is_some()
    }
}
