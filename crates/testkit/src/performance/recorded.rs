//! Recorded runs, read back: the files that `./dev bench` leaves under `bench/`.
//!
//! Recorded files are data and are never changed. Runs recorded before groups and entries got their present names carry
//! the old ones; [`present_name`] translates them, so that everything else knows one name for each.

use serde_json::Value;
use std::path::Path;
use testkit::{Error, Result};

/// Which server a run was made on; in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Flavour {
    MySql,
    MariaDb,
}

pub(crate) const FLAVOURS: [Flavour; 2] = [Flavour::MySql, Flavour::MariaDb];

/// Where figures come from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The file, from the root of the repository.
    pub(crate) path: String,
    /// The file's name without date and ending: `mysql-tpcc`.
    pub(crate) kind: String,
    pub(crate) date: String,
    pub(crate) flavour: Flavour,
    /// `MySQL 9.7.4`.
    pub(crate) server: String,
    pub(crate) machine: String,
    /// The commit that was measured.
    pub(crate) commit: String,
    /// Older than another run of the same kind.
    pub(crate) history: bool,
}

/// A run of `./dev bench rows`, `restore` or `files`.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) source: Source,
    pub(crate) data: String,
    pub(crate) warehouses: Option<u64>,
    /// Millions of rows in the table with five keys.
    pub(crate) millions: u64,
    pub(crate) groups: Vec<Group>,
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The median of the runs.
    pub(crate) seconds: f64,
    pub(crate) runs: usize,
    pub(crate) peak_mib: Option<f64>,
}

/// The present name of a group or an entry.
fn present_name(recorded: &str) -> &str {
    match recorded {
        "load, 2 workers" => "SQL import, 2 workers",
        "restore of an archive" => "SQL import of an archive",
        "restore of one .sql file" => "import of one .sql file",
        "a table with five keys, best settings" => "five keys, SQL import, best settings",
        "restore by files, compared" => "tablespace import",
        "five keys by files, compared" => "five keys, tablespace import",
        "penstock --road rows, best settings" => "penstock --import-mode sql, best settings",
        "penstock --road tablespace" => "penstock --import-mode tablespace",
        "penstock --road cold" => "penstock --import-mode offline",
        "penstock, keys before the rows, 1 worker" => "penstock --defer-indexes off, 1 worker",
        "penstock, 1 workers" => "penstock, 1 worker",
        "penstock load --no-verify" => "penstock load --verify none",
        "penstock --tune=max --no-verify" => "penstock --tune=max --verify none",
        "penstock --tune=safe --no-verify" => "penstock --tune=safe --verify none",
        "penstock --tune=off --no-verify" => "penstock --tune=off --verify none",
        "cp of the files, and sync" => "limit: cp of the files, and sync",
        other => other,
    }
}

/// The recordings of one benchmark that have this ending, the older ones in `history` included, by path.
pub(crate) fn files(root: &Path, bench: &str, ending: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in [format!("bench/{bench}"), format!("bench/{bench}/history")] {
        let listing = match std::fs::read_dir(root.join(&folder)) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            listing => listing.map_err(Error::doing(&folder))?,
        };
        for entry in listing {
            let name = entry?.file_name().to_string_lossy().into_owned();
            // Recordings begin with their date; notes and scripts do not.
            if name.starts_with(|c: char| c.is_ascii_digit())
                && name.ends_with(&format!(".{ending}"))
            {
                found.push(format!("{folder}/{name}"));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// All runs of a benchmark whose recordings are groups of measured commands.
pub(crate) fn recordings(root: &Path, bench: &str) -> Result<Vec<Recording>> {
    files(root, bench, "json")?
        .into_iter()
        .map(|path| {
            let json = json(root, &path)?;
            recording(&path, &json).ok_or_else(|| Error(format!("{path}: not a recorded run")))
        })
        .collect()
}

pub(crate) fn json(root: &Path, path: &str) -> Result<Value> {
    let text = std::fs::read_to_string(root.join(path)).map_err(Error::doing(path))?;
    serde_json::from_str(&text).map_err(Error::doing(path))
}

fn recording(path: &str, json: &Value) -> Option<Recording> {
    let fact = |name: &str| json["facts"][name].as_str();
    let source = Source::new(path, |name| fact(name).map(str::to_owned))?;
    let groups = json["groups"].as_array()?.iter().map(group);
    // Runs of before 2026-11-25 have the number of rows in their file's name only.
    let millions = match fact("five keys") {
        Some(text) => text.split(' ').next()?.parse().ok()?,
        None => (source.kind.split('-'))
            .find_map(|part| part.strip_prefix('m')?.parse().ok())
            .unwrap_or(1),
    };
    Some(Recording {
        data: fact("data")?.to_owned(),
        warehouses: fact("warehouses").and_then(|w| w.parse().ok()),
        millions,
        groups: groups.collect::<Option<_>>()?,
        source,
    })
}

fn group(json: &Value) -> Option<Group> {
    let entry = |e: &Value| -> Option<Entry> {
        let peaks = e["peak_kib"].as_array()?.iter().filter_map(Value::as_f64);
        Some(Entry {
            name: present_name(e["name"].as_str()?).to_owned(),
            seconds: e["wall_s_median"].as_f64()?,
            runs: e["wall_s"].as_array()?.len(),
            peak_mib: peaks.map(|kib| kib / 1024.0).reduce(f64::max),
        })
    };
    Some(Group {
        name: present_name(json["name"].as_str()?).to_owned(),
        entries: (json["entries"].as_array()?.iter().map(entry)).collect::<Option<_>>()?,
    })
}

impl Recording {
    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|g| g.name == name)
    }
}

impl Group {
    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }
}

