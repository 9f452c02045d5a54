//! A server whose files are rescued, and a place for archives.

use crate::kit::{Done, Tool, own_server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testkit::{Kind, Server};

pub struct Scene {
    pub server: Server,
    directory: tempfile::TempDir,
}

impl Scene {
    pub fn new(kind: Kind) -> Option<Scene> {
        Scene::with(kind, &[])
    }

    pub fn with(kind: Kind, args: &[&str]) -> Option<Scene> {
        Some(Scene {
            server: own_server(kind, args)?,
            directory: tempfile::tempdir().expect("a directory"),
        })
    }

    #[track_caller]
    pub fn fill(&self, script: &str) {
        if let Err(e) = self.server.script(script.as_bytes()) {
            panic!("{e:?}\nin {script}");
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The archives are outside of what is read.
    pub fn archive(&self, name: &str) -> PathBuf {
        self.server.datadir().with_file_name("archives").join(name)
    }

    pub fn by_sql(&self, name: &str) {
        let to = self.archive(name);
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        let done = Tool::new(["dump", "--user", "root", "--socket"])
            .arg(self.server.socket())
            .arg("--to")
            .arg(to)
            .run();
        assert!(matches!(done.code, 0 | 3), "{}", done.err);
    }

    pub fn rescue(&self, files: &[&PathBuf], name: &str, more: &[&str]) -> Done {
        let to = self.archive(name);
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        let mut tool = Tool::new(["rescue", "--json"]);
        for file in files {
            tool = tool.arg(*file);
        }
        tool.arg("--to").arg(to).args(more.iter().copied()).run()
    }

    pub fn load(&self, name: &str, target: &Server) -> Done {
        Tool::new(["load"])
            .arg(self.archive(name))
            .args(["--user", "root", "--socket"])
            .arg(target.socket())
            .run()
    }

    /// A copy of the directories of schemas with nothing but files of tables.
    pub fn only_tables(&self) -> PathBuf {
        let to = self.path("only");
        for schema in std::fs::read_dir(self.server.datadir())
            .expect("a directory")
            .flatten()
        {
            if !schema.path().is_dir() {
                if schema.path().extension().is_some_and(|e| e == "ibd")
                    && schema.file_name() != "mysql.ibd"
                {
                    std::fs::create_dir_all(&to).expect("a directory");
                    std::fs::copy(schema.path(), to.join(schema.file_name())).expect("a copy");
                }
                continue;
            }
            let within = to.join(schema.file_name());
            std::fs::create_dir_all(&within).expect("a directory");
            for file in std::fs::read_dir(schema.path())
                .expect("a directory")
                .flatten()
            {
                let name = file.file_name().to_string_lossy().into_owned();
                if name.ends_with(".ibd") || name.ends_with(".frm") || name == "db.opt" {
                    std::fs::copy(file.path(), within.join(&name)).expect("a copy");
                }
            }
        }
        to
    }

    /// Rows and digests by table.
    pub fn digests(&self, name: &str) -> BTreeMap<String, (u64, String)> {
        let text = std::fs::read(self.archive(name).join("penstock.json")).expect("a manifest");
        let manifest: Value = serde_json::from_slice(&text).expect("JSON");
        let tables = manifest["tables"].as_array().expect("tables");
        let one = |t: &Value| {
            let text = |key: &str| t[key].as_str().expect("a text").to_owned();
            let rows = t["rows"].as_u64().expect("a number");
            (
                format!("{}.{}", text("schema"), text("table")),
                (rows, text("row_digest")),
            )
        };
        tables.iter().map(one).collect()
    }

    /// The first columns of a table's rows in an archive without compression, sorted.
    pub fn ids(&self, name: &str, table: &str) -> Vec<u64> {
        let mut all = Vec::new();
        let begin = format!("d@{table}@");
        for entry in std::fs::read_dir(self.archive(name))
            .expect("an archive")
            .flatten()
        {
            let file = entry.file_name().to_string_lossy().into_owned();
            if file.starts_with(&begin) && file.ends_with(".tsv") {
                let text = std::fs::read_to_string(entry.path()).expect("a text");
                let ids = text.lines().map(|l| l.split('\t').next().expect("a cell"));
                all.extend(ids.map(|id| id.parse::<u64>().expect("a number")));
            }
        }
        all.sort_unstable();
        all
    }

    /// Removes an archive.
    pub fn remove(&self, name: &str) {
        let _ = std::fs::remove_dir_all(self.archive(name));
    }
}

/// Every file below a directory, with its bytes' digest and when it was changed.
pub fn state(directory: &Path) -> BTreeMap<PathBuf, (u64, std::time::SystemTime)> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut all = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).expect("a directory").flatten() {
            let meta = entry.metadata().expect("a file");
            if meta.is_dir() {
                open.push(entry.path());
                continue;
            }
            let mut digest = DefaultHasher::new();
            std::fs::read(entry.path())
                .expect("bytes")
                .hash(&mut digest);
            let changed = meta.modified().expect("a time");
            all.insert(entry.path(), (digest.finish(), changed));
        }
    }
    all
}

/// `SHOW CREATE TABLE` of all tables of users, without what no file of a table has.
pub fn definitions(server: &Server, kind: Kind) -> BTreeMap<String, Vec<String>> {
    let ask = |sql: &str| {
        server
            .client(sql)
            .unwrap_or_else(|e| panic!("{e:?}: {sql}"))
    };
    let tables = ask(
        "SELECT table_schema, table_name FROM information_schema.tables \
        WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') \
        AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')",
    );
    let mut all = BTreeMap::new();
    for table in tables {
        let [Some(schema), Some(name)] = &table[..] else {
            panic!("{table:?}");
        };
        let quoted = |n: &str| format!("`{}`", n.replace('`', "``"));
        let shown = ask(&format!(
            "SHOW CREATE TABLE {}.{}",
            quoted(schema),
            quoted(name)
        ));
        let text = shown[0][1].clone().expect("a definition");
        let lines = text.lines().filter(|l| {
            // MariaDB keeps them in InnoDB's dictionary alone.
            kind.flavour() == Kind::MySql || !l.contains(" FOREIGN KEY ")
        });
        let line = |l: &str| {
            let l = l
                .trim_end_matches(',')
                .replace(" /*!50100 TABLESPACE `rescued_gts` */", "");
            // A running server may have given more numbers away than the file says.
            let words = l.split(' ');
            let words = words.filter(|w| !w.starts_with("AUTO_INCREMENT="));
            words.collect::<Vec<_>>().join(" ")
        };
        all.insert(format!("{schema}.{name}"), lines.map(line).collect());
    }
    all
}
