//! `penstock preflight`: of a server, the list of checks, or a striped volume.

use super::connection::CONNECTION;
use super::{Call, Considered, EVERYWHERE, Verb};

/// Whether a server is looked at.
fn server(c: &Call) -> bool {
    !c.has_any(&["--list", "--stripe"])
}

/// Beside a server, or beside the other one.
fn never(_: &Call) -> bool {
    false
}

/// Whether what jobs need is looked at.
fn jobs(c: &Call) -> bool {
    server(c) && !c.has("host")
}

const BACKUPS: &[Considered] = &[
    ("repository", "--repository /r", jobs),
    ("server-name", "--server-name shop", |c| {
        c.has("--repository")
    }),
    ("max-backup-age", "--max-backup-age 2h", |c| {
        c.has("--repository")
    }),
];

pub const VERBS: &[Verb] = &[Verb {
    name: "preflight",
    calls: &[
        "preflight -S /s --no-defaults",
        "preflight mysql://u@h/ --no-defaults",
        "preflight -S /s --repository /r --no-defaults",
        "preflight -S /s --only host --no-defaults",
        "preflight -S /s --for load --no-defaults",
        "preflight --list",
        "preflight --stripe /dev/sdb,/dev/sdc",
    ],
    options: &[
        EVERYWHERE,
        &[
            ("only", "--only jobs --only server", server),
            ("for", "--for dump", jobs),
            ("silence", "--silence swap", server),
            ("to", "--to {new}", |c| jobs(c) && !c.has("load")),
            // Each is an answer of its own.
            ("list", "--list", never),
            ("stripe", "--stripe /dev/sdb,/dev/sdc", never),
            ("record", "--record /tmp/r.json", server),
        ],
        BACKUPS,
        CONNECTION,
    ],
}];