impl Source {
    /// From the file's name and the facts in it.
    pub(crate) fn new(path: &str, fact: impl Fn(&str) -> Option<String>) -> Option<Source> {
        let stem = Path::new(path).file_stem()?.to_str()?;
        let date = fact("date")?.get(..10)?.to_owned();
        let server = fact("server")?;
        let number: String = (server.chars())
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        let flavour = match server.contains("MariaDB") {
            true => Flavour::MariaDb,
            false => Flavour::MySql,
        };
        let machine = fact("machine")?;
        let machine = machine
            .split(", load at the start")
            .next()
            .unwrap_or_default();
        Some(Source {
            path: path.to_owned(),
            kind: stem.get(11..)?.to_owned(),
            date,
            flavour,
            server: format!("{} {number}", flavour.name()),
            machine: machine.to_owned(),
            commit: (fact("penstock")?.rsplit(", ").next())
                .unwrap_or_default()
                .to_owned(),
            history: path.contains("/history/"),
        })
    }

    /// Of a recording in Markdown, whose facts are lines `- name: value`.
    pub(crate) fn of_markdown(path: &str, text: &str) -> Option<Source> {
        Source::new(path, |name| {
            let begin = format!("- {name}: ");
            text.lines()
                .find_map(|l| l.strip_prefix(&begin))
                .map(str::to_owned)
        })
    }
}

impl Flavour {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Flavour::MySql => "MySQL",
            Flavour::MariaDb => "MariaDB",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_with_the_old_names_is_read_under_the_present_ones() {
        let json = json!({
            "facts": {
                "date": "2026-11-24T08:29Z", "data": "tpcc: 7 rows, 1 MB as text", "warehouses": "50",
                "server": "10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu, unix socket",
                "machine": "2 cores, 23 GiB, Linux 6, load at the start 2.04",
                "penstock": "penstock 0.1.0, d0314d5",
            },
            "groups": [{ "name": "restore by files, compared", "entries": [
                { "name": "penstock --road cold", "wall_s": [3.0, 1.0], "wall_s_median": 2.0, "peak_kib": [2048.0, 1024.0] },
                { "name": "cp of the files, and sync", "wall_s": [1.0], "wall_s_median": 1.0, "peak_kib": [] },
            ]}],
        });
        let read = recording(
            "bench/restore/history/2026-11-24-mariadb-tpcc-tablespace-w50-m10.json",
            &json,
        )
        .expect("a recording");
        assert_eq!(read.source.server, "MariaDB 10.11.19");
        assert_eq!(read.source.kind, "mariadb-tpcc-tablespace-w50-m10");
        assert_eq!(read.source.machine, "2 cores, 23 GiB, Linux 6");
        assert_eq!(read.source.commit, "d0314d5");
        assert!(read.source.history);
        assert_eq!((read.warehouses, read.millions), (Some(50), 10));
        let group = read.group("tablespace import").expect("the group");
        let offline = group
            .entry("penstock --import-mode offline")
            .expect("the entry");
        assert_eq!(
            (offline.seconds, offline.runs, offline.peak_mib),
            (2.0, 2, Some(2.0))
        );
        let limit = group.entry("limit: cp of the files, and sync");
        assert_eq!(limit.expect("the limit").peak_mib, None);
    }
}
