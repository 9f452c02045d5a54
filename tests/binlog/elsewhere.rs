//! A binary log in a repository on another host, over ssh and in S3.

use super::kit::{Logged, archiving, assert_same, files, server, stored, write};
use crate::kit::{Done, Tool, each_kind};
use crate::stores::{Access, s3, s3_access, sshd};
use std::path::Path;
use testkit::Kind;
use testkit::stores::Maker;

/// A repository there, and its log as files of this host, if they can be seen.
struct There<'a> {
    url: String,
    access: Access,
    seen: Option<&'a Path>,
}

impl There<'_> {
    fn with(&self, tool: Tool) -> Tool {
        let variables = self.access.iter();
        variables.fold(tool, |tool, (name, value)| tool.env(name, value.as_str()))
    }

    fn on(&self, words: &[&str]) -> Done {
        let tool = Tool::new(words.iter().copied()).args(["--repository", &self.url]);
        self.with(tool).run()
    }

    fn archive(&self, logged: &Logged) -> Tool {
        let tool = archiving(Path::new(&self.url), &["--once", "--start", "oldest"]);
        self.with(tool.arg("--socket").arg(logged.server.socket()))
    }
}

/// Archived in several runs, one of which is killed; read through, searched, and restored from.
fn lived_in(kind: Kind, logged: &Logged, there: &There<'_>) {
    let count = "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT(id, v)))) FROM d.t";
    there
        .with(Tool::new(["init"]).arg(there.url.as_str()))
        .run()
        .ok();
    write(&logged.server, 5);
    let backup = Tool::new([
        "backup",
        "shop",
        "--no-defaults",
        "--user",
        "root",
        "--socket",
    ]);
    let backup = backup
        .arg(logged.server.socket())
        .args(["--repository", &there.url]);
    there.with(backup).run().ok();
    there.archive(logged).run().ok();
    write(&logged.server, 6);
    logged
        .server
        .client("FLUSH BINARY LOGS")
        .expect("another file");
    write(&logged.server, 6);
    there
        .archive(logged)
        .env("PENSTOCK_KILL_AT", "1")
        .run()
        .code(137);
    there.archive(logged).run().ok();
    if let Some(seen) = there.seen {
        let (stored, mut files) = (
            stored(&seen.join("binlogs/shop"), 1),
            files(&logged.server.datadir()),
        );
        for (name, bytes) in &mut files {
            // MariaDB may have noted a checkpoint since.
            bytes.truncate(stored.get(name).map_or(0, Vec::len));
        }
        assert_same(&stored, &files);
    }
    there.on(&["check"]).ok().says(&["shop: intact"]);
    let listed = there.on(&["list", "--json"]).ok().summary();
    assert_eq!(
        listed["windows"].as_array().map(Vec::len),
        Some(1),
        "{listed}"
    );
    let find = there.on(&["binlog", "find", "shop", "--table", "d.t"]).ok();
    find.says(&["CREATE TABLE IF NOT EXISTS d.t"]);
    let target = server(kind, 9, &[]);
    let restore = Tool::new([
        "restore",
        "--no-defaults",
        "--user",
        "root",
        "--allow-same-server",
        "--latest",
    ]);
    let restore = restore
        .args(["--repository", &there.url])
        .arg("--socket")
        .arg(target.socket());
    let restore = restore.env("PENSTOCK_STATE", logged.path("state"));
    there.with(restore).run().ok();
    assert_eq!(target.value(count), logged.server.value(count));
}

fn over_ssh(kind: Kind) {
    let (Some(logged), Some(sshd)) = (Logged::new(kind, &[]), sshd()) else {
        return;
    };
    let place = logged.path("there");
    let there = There {
        url: sshd.url(&place),
        access: vec![("PENSTOCK_SSH", sshd.ssh())],
        seen: Some(&place),
    };
    lived_in(kind, &logged, &there);
}
each_kind!(over_ssh; mysql, mariadb);

fn in_s3(kind: Kind) {
    let (Some(logged), Some(s3)) = (Logged::new(kind, &[]), s3(Maker::S3s)) else {
        return;
    };
    let there = There {
        url: s3.url("repo"),
        access: s3_access(),
        seen: None,
    };
    lived_in(kind, &logged, &there);
}
each_kind!(in_s3; mysql, mariadb);
