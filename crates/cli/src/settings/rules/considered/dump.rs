//! `dump` and `backup`.

use super::connection::CONNECTION;
use super::{Call, Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[
    Verb {
        name: "dump",
        calls: &[
            "dump --to {new} -S /s --no-defaults",
            "dump --to {new} -S /s",
            "dump --to {new} -h db --no-defaults",
            "dump --to {new} -h db --ssl-mode required --no-defaults",
            "dump mysql://u@h/ --to {new} --no-defaults",
            "dump --to - -S /s --no-defaults",
            "dump --to s3://b/x -S /s --no-defaults",
            "dump --to {new} -S /s --consistency none --no-defaults",
            "dump --to {new} -S /s --max-lag 2s --no-defaults",
            "dump --to {new} -S /s --max-impact 5% --no-defaults",
            "dump --to {new} -S /s --encrypt-to {to} --no-defaults",
            "dump --to {new} --from-files /srv/d --no-defaults",
            "dump --to {new} --from-files /srv/d --recover",
            "dump --to {new} -S /s --from-replica-files --no-defaults",
            "dump --to {new} -S /s --from-snapshot reflink --no-defaults",
            "dump --to {new} -S /s --from-snapshot lvm --no-defaults",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("to", "--to {new}", always),
                ("dry-run", "--dry-run", sql),
                ("resume", "--resume", |c| {
                    sql(c) && !c.has_any(&["--encrypt-to", "none", "-"])
                }),
                ("ddl-only", "--ddl-only", |c| {
                    !c.has_any(&["--max-impact", "--max-lag"]) && !replica_files(c)
                }),
                ("where", "--where a.b=1", sql),
                ("partitions", "--partitions a.b=p1", sql),
                ("data-only", "--data-only", |c| !c.has("--no-users")),
            ],
            FILES,
            DUMPING,
            SELECTION,
            PROGRAMS,
            CONNECTION,
        ],
    },
    Verb {
        name: "backup",
        calls: &[
            "backup shop --repository /r -S /s --no-defaults",
            "backup shop --repository /r -S /s",
            "backup shop mysql://u@h/ --repository s3://b/x --no-defaults",
            "backup shop --repository /r -S /s --consistency none --no-defaults",
            "backup shop --repository /r -h db --max-lag 2s --no-defaults",
            "backup shop --repository /r -h db --max-impact 5% --no-defaults",
            "backup shop --repository /r -S /s --incremental --no-defaults",
            "backup shop --repository /r -S /s --incremental --encrypt-to {to} --no-defaults",
            "backup shop --repository /r -S /s --snapshot reflink --no-defaults",
            "backup shop --repository s3://b/x -S /s --snapshot lvm --no-defaults",
            "backup shop --repository /r -S /s --snapshot clone --no-defaults",
            "backup shop --repository /r --snapshot copy --datadir /srv/d --no-defaults",
        ],
        options: &[
            EVERYWHERE,
            super::repository::WHERE,
            INCREMENTAL,
            SNAPSHOT,
            DUMPING,
            SELECTION,
            PROGRAMS,
            CONNECTION,
        ],
    },
];

fn files(c: &Call) -> bool {
    c.has("--from-files")
}

fn replica_files(c: &Call) -> bool {
    c.has("--from-replica-files")
}

fn from_snapshot(c: &Call) -> bool {
    c.has("--from-snapshot")
}

/// Whether rows are read by SQL.
fn sql(c: &Call) -> bool {
    server(c) && !replica_files(c)
}

/// Whether a server is dumped.
fn server(c: &Call) -> bool {
    !files(c) && !snapshot(c) && !from_snapshot(c)
}

/// Whether a temporary server reads what is not in files.
fn own_server(c: &Call) -> bool {
    files(c) || from_snapshot(c)
}

fn snapshot(c: &Call) -> bool {
    c.has("--snapshot")
}

fn rows(c: &Call) -> bool {
    !snapshot(c)
}

const INCREMENTAL: &[Considered] = &[
    ("incremental", "--incremental", |c| {
        !snapshot(c) && !c.has("none")
    }),
    ("paranoid", "--paranoid", |c| c.has("--incremental")),
    ("identity", "--identity {key}", |c| {
        c.has("--incremental") && c.has("--encrypt-to")
    }),
];

