//! What would end a restore in the log is found before anything is restored: accounts that a dump has not, tables outside of a
//! selection, a target that could not apply it, damage.

use super::kit::{Logged, emptied, restoring, server, write};
use crate::kit::{Tool, each_kind};
use testkit::{Kind, Server};

/// Whether nothing was restored.
#[track_caller]
fn untouched(target: &Server) {
    let sql = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name IN ('d', 'e')";
    assert_eq!(target.value(sql).expect("a count"), "0");
}

fn backup(logged: &Logged, more: &[&str]) {
    Tool::new(["backup", "shop", "--no-defaults", "--user", "root"])
        .arg("--repository")
        .arg(logged.repository())
        .arg("--socket")
        .arg(logged.server.socket())
        .args(more.iter().copied())
        .run()
        .ok();
}

/// A dump has no accounts: a log that changes one needs it on the target, and that is said before the load.
fn accounts_are_needed(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    let run = |server: &Server, sql: &str| server.script(sql.as_bytes()).expect("a statement");
    write(&logged.server, 3);
    run(
        &logged.server,
        "CREATE USER old@'10.%' IDENTIFIED BY 'Secret-1'",
    );
    logged.backup();
    run(
        &logged.server,
        "CREATE USER new@localhost IDENTIFIED BY 'Secret-2'; GRANT SELECT ON d.* TO new@localhost; DROP USER IF EXISTS none;
        GRANT INSERT ON d.* TO old@'10.%'; ALTER USER old@'10.%' IDENTIFIED BY 'Secret-3'",
    );
    write(&logged.server, 3);
    logged.archiving(&["--once"]).run().ok();
    let needed = "'old'@'10.%' (GRANT, transaction";
    let plan = logged.on(&["restore", "--latest", "--dry-run"]).ok();
    let plan = plan.says(&[needed, "none was named"]);
    assert!(!plan.said().contains("'new'"), "{}", plan.said());
    assert!(!plan.said().contains("Secret"), "{}", plan.said());
    let target = server(kind, 9, &[]);
    for more in [&["--latest", "--dry-run"][..], &["--latest"]] {
        restoring(&logged, &target, more).code(10).says(&[
            needed,
            "a dump",
            "--kind snapshot",
            "create them on the target first",
        ]);
        untouched(&target);
    }
    let datadir = logged.path("new");
    logged
        .on(&[
            "restore",
            "--latest",
            "--datadir",
            datadir.to_str().expect("text"),
        ])
        .code(10)
        .says(&[needed, "--into"]);
    assert!(!datadir.exists());
    // The log creates this one itself.
    run(&target, "CREATE USER old@'10.%'; CREATE USER new@localhost");
    restoring(&logged, &target, &["--latest"]).code(10).says(&[
        "creates accounts that the target has already",
        "'new'@'localhost'",
    ]);
    run(&target, "DROP USER new@localhost");
    restoring(&logged, &target, &["--latest"]).ok();
    let grants = target.client("SHOW GRANTS FOR old@'10.%'").expect("grants");
    assert!(format!("{grants:?}").contains("INSERT"), "{grants:?}");
}
each_kind!(accounts_are_needed; mysql, mariadb);

/// A table that was altered while it was dumped has no rows in the backup: the log would add some, and nothing would tell.
fn a_backup_without_rows_leads_nowhere(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 3);
    let tool = Tool::new(["backup", "shop", "--no-defaults", "--user", "root"])
        .arg("--repository")
        .arg(logged.repository())
        .arg("--socket")
        .arg(logged.server.socket())
        .args(["--no-backup-lock"].iter().filter(|_| kind == Kind::MySql))
        .env("PENSTOCK_STOP_AT", "rows are taken over#1");
    let running = tool.start();
    running.until_stopped();
    let change = "ALTER TABLE d.t ADD COLUMN more INT; INSERT INTO d.t (v) VALUES ('later')";
    logged.server.script(change.as_bytes()).expect("a change");
    running.signal(rustix::process::Signal::CONT);
    running
        .wait()
        .code(3)
        .says(&["`d`.`t`", "none of its rows"]);
    logged.archiving(&["--once"]).run().ok();
    let target = server(kind, 9, &[]);
    for more in [&["--latest", "--dry-run"][..], &["--latest"]] {
        restoring(&logged, &target, more).code(2).says(&[
            "has no rows of `d`.`t`",
            "no backup of shop leads to that state",
        ]);
        untouched(&target);
    }
    // Another one does.
    logged.backup();
    logged.archiving(&["--once"]).run().ok();
    restoring(&logged, &target, &["--latest"]).ok();
    let count = "SELECT COUNT(*) FROM d.t";
    let counted = logged.server.value(count).expect("a count");
    assert_eq!(target.value(count).expect("a count"), counted);
}
each_kind!(a_backup_without_rows_leads_nowhere; mysql, mariadb);

