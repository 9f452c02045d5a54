//! What a restore leaves that is killed while the log is applied, and what takes it away.

use super::kit::{Logged, restore, server, write};
use crate::kit::{Tool, each_kind};
use testkit::{Kind, Server};

/// The settings that a replay changes, in one text.
fn settings(server: &Server) -> String {
    let names = match server.kind() == Kind::MySql {
        true => "'replica_parallel_workers','sync_relay_log'",
        false => "'slave_parallel_threads','sync_relay_log'",
    };
    let sql = format!(
        "SHOW GLOBAL VARIABLES WHERE variable_name IN ('server_id','innodb_flush_log_at_trx_commit','sync_binlog',{names})"
    );
    format!("{:?}", server.client(&sql).expect("settings"))
}

fn doctor(logged: &Logged, target: &Server, more: &[&str]) -> crate::kit::Done {
    Tool::new(["doctor", "--no-defaults", "--user", "root", "--socket"])
        .arg(target.socket())
        .args(more.iter().copied())
        .env("PENSTOCK_STATE", logged.path("state"))
        .run()
}

/// The applier of a killed replay still runs, and as long as it does settings cannot be put back: the doctor says so, and removes it.
fn the_doctor_takes_it_away(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 5);
    logged.backup();
    write(&logged.server, 200);
    logged.archiving(&["--once"]).run().ok();
    let target = server(kind, 9, &[]);
    let before = settings(&target);
    restore(&logged, &target, &["--latest", "--tune", "max"])
        .env("PENSTOCK_KILL_AT", "the channel of a replay is started#1")
        .run()
        .code(137);
    assert_ne!(settings(&target), before);
    doctor(&logged, &target, &[])
        .code(3)
        .says(&["channel penstock", "killed", "doctor --revert"]);
    doctor(&logged, &target, &["--revert"])
        .ok()
        .says(&["the replication channel penstock", "applied its log up to"]);
    assert_eq!(settings(&target), before);
    doctor(&logged, &target, &[])
        .ok()
        .says(&["Nothing is left changed"]);
}
each_kind!(the_doctor_takes_it_away; mysql, mariadb);
