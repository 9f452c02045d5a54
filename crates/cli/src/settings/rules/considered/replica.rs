//! `replica`: new replicas.

use super::connection::CONNECTION;
use super::{Call, Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[
    Verb {
        name: "replica create",
        calls: &[
            "replica create mysql://h/ mysql://g/ --no-defaults",
            "replica create mysql://u@h/ mysql://u@g/",
            "replica create mysql://h/ mysql://g/ --resume --no-defaults",
            "replica create mysql://h/ mysql://g/ --no-verify --no-defaults",
            "replica create mysql://h/ mysql://g/ --from-archive {archive} --no-defaults",
            "replica create mysql://h/ mysql://g/ --from-archive s3://b/x --no-defaults",
            "replica create mysql://h/ mysql://g/ --via {new} --no-defaults",
            "replica create mysql://h/ mysql://g/ --max-lag 2s --no-defaults",
            "replica create mysql://h/ mysql://g/ --max-impact 5% --no-defaults",
            "replica create mysql://h/ mysql://g/ --replication-user r --replication-password-file {passphrase} --no-defaults",
        ],
        options: &[EVERYWHERE, CREATE, CONNECTION],
    },
    Verb {
        name: "replica status",
        calls: &[
            "replica status -S /s --no-defaults",
            "replica status -h db",
            "replica status mysql://u@h/ --no-defaults",
        ],
        options: &[EVERYWHERE, CONNECTION],
    },
    Verb {
        name: "replica verify",
        calls: &[
            "replica verify mysql://h/ mysql://g/ --no-defaults",
            "replica verify mysql://u@h/ mysql://u@g/",
        ],
        options: &[
            EVERYWHERE,
            super::dump::SELECTION,
            &[
                ("threads", "--threads 2", always),
                ("channel", "--channel x", always),
                ("repair-sql", "--repair-sql new.sql", always),
                ("catch-up-timeout", "--catch-up-timeout 5m", always),
                ("lock-wait", "--lock-wait 5", always),
                (
                    "target-defaults-file",
                    "--target-defaults-file {cnf}",
                    always,
                ),
                ("max-rate", "--max-rate 20M", always),
            ],
            CONNECTION,
        ],
    },
    Verb {
        name: "replica abort",
        calls: &[
            "replica abort mysql://g/ --no-defaults",
            "replica abort mysql://u@g/ --source mysql://u@h/",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("source", "--source mysql://h/", always),
                ("drop-data", "--drop-data", always),
                (
                    "target-defaults-file",
                    "--target-defaults-file {cnf}",
                    always,
                ),
            ],
            CONNECTION,
        ],
    },
];

/// Whether the source is read, and no archive.
fn of_a_copy(c: &Call) -> bool {
    !c.has("--from-archive")
}

const CREATE: &[Considered] = &[
    ("threads", "--threads 2", always),
    ("from-replica", "--from-replica mysql://k/", |c| {
        of_a_copy(c) && !c.has("--via")
    }),
    ("from-archive", "--from-archive {archive}", |c| {
        // Nothing is copied then that these would limit.
        !c.has_any(&["--max-lag", "--max-impact", "--via"])
    }),
    ("via", "--via {new}", of_a_copy),
    ("identity", "--identity {key}", |c| !of_a_copy(c)),
    ("passphrase-file", "--passphrase-file {passphrase}", |c| {
        !of_a_copy(c)
    }),
    ("resume", "--resume", always),
    ("warm", "--warm", always),
    ("no-verify", "--no-verify", always),
    ("source-address", "--source-address h:3306", always),
    (
        "replication-user",
        "--replication-user r --replication-password-file {passphrase}",
        always,
    ),
    (
        "replication-password-file",
        "--replication-user r --replication-password-file {passphrase}",
        always,
    ),
    ("replication-host", "--replication-host 10.%", |c| {
        !c.has("--replication-user")
    }),
    ("channel", "--channel x", always),
    ("catch-up-timeout", "--catch-up-timeout 5m", always),
    ("max-behind", "--max-behind 5s", always),
    ("allow-writable", "--allow-writable", always),
    ("chunk-size", "--chunk-size 1M", of_a_copy),
    ("memory", "--memory 64M", |c| {
        of_a_copy(c) && !c.has("--via")
    }),
    ("lock-wait", "--lock-wait 5", always),
    ("strip-tablespaces", "--strip-tablespaces", always),
    ("defer-indexes", "--defer-indexes off", always),
    ("tune", "--tune off", always),
    (
        "target-defaults-file",
        "--target-defaults-file {cnf}",
        always,
    ),
    ("max-rate", "--max-rate 20M", always),
    ("max-impact", "--max-impact 5%", of_a_copy),
    ("min-rate", "--min-rate 2M", |c| c.has("--max-impact")),
    ("max-lag", "--max-lag 2s", of_a_copy),
    ("replica", "--replica mysql://r/", |c| c.has("--max-lag")),
    ("max-threads-running", "--max-threads-running 9", of_a_copy),
    ("max-history-list", "--max-history-list 9000", of_a_copy),
    ("abort-if", "--abort-if threads-running=99", of_a_copy),
    ("limit-timeout", "--limit-timeout 1m", |c| {
        c.has_any(&["--max-lag", "--max-impact"])
    }),
];
