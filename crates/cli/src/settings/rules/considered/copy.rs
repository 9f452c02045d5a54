//! `copy`: of archives, and from server to server.

use super::connection::CONNECTION;
use super::{Call, Considered, EVERYWHERE, Verb};

pub const VERBS: &[Verb] = &[Verb {
    name: "copy",
    calls: &[
        "copy {archive} {new}",
        "copy {archive} s3://b/x",
        "copy {archive} -",
        "copy - {new}",
        "copy mysql://h/ mysql://g/ --no-defaults",
        "copy mysql://u@h/ mysql://u@g/",
        "copy mysql://u@h/ mysql://u@g/ mysql://i/ --no-defaults",
        "copy mysql://h/ mysql://g/ --consistency none --no-defaults",
        "copy mysql://h/ mysql://g/ --via {new} --no-defaults",
        "copy mysql://h/ mysql://g/ --via s3://b/x --resume --no-defaults",
        "copy mysql://h/ mysql://g/ --max-lag 2s --no-defaults",
        "copy mysql://h/ mysql://g/ --max-impact 5% --no-defaults",
        "copy mysql://h/ mysql://g/ --target-defaults-file {cnf} --no-defaults",
    ],
    options: &[EVERYWHERE, OWN, SELECTION, CONNECTION],
}];

fn servers(c: &Call) -> bool {
    c.uri()
}

const OWN: &[Considered] = &[
    ("threads", "--threads 2", |c| !c.line.starts_with("copy - ")),
    ("max-rate-disk", "--max-rate-disk 20M", |c| {
        !servers(c) || c.has("--via")
    }),
    ("via", "--via {new}", servers),
    ("resume", "--resume", |c| c.has("--via")),
    ("chunk-size", "--chunk-size 1M", servers),
    ("memory", "--memory 64M", |c| servers(c) && !c.has("--via")),
    ("consistency", "--consistency lock", servers),
    ("lock-wait", "--lock-wait 5", |c| {
        servers(c) && !c.has("none")
    }),
    ("no-backup-lock", "--no-backup-lock", |c| {
        servers(c) && !c.has("none")
    }),
    ("no-routines", "--no-routines", servers),
    ("no-events", "--no-events", servers),
    ("no-triggers", "--no-triggers", servers),
    ("require-all", "--require-all", servers),
    ("verify", "--verify none", servers),
    ("strip-tablespaces", "--strip-tablespaces", servers),
    ("skip-binlog", "--skip-binlog", servers),
    ("defer-indexes", "--defer-indexes off", servers),
    ("tune", "--tune off", servers),
    (
        "target-defaults-file",
        "--target-defaults-file {cnf}",
        servers,
    ),
    ("max-rate", "--max-rate 20M", servers),
    ("max-impact", "--max-impact 5%", servers),
    ("min-rate", "--min-rate 2M", |c| c.has("--max-impact")),
    ("max-lag", "--max-lag 2s", servers),
    ("replica", "--replica mysql://r/", |c| c.has("--max-lag")),
    ("max-threads-running", "--max-threads-running 9", servers),
    ("max-history-list", "--max-history-list 9000", servers),
    ("abort-if", "--abort-if threads-running=99", servers),
    ("limit-timeout", "--limit-timeout 1m", |c| {
        c.has_any(&["--max-lag", "--max-impact"])
    }),
];

const SELECTION: &[Considered] = &[
    ("map-schema", "--map-schema a=b", servers),
    ("map-table", "--map-table a.b=a.c", servers),
    ("include-schemas", "--include-schemas a", servers),
    ("exclude-schemas", "--exclude-schemas a", servers),
    ("include-tables", "--include-tables a.b", servers),
    ("include-triggers", "--include-triggers a.b", servers),
    ("exclude-triggers", "--exclude-triggers a.b", servers),
    ("include-routines", "--include-routines a.b", servers),
    ("exclude-routines", "--exclude-routines a.b", servers),
    ("include-events", "--include-events a.b", servers),
    ("exclude-events", "--exclude-events a.b", servers),
    ("exclude-tables", "--exclude-tables a.b", servers),
];
