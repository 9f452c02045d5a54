//! `snapshot` and its commands.

use super::connection::CONNECTION;
use super::{Call, Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[
    Verb {
        name: "snapshot take",
        calls: &[
            "snapshot take --method reflink --to {new} -S /s --no-defaults",
            "snapshot take --method btrfs --keep -S /s --no-defaults",
            "snapshot take --method lvm --to {new} -S /s --no-defaults",
            "snapshot take --method lvm-thin --to {new} -S /s --no-defaults",
            "snapshot take --method zfs --to s3://b/x -S /s --no-defaults",
            "snapshot take --method clone --to {new} -S /s --no-defaults",
            "snapshot take --method copy --to {new} --datadir /srv/d --no-defaults",
        ],
        options: &[EVERYWHERE, TAKE, CONNECTION],
    },
    Verb {
        name: "snapshot restore",
        calls: &["snapshot restore {archive} --datadir {new}"],
        options: &[EVERYWHERE, RESTORE],
    },
    Verb {
        name: "snapshot list",
        calls: &["snapshot list"],
        options: &[EVERYWHERE],
    },
    Verb {
        name: "snapshot clean",
        calls: &[
            "snapshot clean",
            "snapshot clean 20261126T021500Z-3f9a",
            "snapshot clean --all",
        ],
        options: &[EVERYWHERE, CLEAN],
    },
];

fn runs(c: &Call) -> bool {
    !c.has("--datadir")
}

fn stores(c: &Call) -> bool {
    !c.has("--keep")
}

const TAKE: &[Considered] = &[
    ("method", "--method reflink", always),
    ("to", "--to {new}", stores),
    ("keep", "--keep", |c| !c.has("--to")),
    ("at", "--at /srv", runs),
    ("datadir", "--datadir /srv/d", |c| c.has("copy")),
    ("lock-wait", "--lock-wait 5", |c| {
        !c.has_any(&["clone", "copy"])
    }),
    ("keep-free", "--keep-free 7%", always),
    ("snapshot-size", "--snapshot-size 1G", |c| c.has("lvm")),
    ("compression", "--compression none", stores),
    ("threads", "--threads 2", stores),
    ("max-rate", "--max-rate 20M", stores),
    ("max-rate-disk", "--max-rate-disk 20M", stores),
    ("encrypt-to", "--encrypt-to {to}", stores),
    ("passphrase-file", "--passphrase-file {passphrase}", stores),
];

const RESTORE: &[Considered] = &[
    ("datadir", "--datadir {new}", always),
    ("mysqld", "--mysqld /m", always),
    (
        "mysqld-option",
        "--mysqld-option innodb_page_size=8k",
        always,
    ),
    ("prove", "--prove open", always),
    ("threads", "--threads 2", always),
    ("max-rate", "--max-rate 20M", always),
    ("identity", "--identity {key}", always),
    ("passphrase-file", "--passphrase-file {passphrase}", always),
];

const CLEAN: &[Considered] = &[
    ("all", "--all", |c| !c.line.contains("3f9a")),
    ("at", "--at /srv", always),
    ("dry-run", "--dry-run", always),
];
