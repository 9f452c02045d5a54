//! The connection options, of each command that has a server. What a call says of its server: `-S` (a socket), `-h`
//! (a host), a URI, a data directory, or nothing.

use super::{Call, Considered};

/// Whether an archive is copied, a file looked at, a directory measured, or a kept log read.
fn of_archives(c: &Call) -> bool {
    let is_file = c.line.starts_with("warm status ") && !c.has("-S");
    let directories = c.line.starts_with("bench disk ");
    let reads_log = ["binlog find ", "binlog show "]
        .iter()
        .any(|w| c.line.starts_with(w));
    let kept_log = reads_log && !c.has("-S");
    (c.line.starts_with("copy ") || is_file || directories || kept_log) && !c.uri()
}

fn no_address(c: &Call) -> bool {
    !c.has_any(&["-S", "-h", "--datadir"]) && !c.uri() && not_for_files(c)
}

/// Whether it can be a comparison with a server at all.
fn not_for_files(c: &Call) -> bool {
    !of_archives(c)
        && !c.has_any(&[
            "--files-only",
            "--tablespace",
            "--from-files",
            "--list",
            "--stripe",
        ])
}

/// Whether a server is named: some commands can do without.
fn server(c: &Call) -> bool {
    let without = c.has_any(&["verify", "doctor"]);
    not_for_files(c) && (!without || c.has_any(&["-S", "-h"]) || c.uri())
}

/// Whether the call is about a server that exists, or may be after this option.
fn existing(c: &Call) -> bool {
    !c.has("--datadir") && not_for_files(c)
}

fn files(c: &Call) -> bool {
    // A dump of files takes the group penstock of an option file, too.
    let stopped = c.has_any(&["snapshot", "--snapshot"]) && c.has("--datadir");
    !c.has("--no-defaults") && !stopped && (not_for_files(c) || c.has("--from-files"))
}

pub const CONNECTION: &[Considered] = &[
    ("host", "--host db", no_address),
    ("port", "--port 3307", |c| no_address(c) || c.has("-h")),
    ("socket", "--socket /s", no_address),
    ("user", "--user u", |c| {
        let by_uri = c.line.matches("mysql://u@").count();
        let uris = c.line.matches("mysql://").count();
        existing(c) && (uris == 0 || by_uri < uris)
    }),
    ("password", "--password", existing),
    ("password-fd", "--password-fd {fd}", |c| {
        // A load into a new data directory gives it to root.
        not_for_files(c) && !(c.has_any(&["snapshot", "--snapshot"]) && c.has("--datadir"))
    }),
    ("defaults-file", "--defaults-file {cnf}", files),
    ("defaults-extra-file", "--defaults-extra-file {cnf}", files),
    ("defaults-group-suffix", "--defaults-group-suffix _x", files),
    ("no-defaults", "--no-defaults", |c| {
        !c.has_any(&["--defaults-file", "--list", "--stripe"]) && !of_archives(c)
    }),
    ("ssl-mode", "--ssl-mode required", existing),
    ("ssl-ca", "--ssl-ca ca.pem", |c| {
        existing(c) && !c.has("required")
    }),
    ("ssl-cert", "--ssl-cert c.pem --ssl-key k.pem", encrypted),
    ("ssl-key", "--ssl-cert c.pem --ssl-key k.pem", encrypted),
    ("get-server-public-key", "--get-server-public-key", |c| {
        server(c) && existing(c) && !c.has_any(&["-S", "required"])
    }),
    ("connect-timeout", "--connect-timeout 5", |c| {
        server(c) && existing(c)
    }),
];

fn encrypted(c: &Call) -> bool {
    server(c) && existing(c) && (!c.has("-S") || c.has("required"))
}