/// A backup of some schemas leads on as long as the log changes nothing else.
fn a_selection_leads_only_through_itself(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    let run = |sql: &str| logged.server.script(sql.as_bytes()).expect("a statement");
    write(&logged.server, 3);
    run("CREATE SCHEMA e; CREATE TABLE e.t (id INT PRIMARY KEY)");
    backup(&logged, &[]);
    backup(&logged, &["--schemas", "d"]);
    write(&logged.server, 3);
    logged.archiving(&["--once"]).run().ok();
    let target = server(kind, 9, &[]);
    restoring(&logged, &target, &["--latest"]).ok();
    let count = "SELECT COUNT(*) FROM d.t";
    let counted = logged.server.value(count).expect("a count");
    assert_eq!(target.value(count).expect("a count"), counted);
    assert_eq!(
        target
            .value("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'e'")
            .expect("a count"),
        "0"
    );
    emptied(&target);
    run("INSERT INTO e.t VALUES (1)");
    logged.archiving(&["--once"]).run().ok();
    // The older one, which has everything.
    restoring(&logged, &target, &["--latest"]).ok().says(&[
        "an older backup is used",
        "holds a part of the server (only schemas d)",
        "the table e.t at binlog.",
    ]);
    assert_eq!(
        target.value("SELECT COUNT(*) FROM e.t").expect("a count"),
        "1"
    );
    target.client("DROP SCHEMA e").expect("a drop");
    emptied(&target);
    logged.on(&["prune", "--keep-last", "1"]).ok();
    restoring(&logged, &target, &["--latest"])
        .code(2)
        .says(&["the table e.t at binlog.", "take backups of all of it"]);
    untouched(&target);
    logged.on(&["check"]).ok();
}
each_kind!(a_selection_leads_only_through_itself; mysql, mariadb);

/// What the target is, and what its account may do, is looked at first.
fn the_target_is_looked_at(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    write(&logged.server, 3);
    logged.backup();
    write(&logged.server, 3);
    logged.archiving(&["--once"]).run().ok();
    let target = server(kind, 9, &[]);
    for dry_run in [&["--dry-run"][..], &[]] {
        let ask = || restoring(&logged, &target, &[&["--latest"], dry_run].concat());
        target
            .script(b"CREATE USER few@localhost; GRANT ALL ON d.* TO few@localhost")
            .expect("an account");
        Tool::new(["restore", "--no-defaults", "--user", "few", "--latest"])
            .args(dry_run.iter().copied())
            .arg("--repository")
            .arg(logged.repository())
            .arg("--socket")
            .arg(target.socket())
            .run()
            .code(7)
            .says(&["REPLICATION"]);
        target.script(b"DROP USER few@localhost").expect("a drop");
        if kind == Kind::MySql {
            let uuid = logged.server.value("SELECT @@server_uuid").expect("a UUID");
            let last =
                "SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(@@GLOBAL.gtid_executed, ':', -1), '-', -1)";
            let last = logged.server.value(last).expect("a number");
            target
                .client(&format!("SET GLOBAL gtid_purged = '+{uuid}:{last}'"))
                .expect("a GTID");
            ask()
                .code(10)
                .says(&["has executed transactions of the log already"]);
            emptied(&target);
        }
        untouched(&target);
    }
    // Damage is met before the load, too.
    let segment = std::fs::read_dir(logged.place())
        .expect("segments")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "seg"))
        .max()
        .expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("bytes");
    let at = bytes.len() - 20;
    bytes[at] ^= 0xff;
    std::fs::write(&segment, bytes).expect("it is written");
    restoring(&logged, &target, &["--latest"])
        .code(5)
        .says(&["is damaged"]);
    untouched(&target);
}
each_kind!(the_target_is_looked_at; mysql, mariadb);
