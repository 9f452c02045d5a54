//! `load` and `restore`.

use super::connection::CONNECTION;
use super::{Call, Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[
    Verb {
        name: "load",
        calls: &[
            "load {archive} -S /s --no-defaults",
            "load {archive} -S /s",
            "load {archive} -h db --no-defaults",
            "load {archive} --into mysql://u@h/ --no-defaults",
            "load s3://b/x -S /s --no-defaults",
            "load {shell} -S /s --no-defaults",
            "load {script} -S /s --no-defaults",
            "load -:archive -S /s --no-defaults",
            "load -:script -S /s --no-defaults",
            "load {archive} --datadir {new} --no-defaults",
            "load {shell} --datadir {new} --no-defaults",
            "load {script} --datadir {new} --no-defaults",
            "load {archive} -S /s --import-mode sql --no-defaults",
            "load {archive} -S /s --import-mode tablespace --no-defaults",
            "load {archive} -S /s --import-mode offline --server-command x --no-defaults",
            "load {archive} -S /s --existing replace --no-defaults",
            "load {archive} -S /s --tune max --no-defaults",
            "load {archive} -S /s --tune max --server-command x --server-config /c --no-defaults",
            "load {script} -S /s --tune max --server-command x --server-config /c --no-defaults",
        ],
        options: &[
            EVERYWHERE,
            LOADING,
            &[
                ("schema", "--schema x", of_others),
                ("skip-unsupported", "--skip-unsupported", of_others),
                ("scratch", "--scratch /var/tmp", |c| c.has("-:archive")),
                ("dry-run", "--dry-run", |c| {
                    !of_others(c) && !c.has_any(&["-:archive", "--datadir"])
                }),
            ],
            CONNECTION,
        ],
    },
    Verb {
        name: "restore",
        calls: &[
            "restore --repository /r -S /s --no-defaults",
            "restore --repository /r -S /s",
            "restore --repository s3://b/x --into mysql://u@h/ --no-defaults",
            "restore --repository /r --datadir {new} --no-defaults",
            "restore --repository /r -S /s --import-mode sql --no-defaults",
            "restore --repository /r -S /s --import-mode offline --server-command x --no-defaults",
            "restore --repository /r -S /s --tune max --no-defaults",
            "restore --repository /r -S /s --latest --no-defaults",
            "restore --repository /r --datadir {new} --to-time 2026-11-21T12:00:00Z --no-defaults",
            "restore --kind snapshot --repository /r --datadir {new} --no-defaults",
        ],
        options: &[
            EVERYWHERE,
            MOMENT,
            &[("prove", "--prove open", |c| {
                c.has("snapshot") && c.has("--datadir")
            })],
            super::repository::WHERE,
            super::repository::OF_SERVER,
            LOADING,
            CONNECTION,
        ],
    },
];

fn to_a_moment(c: &Call) -> bool {
    c.has_any(&["--latest", "--to-time"])
}

/// One moment at a time; none of these goes with a part of the tables.
const MOMENT: &[Considered] = &[
    ("to-time", "--to-time 2026-11-21T12:00:00Z", |c| {
        !to_a_moment(c)
    }),
    ("to-gtid", "--to-gtid 0-1-7", |c| !to_a_moment(c)),
    ("before-gtid", "--before-gtid 0-1-7", |c| !to_a_moment(c)),
    ("to-position", "--to-position b.000001:4", |c| {
        !to_a_moment(c)
    }),
    ("latest", "--latest", |c| !to_a_moment(c)),
    ("across-gap", "--across-gap", to_a_moment),
    ("dry-run", "--dry-run", |c| {
        to_a_moment(c) || of_rows(c) && !c.has("--datadir")
    }),
];

const LOADING: &[Considered] = &[
    ("into", "--into mysql://h/", |c| {
        !c.has_any(&["-S", "-h", "--datadir"])
    }),
    ("threads", "--threads 2", always),
    ("resume", "--resume", |c| {
        !c.has_any(&["-:archive", "-:script"]) && of_rows(c) && !to_a_moment(c)
    }),
    ("existing", "--existing skip", |c| {
        of_parts(c) && !c.has("--datadir")
    }),
    // It goes with --existing, and not with --dry-run.
    ("yes", "--yes", |c| c.has_any(&["replace", "truncate"])),
    ("verify", "--verify none", of_rows),
    ("allow-same-server", "--allow-same-server", |c| {
        with_manifest(c) && !c.has("--datadir")
    }),
    ("skip-damaged", "--skip-damaged", of_parts),
    ("strip-tablespaces", "--strip-tablespaces", of_archives),
    ("definer", "--definer strip", of_parts),
    ("ddl-only", "--ddl-only", |c| {
        of_parts(c) && !c.has_any(&["sql", "tablespace", "offline", "replace"])
    }),
    ("data-only", "--data-only", |c| {
        of_parts(c) && !c.has_any(&["tablespace", "offline", "replace", "--datadir"])
    }),
    ("only", "--only objects", |c| {
        of_parts(c) && !c.has_any(&["sql", "tablespace", "offline", "--datadir"])
    }),
    ("where", "--where a.b=1", of_parts),
    ("partitions", "--partitions a.b=p1", of_parts),
    ("no-views", "--no-views", of_parts),
    ("no-triggers", "--no-triggers", of_parts),
    ("no-routines", "--no-routines", of_parts),
    ("no-events", "--no-events", of_parts),
    ("analyze", "--analyze", of_archives),
    ("gtid-purged", "--gtid-purged set", of_parts),
    ("users", "--users", of_parts),
    ("include-users", "--include-users a@b", of_parts),
    ("exclude-users", "--exclude-users a", of_parts),
    ("skip-binlog", "--skip-binlog", |c| !c.has("--datadir")),
    ("record", "--record /tmp/r.json", of_rows),
    // What other tools wrote has no amounts to forecast from.
    ("no-history", "--no-history", of_archives),
    // It names the tables that cannot be imported so; where none could be, it is refused.
    ("import-mode", "--import-mode tablespace", with_manifest),
    ("sort-memory", "--sort-memory 1M", |c| {
        with_manifest(c) && !c.has("sql")
    }),
    ("defer-indexes", "--defer-indexes all", of_rows),
    ("tune", "--tune off", |c| {
        // Without settings to change there is nothing to restart the server for.
        of_rows(c) && (c.has("offline") || !c.has("--server-command"))
    }),
    // It needs something to restart the server for.
    ("server-command", "--server-command x", |_| false),
    ("server-config", "--server-config /c", |_| false),
    ("datadir", "--datadir {new}", |c| {
        !c.has_any(&["-S", "-h", "--into", "--server-command"])
    }),
    ("mysqld", "--mysqld /bin/x", |c| c.has("--datadir")),
    (
        "mysqld-option",
        "--mysqld-option lower_case_table_names=1",
        |c| c.has("--datadir"),
    ),
    ("map-schema", "--map-schema a=b", chooses),
    ("map-table", "--map-table a.b=a.c", chooses),
    ("include-schemas", "--include-schemas a", chooses),
    ("exclude-schemas", "--exclude-schemas a", chooses),
    ("include-tables", "--include-tables a.b", chooses),
    ("include-triggers", "--include-triggers a.b", chooses),
    ("exclude-triggers", "--exclude-triggers a.b", chooses),
    ("include-routines", "--include-routines a.b", chooses),
    ("exclude-routines", "--exclude-routines a.b", chooses),
    ("include-events", "--include-events a.b", chooses),
    ("exclude-events", "--exclude-events a.b", chooses),
    ("exclude-tables", "--exclude-tables a.b", chooses),
    ("max-rate", "--max-rate 20M", always),
    ("identity", "--identity {key}", encrypted),
    (
        "passphrase-file",
        "--passphrase-file {passphrase}",
        encrypted,
    ),
];

fn of_others(c: &Call) -> bool {
    c.has_any(&["{script}", "-:script"])
}

fn of_parts(c: &Call) -> bool {
    of_archives(c) && !to_a_moment(c)
}

/// Where a part can be chosen and named: of another tool's dump too, if it can be read twice.
fn chooses(c: &Call) -> bool {
    of_parts(c) || of_others(c) && !c.has("-:script")
}

/// What can be encrypted: an archive or a snapshot.
fn encrypted(c: &Call) -> bool {
    !of_others(c)
}

/// Whether rows are loaded, and no files restored.
fn of_rows(c: &Call) -> bool {
    !c.has("snapshot")
}

fn of_archives(c: &Call) -> bool {
    !of_others(c) && of_rows(c)
}

/// Whether it is an archive that may have a manifest: of one that is opened later it is not known yet.
fn with_manifest(c: &Call) -> bool {
    of_archives(c) && !c.has("{shell}")
}
