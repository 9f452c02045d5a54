//! `warm` and its commands.

use super::connection::CONNECTION;
use super::dump::SELECTION;
use super::{Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[
    Verb {
        name: "warm save",
        calls: &[
            "warm save -S /s --to {new} --no-defaults",
            "warm save mysql://u@h/ --to {new} --no-defaults",
        ],
        options: &[EVERYWHERE, SAVE, SELECTION, CONNECTION],
    },
    Verb {
        name: "warm load",
        calls: &[
            "warm load -S /s --from {script} --no-defaults",
            "warm load -S /s --whole-indexes --no-defaults",
        ],
        options: &[EVERYWHERE, LOAD, SELECTION, CONNECTION],
    },
    Verb {
        name: "warm status",
        calls: &["warm status {script}"],
        options: &[EVERYWHERE],
    },
];

const SAVE: &[Considered] = &[
    ("to", "--to {new}", always),
    ("datadir", "--datadir /srv/d", always),
    ("list", "--list /srv/d/ib_buffer_pool", always),
    ("threads", "--threads 2", always),
];

const LOAD: &[Considered] = &[
    ("from", "--from {script}", |c| !c.has("--whole-indexes")),
    ("whole-indexes", "--whole-indexes", |c| !c.has("--from")),
    ("one-reading", "--one-reading", |c| c.has("--from")),
    ("budget", "--budget 50%", |c| c.has("--from")),
    ("threads", "--threads 2", always),
    ("max-rate", "--max-rate 20M", always),
];
