//! `verify`.

use super::connection::CONNECTION;
use super::{Call, Considered, EVERYWHERE, Verb, always};

pub const VERBS: &[Verb] = &[Verb {
    name: "verify",
    calls: &[
        "verify {archive} --no-defaults",
        "verify {archive}",
        "verify {shell} --no-defaults",
        "verify s3://b/x --no-defaults",
        "verify - --no-defaults",
        "verify {archive} --files-only --no-defaults",
        "verify {archive} -S /s --no-defaults",
        "verify {archive} -h db --no-defaults",
        "verify - -h db --no-defaults",
        "verify {archive} --against mysql://h/ --no-defaults",
        "verify --server mysql://u@h/ --server mysql://g/ --no-defaults",
        "verify --server mysql://u@h/ --server mysql://u@g/ --no-defaults",
        "verify --tablespace t.ibd --no-defaults",
    ],
    options: &[EVERYWHERE, OWN, CONNECTION],
}];

const OWN: &[Considered] = &[
    ("against", "--against mysql://h/", |c| {
        of_archive(c) && !c.has_any(&["-S", "-h", "--files-only"])
    }),
    // One server is no comparison; two are in the list of calls.
    ("server", "--server mysql://h/", |_| false),
    ("tablespace", "--tablespace u.ibd", |_| false),
    ("threads", "--threads 2", always),
    ("files-only", "--files-only", |c| {
        of_archive(c) && !server(c)
    }),
    ("no-definitions", "--no-definitions", server),
    ("scratch", "--scratch /var/tmp", |c| c.has("-")),
    ("record", "--record /tmp/r.json", |c| !c.has("--tablespace")),
    ("map-schema", "--map-schema a=b", of_archive_on_server),
    ("map-table", "--map-table a.b=a.c", of_archive_on_server),
    ("include-schemas", "--include-schemas a", server),
    ("exclude-schemas", "--exclude-schemas a", server),
    ("include-tables", "--include-tables a.b", server),
    ("exclude-tables", "--exclude-tables a.b", server),
    ("max-rate", "--max-rate 20M", server),
    ("identity", "--identity {key}", of_archive),
    (
        "passphrase-file",
        "--passphrase-file {passphrase}",
        of_archive,
    ),
];

fn of_archive(c: &Call) -> bool {
    c.has_any(&["{archive}", "{shell}", "s3://b/x", "-"])
}

fn of_archive_on_server(c: &Call) -> bool {
    of_archive(c) && server(c)
}

fn server(c: &Call) -> bool {
    c.has_any(&["-S", "-h"]) || c.uri()
}
