//! `binlog` and its commands.

use super::connection::CONNECTION;
use super::repository::WHERE;
use super::{Call, Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[ARCHIVING, FINDING, SHOWING];

const FINDING: Verb = Verb {
    name: "binlog find",
    calls: &[
        "binlog find shop --repository /r",
        "binlog find shop --repository s3://b/x --table a.b",
        "binlog find -S /s --no-defaults",
        "binlog find mysql://u@h/ --no-defaults",
    ],
    options: &[
        EVERYWHERE,
        OF_LOG,
        SELECT,
        &[("metrics-file", "--metrics-file /tmp/m.prom", kept)],
        CONNECTION,
    ],
};

const SHOWING: Verb = Verb {
    name: "binlog show",
    calls: &[
        "binlog show shop --repository /r",
        "binlog show shop --repository /r --undo /tmp/back.sql --text drop",
        "binlog show -S /s --no-defaults",
        "binlog show mysql://u@h/ --no-defaults --undo /tmp/back.sql --table a.b",
    ],
    options: &[
        EVERYWHERE,
        OF_LOG,
        SELECT,
        &[
            ("rows", "--rows 7", |c| !c.has("--undo")),
            // Without one of those that select, it would be all of the log.
            ("undo", "--undo /tmp/back.sql", |_| false),
        ],
        CONNECTION,
    ],
};

/// Whether it is a log that a repository keeps.
fn kept(c: &Call) -> bool {
    c.has("--repository")
}

const OF_LOG: &[Considered] = &[
    ("repository", "--repository /r", |_| false),
    ("identity", "--identity {key}", kept),
    ("passphrase-file", "--passphrase-file {passphrase}", kept),
];

const SELECT: &[Considered] = &[
    ("table", "--table t", always),
    ("schema", "--schema a", always),
    ("kind", "--kind delete", always),
    ("after", "--after 2026-11-21T12:00:00Z", always),
    ("before", "--before 2026-11-21T12:00:00Z", always),
    ("from", "--from binlog.000002:4", always),
    ("to", "--to 0-1-7", always),
    ("gtid", "--gtid 0-1-7", always),
    ("thread", "--thread 7", always),
    ("text", "--text drop", always),
    ("limit", "--limit 3", |c| !c.has("--undo")),
];

const ARCHIVING: Verb = Verb {
    name: "binlog archive",
    calls: &[
        "binlog archive shop --repository /r -S /s --no-defaults",
        "binlog archive shop mysql://u@h/ --repository s3://b/x --once --no-defaults",
    ],
    options: &[EVERYWHERE, WHERE, ARCHIVE, CONNECTION],
};

const ARCHIVE: &[Considered] = &[
    ("failover", "--failover mysql://u@h2/", always),
    ("start", "--start oldest", always),
    ("max-age", "--max-age 5s", always),
    ("segment-size", "--segment-size 1M", always),
    ("once", "--once", always),
    ("semisync", "--semisync", |c| !c.has("--once")),
    ("repair", "--repair", always),
    ("encrypt-to", "--encrypt-to {to}", always),
    ("passphrase-file", "--passphrase-file {passphrase}", |c| {
        !c.has("--encrypt-to")
    }),
    ("server-id", "--server-id 7", always),
    ("max-rate-disk", "--max-rate-disk 40M", always),
];
