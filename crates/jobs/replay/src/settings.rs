//! The settings with which a target applies a log exactly, in parallel, and, where the operator allows it, without
//! waiting for disks. All of them are changed while the server runs, and put back.

use server::Identity;

/// Workers of the applier, unless the operator says how many. More than cores: a worker waits for its turn to commit,
/// and for disks.
pub(crate) fn workers(cores: usize) -> u32 {
    (2 * cores).clamp(4, 64) as u32
}

/// What to set: names and values. Names that the target does not have are left out.
pub(crate) fn wanted(
    id: &Identity,
    server_id: u32,
    workers: u32,
    tune: bool,
) -> Vec<(&'static str, String)> {
    let mut list: Vec<(&'static str, String)> = Vec::new();
    // A server ignores events with its own number, and the log may hold events of the number that it has now.
    list.push(("server_id", server_id.to_string()));
    if id.is_mariadb() {
        list.push(("slave_parallel_threads", workers.to_string()));
        // Not slave_parallel_max_queued: larger queues cost more than they bring (bench/pitr/NOTES.md).
        list.push(("slave_exec_mode", "STRICT".to_owned()));
        // As events are: a CREATE TABLE of the log must not replace a table that should not be there.
        list.push(("slave_ddl_exec_mode", "STRICT".to_owned()));
    } else {
        list.push((
            name(id, ["replica_parallel_workers", "slave_parallel_workers"]),
            workers.to_string(),
        ));
        // An error then leaves everything before it applied, and nothing after it.
        list.push((
            name(
                id,
                [
                    "replica_preserve_commit_order",
                    "slave_preserve_commit_order",
                ],
            ),
            "ON".to_owned(),
        ));
        list.push((
            name(id, ["replica_exec_mode", "slave_exec_mode"]),
            "STRICT".to_owned(),
        ));
    }
    if tune {
        for name in [
            "innodb_flush_log_at_trx_commit",
            "sync_binlog",
            "sync_relay_log",
            "sync_relay_log_info",
            "sync_master_info",
            "sync_source_info",
        ] {
            list.push((name, "0".to_owned()));
        }
    }
    list.retain(|(name, _)| id.has_variable(name));
    list
}

fn name(id: &Identity, names: [&'static str; 2]) -> &'static str {
    if id.has_variable(names[0]) {
        names[0]
    } else {
        names[1]
    }
}
