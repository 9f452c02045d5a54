//! `binlog` and its commands.

use super::connection::CONNECTION;
use super::repository::WHERE;
use super::{Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[ARCHIVING, FINDING];

const FINDING: Verb = Verb {
    name: "binlog find",
    calls: &[
        "binlog find shop --repository /r",
        "binlog find shop --repository s3://b/x --table a.b",
    ],
    options: &[EVERYWHERE, WHERE, FIND],
};

const FIND: &[Considered] = &[
    ("table", "--table t", always),
    ("schema", "--schema a", always),
    ("kind", "--kind delete", always),
    ("after", "--after 2026-11-21T12:00:00Z", always),
    ("before", "--before 2026-11-21T12:00:00Z", always),
    ("gtid", "--gtid 0-1-7", always),
    ("thread", "--thread 7", always),
    ("text", "--text drop", always),
    ("limit", "--limit 3", always),
    ("identity", "--identity {key}", always),
    ("passphrase-file", "--passphrase-file {passphrase}", always),
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
    ("repair", "--repair", always),
    ("encrypt-to", "--encrypt-to {to}", always),
    ("passphrase-file", "--passphrase-file {passphrase}", |c| {
        !c.has("--encrypt-to")
    }),
    ("server-id", "--server-id 7", always),
    ("max-rate-disk", "--max-rate-disk 40M", always),
];