const SNAPSHOT: &[Considered] = &[
    // It excludes options that some calls have.
    ("snapshot", "--snapshot reflink", |c| {
        !c.has_any(&[
            "--consistency",
            "--max-lag",
            "--max-impact",
            "--incremental",
        ])
    }),
    ("at", "--at /srv", |c| snapshot(c) && !c.has("--datadir")),
    ("datadir", "--datadir /srv/d", |c| c.has("copy")),
    ("keep-free", "--keep-free 7%", snapshot),
    ("snapshot-size", "--snapshot-size 1G", |c| c.has("lvm")),
];

const FILES: &[Considered] = &[
    // Without an address the calls of other lines could be of files; those with one could not.
    ("from-files", "--from-files /srv/d", |c| {
        !c.has_any(&["-S", "-h", "--max-lag", "--max-impact"]) && !c.uri()
    }),
    ("from-replica-files", "--from-replica-files", |c| {
        server(c) && !c.has_any(&["none", "--max-lag"])
    }),
    ("from-snapshot", "--from-snapshot reflink", |c| {
        sql(c) && !c.has_any(&["none", "--max-lag", "--max-impact"])
    }),
    ("at", "--at /srv", from_snapshot),
    ("keep-free", "--keep-free 7%", from_snapshot),
    ("snapshot-size", "--snapshot-size 1G", |c| c.has("lvm")),
    ("datadir", "--datadir /srv/d", replica_files),
    ("recover", "--recover", files),
    (
        "binary-log-index",
        "--binary-log-index /srv/l/b.index",
        |c| c.has("--recover"),
    ),
    ("scratch", "--scratch /s", own_server),
    ("mysqld", "--mysqld /m", own_server),
    (
        "mysqld-option",
        "--mysqld-option innodb_page_size=8k",
        own_server,
    ),
];

const DUMPING: &[Considered] = &[
    ("threads", "--threads 2", always),
    ("compression", "--compression none", always),
    ("chunk-size", "--chunk-size 1M", rows),
    // A call with this option is in the list; here are the wait for the lock that it does not take, and the rest.
    ("consistency", "--consistency none", |c| {
        server(c) && !c.has("--incremental") && !replica_files(c)
    }),
    ("lock-wait", "--lock-wait 5", |c| {
        !c.has_any(&["none", "clone", "copy"]) && !files(c)
    }),
    ("no-backup-lock", "--no-backup-lock", |c| {
        server(c) && !c.has("none") && !replica_files(c)
    }),
    ("no-views", "--no-views", rows),
    ("no-routines", "--no-routines", rows),
    ("no-events", "--no-events", rows),
    ("no-triggers", "--no-triggers", rows),
    ("users", "--users", |c| server(c) && !c.has("--no-users")),
    ("no-users", "--no-users", rows),
    ("include-users", "--include-users a@b", server),
    ("exclude-users", "--exclude-users a", server),
    ("require-all", "--require-all", rows),
    ("record", "--record /tmp/r.json", rows),
    ("no-history", "--no-history", rows),
    ("max-rate", "--max-rate 20M", always),
    ("max-rate-disk", "--max-rate-disk 20M", always),
    ("max-impact", "--max-impact 5%", server),
    ("min-rate", "--min-rate 1M", |c| c.has("--max-impact")),
    // With the lag of another replica it goes with --from-replica-files.
    ("max-lag", "--max-lag 2s", |c| {
        server(c) && !replica_files(c)
    }),
    ("replica", "--replica mysql://r/", |c| c.has("--max-lag")),
    ("max-threads-running", "--max-threads-running 9", server),
    ("max-history-list", "--max-history-list 9", server),
    ("abort-if", "--abort-if history-list=9", server),
    ("limit-timeout", "--limit-timeout 1m", |c| {
        c.has_any(&["--max-impact", "--max-lag"])
    }),
    ("encrypt-to", "--encrypt-to {to}", always),
    ("passphrase-file", "--passphrase-file {passphrase}", |c| {
        !c.has("--encrypt-to")
    }),
];

pub const SELECTION: &[Considered] = &[
    ("include-schemas", "--include-schemas a", rows),
    ("exclude-schemas", "--exclude-schemas a", rows),
    ("include-tables", "--include-tables a.b", rows),
    ("exclude-tables", "--exclude-tables a.b", rows),
];

/// Which triggers, routines and events.
const PROGRAMS: &[Considered] = &[
    ("include-triggers", "--include-triggers a.b", rows),
    ("exclude-triggers", "--exclude-triggers a.b", rows),
    ("include-routines", "--include-routines a.b", rows),
    ("exclude-routines", "--exclude-routines a.b", rows),
    ("include-events", "--include-events a.b", rows),
    ("exclude-events", "--exclude-events a.b", rows),
];
