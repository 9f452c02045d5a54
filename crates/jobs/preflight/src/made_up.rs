//! A server and a host that are made up, in good order until a test says otherwise.

use crate::check::{Check, Seen, Severity};
use crate::facts::{Facts, Known, Place};
use crate::host::Host;
use run::file_system::FileSystem;
use server::catalog::{Key, KeyPart, Schema, Table};
use server::{Catalog, Identity, Privileges};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The process of the server.
pub const PROCESS: u32 = 4711;

/// A gibibyte.
pub const GIB: u64 = 1 << 30;

/// A host with its server.
pub struct Made {
    directory: tempfile::TempDir,
    answers: BTreeMap<String, String>,
    pub facts: Facts,
    is_remote: bool,
}

/// A server of this version with these variables.
pub fn identity(pairs: &[(&str, &str)]) -> Identity {
    let usual = [
        ("version", "9.7.4"),
        ("datadir", "/srv/d/"),
        ("tmpdir", "/tmp"),
        ("log_bin", "ON"),
        ("log_bin_basename", "/srv/d/binlog"),
        ("binlog_format", "ROW"),
        ("binlog_row_image", "FULL"),
        ("binlog_expire_logs_seconds", "2592000"),
        ("server_id", "1"),
        ("gtid_mode", "ON"),
        ("sync_binlog", "1"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("innodb_flush_method", "O_DIRECT"),
        ("innodb_buffer_pool_size", "34359738368"),
        ("max_connections", "151"),
        ("table_open_cache", "4000"),
        ("open_files_limit", "20000"),
        ("local_infile", "ON"),
        ("log_bin_trust_function_creators", "ON"),
    ];
    let all = usual.iter().chain(pairs);
    let all = all.map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    Identity::from_variables(all.collect()).expect("a version")
}

/// A table of InnoDB with a primary key and these bytes.
pub fn table(name: &str, bytes: u64) -> Table {
    Table {
        schema: "shop".to_owned(),
        name: name.to_owned(),
        engine: "InnoDB".to_owned(),
        transactional: true,
        data_bytes: bytes,
        columns: vec![server::catalog::Column {
            name: "id".to_owned(),
            data_type: "int".to_owned(),
            ..Default::default()
        }],
        keys: vec![Key {
            name: "PRIMARY".to_owned(),
            unique: true,
            primary: true,
            visible: true,
            index_type: "BTREE".to_owned(),
            parts: vec![KeyPart {
                column: Some("id".to_owned()),
                ..KeyPart::default()
            }],
        }],
        ..Table::default()
    }
}

/// All schemas: one with these tables.
pub fn catalog(tables: Vec<Table>) -> Catalog {
    let schema = Schema {
        name: "shop".to_owned(),
        whole: true,
        tables,
        ..Schema::default()
    };
    Catalog {
        schemas: vec![schema],
        histograms_seen: false,
    }
}

impl Made {
    /// In good order, but for these variables.
    pub fn new(variables: &[(&str, &str)]) -> Made {
        let all = ["GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION"];
        let made = Made {
            directory: tempfile::tempdir().expect("a directory"),
            answers: BTreeMap::new(),
            facts: Facts {
                id: identity(variables),
                status: Ok(BTreeMap::new()),
                privileges: Ok(Privileges::from_grants("'u'@'%'", &all)),
                host: Err("not made yet".to_owned()),
                places: Vec::new(),
                places_unseen: Vec::new(),
                catalog: Ok(catalog(vec![table("t", GIB)])),
                statements: Ok(Vec::new()),
                transactions: Ok(Vec::new()),
                channels: Ok(Vec::new()),
                left: Ok(instance::doctor::Summary::default()),
                dump: Ok(Ok(dump::Preview::default())),
                dump_place: false,
                writable: Ok(Ok(())),
                backup: None,
                asked: Vec::new(),
            },
            is_remote: false,
        };
        made.file(
            "proc/meminfo",
            "MemTotal: 67108864 kB\nMemAvailable: 60000000 kB\nSwapTotal: 0 kB\n",
        )
        .file(&format!("proc/{PROCESS}/cgroup"), "0::/\n")
        .file(
            &format!("proc/{PROCESS}/status"),
            "Name:\tmysqld\nVmSwap:\t       0 kB\n",
        )
        .limits("20000")
        .file(&format!("proc/{PROCESS}/fd/0"), "")
        .file(
            &format!("proc/{PROCESS}/numa_maps"),
            "7f00 default anon=1 N0=1\n",
        )
        .file("sys/devices/system/node/online", "0\n")
        .file(
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        )
        .file("proc/sys/vm/swappiness", "1\n")
        .file("proc/sys/vm/dirty_ratio", "0\n")
        .file("proc/sys/vm/dirty_bytes", "1073741824\n")
        .file("proc/sys/vm/dirty_background_ratio", "0\n")
        .file("proc/sys/vm/dirty_background_bytes", "268435456\n")
        .disk("nvme0n1", (259, 0), false)
        .disk("nvme1n1", (259, 1), false)
        .place("data", (259, 0))
        .place("redo log", (259, 1))
        .place("binary log", (259, 1))
        .place("tmpdir", (259, 1))
    }

    /// With this file.
    pub fn file(self, path: &str, text: &str) -> Made {
        let path = self.directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, text).expect("a file");
        self
    }

    /// Without this file or directory.
    pub fn without(self, path: &str) -> Made {
        let path = self.directory.path().join(path);
        match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        }
        .expect("removed");
        self
    }

    /// With a link to another path of the host.
    pub fn link(self, path: &str, to: &str) -> Made {
        let (from, to) = (
            self.directory.path().join(path),
            self.directory.path().join(to),
        );
        std::fs::create_dir_all(from.parent().expect("a parent")).expect("directories");
        std::os::unix::fs::symlink(to, from).expect("a link");
        self
    }

    /// With this limit of open files.
    pub fn limits(self, open_files: &str) -> Made {
        let text = format!(
            "Limit Soft Hard Units\nMax open files            {open_files}                {open_files}                files     \n"
        );
        self.file(&format!("proc/{PROCESS}/limits"), &text)
    }

    /// With a disk.
    pub fn disk(self, name: &str, number: (u32, u32), rotational: bool) -> Made {
        let at = format!("sys/block/{name}");
        self.file(
            &format!("{at}/queue/rotational"),
            if rotational { "1\n" } else { "0\n" },
        )
        .file(
            &format!("{at}/queue/scheduler"),
            "[none] mq-deadline kyber bfq\n",
        )
        .file(&format!("{at}/queue/read_ahead_kb"), "128\n")
        .file(&format!("{at}/size"), "209715200\n")
        .link(&format!("sys/dev/block/{}:{}", number.0, number.1), &at)
    }

    /// With a device that is made of others.
    pub fn made_of(self, name: &str, number: (u32, u32), parts: &[&str]) -> Made {
        let mut made = self.disk(name, number, false);
        for part in parts {
            made = made
                .link(
                    &format!("sys/block/{name}/slaves/{part}"),
                    &format!("sys/block/{part}"),
                )
                .link(
                    &format!("sys/block/{part}/holders/{name}"),
                    &format!("sys/block/{name}"),
                );
        }
        made
    }

    /// With a volume of LVM.
    pub fn volume(self, name: &str, number: (u32, u32), parts: &[&str]) -> Made {
        let device = format!("dm-{}", number.1);
        self.made_of(&device, number, parts)
            .file(&format!("sys/block/{device}/dm/name"), &format!("{name}\n"))
            .file(&format!("sys/block/{device}/dm/uuid"), "LVM-x\n")
    }

    /// With the directory of this use on a device, in place of the one that it was on.
    pub fn place(mut self, use_: &'static str, number: (u32, u32)) -> Made {
        self.facts.places.retain(|p| p.use_ != use_);
        self.facts.places.push(Place {
            use_,
            path: PathBuf::from(format!("/srv/{}", use_.replace(' ', "-"))),
            file_system: FileSystem {
                kind: "ext4".to_owned(),
                source: format!("/dev/{}:{}", number.0, number.1),
                mount: "/srv".to_owned(),
                root: "/".to_owned(),
                options: "rw,relatime".to_owned(),
                free: 600 * GIB,
                size: 1000 * GIB,
                device: rustix::fs::makedev(number.0, number.1),
                read_only: false,
            },
        });
        self
    }

    /// With another file system of this use.
    pub fn file_system(mut self, use_: &str, change: impl FnOnce(&mut FileSystem)) -> Made {
        let place = self.facts.places.iter_mut().find(|p| p.use_ == use_);
        change(&mut place.expect("a place").file_system);
        self
    }

    /// With a program that prints this.
    pub fn answer(mut self, line: &str, text: &str) -> Made {
        self.answers.insert(line.to_owned(), text.to_owned());
        self
    }

    /// With these counters.
    pub fn status(mut self, pairs: &[(&str, &str)]) -> Made {
        let all = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        self.facts.status = Ok(all.collect());
        self
    }

    /// With these tables.
    pub fn tables(mut self, tables: Vec<Table>) -> Made {
        self.facts.catalog = Ok(catalog(tables));
        self
    }

    /// With an account that may only this.
    pub fn grants(mut self, grants: &[&str]) -> Made {
        self.facts.privileges = Ok(Privileges::from_grants("'u'@'%'", grants));
        self
    }

    /// With other facts.
    pub fn but(mut self, change: impl FnOnce(&mut Facts)) -> Made {
        change(&mut self.facts);
        self
    }

    /// On another host.
    pub fn remote(mut self) -> Made {
        self.is_remote = true;
        self
    }

    fn look(mut self, check: &Check) -> Known<Seen> {
        self.facts.host = match self.is_remote {
            true => Err("the server is not on this host".to_owned()),
            false => Ok(Host::made_up(
                self.directory.path().to_owned(),
                PROCESS,
                self.answers,
            )),
        };
        (check.look)(&self.facts)
    }

    /// Looks, and finds nothing.
    #[track_caller]
    pub fn fine(self, check: &Check) -> Seen {
        let seen = self.look(check).expect("a check that can be made");
        assert!(
            seen.findings.is_empty() && seen.unseen.is_empty(),
            "{seen:?}"
        );
        assert!(!seen.evidence.is_empty(), "no evidence");
        seen
    }

    /// Looks, and finds this, and nothing worse.
    #[track_caller]
    pub fn fires(self, check: &Check, severity: Severity, text: &str) -> Seen {
        let seen = self.look(check).expect("a check that can be made");
        let found = seen.findings.iter().find(|f| f.what.contains(text));
        assert_eq!(
            found.map(|f| f.severity),
            Some(severity),
            "{text:?} in {seen:?}"
        );
        let worst = seen.findings.iter().map(|f| f.severity).max();
        assert_eq!(worst, Some(severity), "{seen:?}");
        seen
    }

    /// Cannot look, wholly or in part, and says why.
    #[track_caller]
    pub fn unseen(self, check: &Check, text: &str) {
        let why = match self.look(check) {
            Err(why) => why,
            Ok(seen) => seen.unseen.join("; "),
        };
        assert!(why.contains(text), "{why:?}");
    }
}
