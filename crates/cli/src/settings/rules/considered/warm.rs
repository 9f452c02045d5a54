//! `warm` and its commands.

use super::connection::CONNECTION;
use super::dump::SELECTION;
use super::{Call, Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[
    Verb {
        name: "warm save",
        calls: &[
            "warm save -S /s --to {new} --no-defaults",
            "warm save mysql://u@h/ --to {new} --no-defaults",
            "warm save -S /s --to {new} --pages --no-defaults",
        ],
        options: &[EVERYWHERE, SAVE, SELECTION, CONNECTION],
    },
    Verb {
        name: "warm load",
        calls: &[
            "warm load -S /s --from {script} --no-defaults",
            "warm load -S /s --whole-indexes --no-defaults",
            "warm load -S /s --from {script} --pages --no-defaults",
            "warm load -S /s --from {script} --max-impact 5% --no-defaults",
        ],
        options: &[EVERYWHERE, LOAD, SELECTION, CONNECTION],
    },
    Verb {
        name: "warm status",
        calls: &[
            "warm status {script}",
            "warm status -S /s --no-defaults",
            "warm status mysql://u@h/",
        ],
        options: &[
            EVERYWHERE,
            &[("from", "--from {script}", |c| c.uri() || c.has("-S"))],
            CONNECTION,
        ],
    },
    Verb {
        name: "warm ramp",
        calls: &[
            "warm ramp -S /s --hook x --max-latency 5ms --no-defaults",
            "warm ramp mysql://u@h/ --hook x --max-reads 9 --queries {script} --no-defaults",
        ],
        options: &[EVERYWHERE, RAMP, CONNECTION],
    },
    Verb {
        name: "warm copy",
        calls: &[
            "warm copy mysql://h/ mysql://g/ --no-defaults",
            "warm copy mysql://u@h/ mysql://u@g/",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("datadir", "--datadir /srv/d", always),
                ("list", "--list /srv/d/ib_buffer_pool", always),
                ("budget", "--budget 50%", always),
                ("one-reading", "--one-reading", always),
                ("threads", "--threads 2", always),
                ("max-rate", "--max-rate 20M", always),
                ("max-impact", "--max-impact 5%", always),
                ("min-rate", "--min-rate 2M", |c| c.has("--max-impact")),
                (
                    "target-defaults-file",
                    "--target-defaults-file {cnf}",
                    always,
                ),
            ],
            SELECTION,
            CONNECTION,
        ],
    },
    Verb {
        name: "warm check",
        calls: &[
            "warm check -S /s --samples --no-defaults",
            "warm check mysql://u@h/ --queries {script} --no-defaults",
            "warm check mysql://h/ mysql://g/ --slow-log {script} --no-defaults",
            "warm check mysql://u@h/ mysql://u@g/ --general-log {script}",
        ],
        options: &[
            EVERYWHERE,
            QUERIES,
            REPLAY,
            &[("record", "--record /tmp/r.json", always)],
            &[(
                "target-defaults-file",
                "--target-defaults-file {cnf}",
                |c| c.line.matches("mysql://").count() == 2,
            )],
            CONNECTION,
        ],
    },
];

const SAVE: &[Considered] = &[
    ("to", "--to {new}", always),
    ("datadir", "--datadir /srv/d", always),
    ("list", "--list /srv/d/ib_buffer_pool", always),
    ("pages", "--pages", always),
    ("threads", "--threads 2", of_ranges),
];

/// Whether it is about ranges of keys, which penstock reads by itself.
fn of_ranges(c: &Call) -> bool {
    !c.has("--pages")
}

const LOAD: &[Considered] = &[
    ("from", "--from {script}", |c| !c.has("--whole-indexes")),
    ("whole-indexes", "--whole-indexes", |c| !c.has("--from")),
    ("one-reading", "--one-reading", |c| {
        c.has("--from") && of_ranges(c)
    }),
    ("pages", "--pages", |c| {
        c.has("--from") && !c.has("--max-impact")
    }),
    ("datadir", "--datadir /srv/d", |c| c.has("--pages")),
    ("budget", "--budget 50%", |c| c.has("--from")),
    ("threads", "--threads 2", of_ranges),
    ("max-rate", "--max-rate 20M", of_ranges),
    ("max-impact", "--max-impact 5%", |c| {
        c.has("--from") && of_ranges(c)
    }),
    ("min-rate", "--min-rate 2M", |c| c.has("--max-impact")),
];

const QUERIES: &[Considered] = &[
    ("queries", "--queries {script}", |c| {
        !c.has_any(&["--slow-log", "--general-log", "--samples"])
    }),
    ("slow-log", "--slow-log {script}", |c| {
        !c.has_any(&["--queries", "--general-log", "--samples"])
    }),
    ("general-log", "--general-log {script}", |c| {
        !c.has_any(&["--queries", "--slow-log", "--samples"])
    }),
    ("samples", "--samples", |c| {
        !c.has_any(&["--queries", "--slow-log", "--general-log"])
    }),
];

const REPLAY: &[Considered] = &[
    ("schema", "--schema s", always),
    ("most", "--most 100", always),
    ("query-timeout", "--query-timeout 5s", always),
];

const RAMP: &[Considered] = &[
    ("hook", "--hook x", always),
    ("hook-timeout", "--hook-timeout 5s", always),
    ("max-latency", "--max-latency 5ms", always),
    ("max-reads", "--max-reads 100", always),
    ("queries", "--queries {script}", always),
    ("schema", "--schema s", |c| c.has("--queries")),
    ("query-timeout", "--query-timeout 5s", |c| {
        c.has("--queries")
    }),
    ("interval", "--interval 1s", always),
    ("steady", "--steady 5s", always),
    ("give-up", "--give-up 5m", always),
];
