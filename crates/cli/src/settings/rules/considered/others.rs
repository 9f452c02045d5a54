//! All other commands.

use super::connection::CONNECTION;
use super::{Considered, EVERYWHERE, Verb, always};

const PID: &[Considered] = &[("pid", "--pid 1", always)];

pub const VERBS: &[Verb] = &[
    Verb {
        name: "rescue",
        calls: &[
            "rescue /srv/d --to {new}",
            "rescue /srv/d/s/t.ibd --to s3://b/x",
            "rescue /srv/d/s/t.ibd --definition {script} --to {new}",
            "rescue /srv/d --to {new} --encrypt-to {to}",
        ],
        options: &[
            EVERYWHERE,
            super::dump::SELECTION,
            &[
                ("to", "--to {new}", always),
                ("definition", "--definition {script}", always),
                ("schema", "--schema x", always),
                ("deleted", "--deleted", always),
                ("old-pages", "--old-pages", always),
                ("threads", "--threads 2", always),
                ("compression", "--compression none", always),
                ("chunk-size", "--chunk-size 1M", always),
                ("record", "--record /tmp/r.json", always),
                ("max-rate-disk", "--max-rate-disk 20M", always),
                ("encrypt-to", "--encrypt-to {to}", always),
                ("passphrase-file", "--passphrase-file {passphrase}", |c| {
                    !c.has("--encrypt-to")
                }),
            ],
        ],
    },
    Verb {
        name: "config check",
        calls: &["config check"],
        options: &[EVERYWHERE],
    },
    Verb {
        name: "status",
        calls: &["status"],
        options: &[EVERYWHERE, PID],
    },
    Verb {
        name: "set",
        calls: &["set max-rate=1M"],
        options: &[EVERYWHERE, PID],
    },
    Verb {
        name: "pause",
        calls: &["pause"],
        options: &[EVERYWHERE, PID],
    },
    Verb {
        name: "resume",
        calls: &["resume"],
        options: &[EVERYWHERE, PID],
    },
    Verb {
        name: "stop",
        calls: &["stop"],
        options: &[EVERYWHERE, PID],
    },
    Verb {
        name: "doctor",
        calls: &[
            "doctor --no-defaults",
            "doctor",
            "doctor -S /s --no-defaults",
            "doctor mysql://u@h/ --no-defaults",
        ],
        options: &[
            EVERYWHERE,
            &[("revert", "--revert", |c| c.has("-S") || c.uri())],
            CONNECTION,
        ],
    },
    Verb {
        name: "bench tpcc load",
        calls: &[
            "bench tpcc load -w 1 -S /s --no-defaults",
            "bench tpcc load mysql://u@h/ -w 1 --no-defaults",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("warehouses", "--warehouses 2", always),
                ("schema", "--schema x", always),
                ("threads", "--threads 2", always),
                ("seed", "--seed 2", always),
                ("foreign-keys", "--foreign-keys", always),
                ("skip-binlog", "--skip-binlog", always),
                ("tune", "--tune off", always),
            ],
            CONNECTION,
        ],
    },
    Verb {
        name: "bench tpcc run",
        calls: &["bench tpcc run -S /s --no-defaults"],
        options: &[
            EVERYWHERE,
            &[
                ("schema", "--schema x", always),
                ("connections", "--connections 2", always),
                ("ramp", "--ramp 1s", always),
                ("measure", "--measure 1s", always),
                ("rate", "--rate 9", always),
                ("seed", "--seed 2", always),
                ("record", "--record /tmp/r.json", always),
            ],
            CONNECTION,
        ],
    },
    Verb {
        name: "bench tpcc check",
        calls: &["bench tpcc check -S /s --no-defaults"],
        options: &[
            EVERYWHERE,
            &[
                ("schema", "--schema x", always),
                ("threads", "--threads 2", always),
            ],
            CONNECTION,
        ],
    },
    Verb {
        name: "bench impact",
        calls: &[
            "bench impact -S /s --no-defaults",
            "bench impact -S /s -m alone --no-defaults",
            "bench impact -S /s -m mysqldump --no-defaults",
            "bench impact -S /s -m mydumper --no-defaults",
            "bench impact -S /s -m penstock --no-defaults",
            "bench impact -S /s -m replica --replica mysql://r/ --no-defaults",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("to", "--to /tmp/d", always),
                ("method", "--method alone", always),
                ("replica", "--replica mysql://r/", |c| !c.has("-m")),
                ("warehouses", "--warehouses 2", always),
                ("connections", "--connections 2", always),
                ("ramp", "--ramp 1s", always),
                ("alone", "--alone 1s", always),
                ("measure", "--measure 1s", always),
                ("longest", "--longest 1m", |c| !c.has("alone")),
                ("runs", "--runs 2", always),
                ("threads", "--threads 2", |c| {
                    !c.has_any(&["alone", "mysqldump"])
                }),
                ("schema", "--schema x", always),
                ("mysqldump", "--mysqldump x", |c| {
                    !c.has("-m") || c.has("mysqldump")
                }),
                ("mydumper", "--mydumper x", |c| {
                    !c.has("-m") || c.has("mydumper")
                }),
                ("scratch", "--scratch /var/tmp", |c| !c.has("alone")),
            ],
            CONNECTION,
        ],
    },
    Verb {
        name: "bench disk",
        calls: &[
            "bench disk /srv/a /srv/b",
            "bench disk /srv/a --pattern commit",
            "bench disk /srv/a --pattern mixed",
            "bench disk --of mysql://u@h/ --no-defaults",
            "bench disk /srv/a --of mysql://h/ --no-defaults",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("of", "--of mysql://h/", always),
                ("size", "--size 64M", always),
                ("pattern", "--pattern commit", always),
                ("runs", "--runs 2", always),
                ("ramp", "--ramp 1s", always),
                ("measure", "--measure 1s", always),
                ("engine", "--engine threads", |c| !c.has("commit")),
                ("max-rate", "--max-rate 20M", always),
                ("max-time", "--max-time 1m", always),
                ("record", "--record /tmp/r.json", always),
            ],
            CONNECTION,
        ],
    },
    Verb {
        name: "bench compare",
        calls: &["bench compare a.json b.json"],
        options: &[EVERYWHERE, &[("to", "--to /tmp/c.html", always)]],
    },
    Verb {
        name: "report",
        calls: &[
            "report a.json",
            "report a.json --to b.html",
            "report a.json --to -",
        ],
        options: &[
            EVERYWHERE,
            &[
                ("to", "--to b.html", always),
                ("force", "--force", |c| !c.has("-")),
            ],
        ],
    },
    Verb {
        name: "completions",
        calls: &["completions bash"],
        options: &[EVERYWHERE],
    },
];
