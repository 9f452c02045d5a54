//! The commands of a repository, without `backup` and `restore`, which stand beside `dump` and `load`.

use super::{Considered, EVERYWHERE, Verb, always};

pub const WHERE: &[Considered] = &[
    ("repository", "--repository /r", always),
    ("metrics-file", "--metrics-file /tmp/m.prom", always),
];

pub const OF_SERVER: &[Considered] = &[
    ("server-name", "--server-name shop", always),
    ("kind", "--kind logical", always),
];

const OPENING: &[Considered] = &[
    ("identity", "--identity {key}", |c| !c.has("--files-only")),
    ("passphrase-file", "--passphrase-file {passphrase}", |c| {
        !c.has("--files-only")
    }),
];

/// Whether it is the backups of a repository that are listed.
fn of_repository(c: &super::Call) -> bool {
    !c.has("{archive}")
}

pub const VERBS: &[Verb] = &[
    Verb {
        name: "init",
        calls: &["init /r", "init s3://b/x"],
        options: &[EVERYWHERE, &[("encrypted", "--encrypted", always)]],
    },
    Verb {
        name: "list",
        calls: &[
            "list --repository /r",
            "list --repository /r --html -",
            "list --repository s3://b/x --html /tmp/p.html",
            "list {archive}",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("repository", "--repository /r", of_repository),
                ("metrics-file", "--metrics-file /tmp/m.prom", of_repository),
                ("server-name", "--server-name shop", of_repository),
                ("kind", "--kind logical", of_repository),
                ("html", "--html /tmp/p.html", of_repository),
                ("identity", "--identity {key}", |c| !of_repository(c)),
                ("passphrase-file", "--passphrase-file {passphrase}", |c| {
                    !of_repository(c)
                }),
            ],
        ],
    },
    Verb {
        name: "check",
        calls: &[
            "check --repository /r",
            "check 2026 --repository s3://b/x",
            "check --repository /r --files-only",
        ],
        options: &[
            EVERYWHERE,
            WHERE,
            OF_SERVER,
            OPENING,
            &[
                ("threads", "--threads 2", always),
                ("files-only", "--files-only", always),
            ],
        ],
    },
    Verb {
        name: "drill",
        calls: &["drill --repository /r", "drill 2026 --repository s3://b/x"],
        options: &[
            EVERYWHERE,
            WHERE,
            OF_SERVER,
            OPENING,
            &[
                ("random", "--random", |c| !c.has("2026")),
                ("log", "--log random", always),
                ("scratch", "--scratch /var/tmp", always),
                ("check", "--check SELECT~1", always),
                ("check-file", "--check-file {checks}", always),
                ("check-timeout", "--check-timeout 5m", |c| {
                    c.has_any(&["--check", "--check-file"])
                }),
                ("threads", "--threads 2", always),
                ("mysqld", "--mysqld /bin/x", always),
                (
                    "mysqld-option",
                    "--mysqld-option lower_case_table_names=1",
                    always,
                ),
            ],
        ],
    },
    Verb {
        name: "prune",
        calls: &[
            "prune --repository /r --keep-last 3",
            "prune --repository s3://b/x --keep-last 3 --dry-run",
        ],
        options: &[
            EVERYWHERE,
            WHERE,
            OF_SERVER,
            &[
                ("keep-last", "--keep-last 1", always),
                ("keep-hourly", "--keep-hourly 1", always),
                ("keep-daily", "--keep-daily 1", always),
                ("keep-weekly", "--keep-weekly 1", always),
                ("keep-monthly", "--keep-monthly 1", always),
                ("keep-yearly", "--keep-yearly 1", always),
                ("keep-within", "--keep-within 3d", always),
                ("dry-run", "--dry-run", always),
                // A dry run says then what is removed, and not what is in the way.
                ("force", "--force", always),
            ],
        ],
    },
    Verb {
        name: "rekey",
        calls: &[
            "rekey {archive} --identity {key} --encrypt-to {to}",
            "rekey --repository /r --identity {key} --encrypt-to {to}",
            "rekey {archive} --identity {key} --new-passphrase-file {passphrase}",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("repository", "--repository /r", |_| false),
                ("server-name", "--server-name shop", |c| {
                    c.has("--repository")
                }),
                ("identity", "--identity {key}", always),
                ("passphrase-file", "--passphrase-file {passphrase}", always),
                ("encrypt-to", "--encrypt-to {to}", |_| false),
                (
                    "new-passphrase-file",
                    "--new-passphrase-file {passphrase}",
                    |_| false,
                ),
            ],
        ],
    },
];
