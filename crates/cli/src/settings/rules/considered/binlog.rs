//! `binlog` and its commands.

use super::connection::CONNECTION;
use super::repository::WHERE;
use super::{Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[Verb {
    name: "binlog archive",
    calls: &[
        "binlog archive shop --repository /r -S /s --no-defaults",
        "binlog archive shop mysql://root@h/ --repository s3://b/x --once --no-defaults",
    ],
    options: &[EVERYWHERE, WHERE, ARCHIVE, CONNECTION],
}];

const ARCHIVE: &[Considered] = &[
    ("failover", "--failover mysql://root@h2/", always),
    ("start", "--start oldest", always),
    ("max-age", "--max-age 5s", always),
    ("segment-size", "--segment-size 1M", always),
    ("once", "--once", always),
    ("server-id", "--server-id 7", always),
    ("max-rate-disk", "--max-rate-disk 40M", always),
];
