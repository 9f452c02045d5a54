//! What is known before a job begins: the title of its record, and its settings.
//!
//! Invariant: settings are written one by one from resolved options, so that a new option cannot bring
//! in a secret by itself.

use super::{Kind, Record};
use base::units::{bytes, seconds};
use dump::Consistency;
use load::DeferIndexes;
use server::Filter;
use std::path::Path;

/// What is known before a dump begins.
pub fn dump(o: &dump::Options) -> Record {
    let consistency = match o.consistency {
        Consistency::Auto => "one snapshot, by the best way that server and account allow",
        Consistency::Lock => "one snapshot, under a read lock",
        Consistency::Compare => "one snapshot, proven without a lock",
        Consistency::Tables => "one snapshot, under locks on the tables",
        Consistency::Transaction => "one snapshot of one worker",
        Consistency::Unused => FILES,
        Consistency::None => "none",
    };
    let mut r = dump_of(o, &o.source.endpoint.to_string(), consistency);
    setting(
        &mut r,
        "longest wait for the read lock",
        seconds(o.lock_wait.as_secs_f64()),
    );
    r
}

/// How a data directory is one moment.
const FILES: &str = "a data directory that no server uses";

/// The same for a dump of a data directory.
pub fn dump_from_files(o: &dump::Options, datadir: &Path) -> Record {
    dump_of(o, &format!("files in {}", datadir.display()), FILES)
}

/// The same for a dump of a snapshot of a server's files.
pub fn dump_from_snapshot(o: &dump::Options) -> Record {
    let source = format!("{}, a snapshot of its files", o.source.endpoint);
    dump_of(o, &source, "a snapshot of the files, recovered")
}

/// The same for a dump from the files of a replica.
pub fn dump_from_replica_files(o: &dump::Options) -> Record {
    let source = format!("{}, its files", o.source.endpoint);
    dump_of(
        o,
        &source,
        "tables that are locked until their files are read, and the applier of the replica stopped",
    )
}

fn dump_of(o: &dump::Options, source: &str, consistency: &str) -> Record {
    let mut r = Record::new(Kind::Dump, format!("Dump of {source}"));
    setting(&mut r, "source", source);
    setting(&mut r, "to", &o.to);
    setting(&mut r, "workers", o.threads);
    setting(&mut r, "compression", o.compression);
    setting(&mut r, "chunk size", bytes(o.chunk_bytes));
    setting(&mut r, "consistency", consistency);
    setting(&mut r, "routines", yes(o.routines));
    setting(&mut r, "events", yes(o.events));
    setting(&mut r, "triggers", yes(o.triggers));
    filter(&mut r, &o.filter);
    r
}

/// What is known before a rescue begins.
pub fn rescue(o: &rescue::Options) -> Record {
    let mut r = Record::new(Kind::Rescue, "Rescue of files");
    for path in &o.from {
        setting(&mut r, "from", path.display());
    }
    setting(&mut r, "to", &o.to);
    for path in &o.definitions {
        setting(&mut r, "definition", path.display());
    }
    if let Some(schema) = &o.schema {
        setting(&mut r, "schema of all tables", schema);
    }
    setting(&mut r, "deleted rows", yes(o.deleted));
    setting(&mut r, "rows of old pages", yes(o.old_pages));
    setting(&mut r, "workers", o.threads);
    setting(&mut r, "compression", o.compression);
    setting(&mut r, "chunk size", bytes(o.chunk_bytes));
    filter(&mut r, &o.filter);
    r
}

/// What is known before queries are replayed.
pub fn warm_check(o: &warm::check::Options) -> Record {
    let mut r = Record::new(Kind::Check, "Queries replayed");
    for (name, server) in ["live server", "new server"].iter().zip(&o.servers) {
        setting(&mut r, name, &server.endpoint);
    }
    setting(&mut r, "queries at most", o.most);
    setting(&mut r, "longest query", seconds(o.longest.as_secs_f64()));
    r
}

/// What is known before a server is looked at.
pub fn preflight(o: &preflight::Options) -> Record {
    let server = o.server.endpoint.to_string();
    let mut r = Record::new(Kind::Preflight, format!("Preflight of {server}"));
    setting(&mut r, "server", server);
    if let Some(to) = &o.to {
        setting(&mut r, "place of a dump", to);
    }
    if let Some(backups) = &o.backups {
        setting(&mut r, "repository", &backups.repository);
        let oldest = backups.oldest.as_secs_f64();
        setting(&mut r, "oldest backup", seconds(oldest));
    }
    let silenced: Vec<&str> = o.silenced.iter().map(|c| c.name).collect();
    if !silenced.is_empty() {
        setting(&mut r, "silenced", silenced.join(", "));
    }
    circumstances(&mut r);
    r
}

/// What is known before a load begins.
pub fn load(o: &load::Options) -> Record {
    let mut r = Record::new(Kind::Load, format!("Load into {}", o.target.endpoint));
    setting(&mut r, "from", &o.from);
    setting(&mut r, "target", &o.target.endpoint);
    setting(&mut r, "workers", o.threads);
    setting(&mut r, "verify", o.verify.name());
    setting(&mut r, "tuning of the server", o.tune.level.name());
    setting(
        &mut r,
        "secondary indexes after the rows",
        match o.defer_indexes {
            DeferIndexes::Auto => "of big tables",
            DeferIndexes::All => "of all tables",
            DeferIndexes::Off => "of none",
        },
    );
    setting(&mut r, "import mode", o.import_mode.name());
    if let Some(new) = &o.managed {
        setting(&mut r, "new data directory", new.folder.display());
    }
    setting(&mut r, "kept out of the binary log", yes(o.skip_binlog));
    setting(&mut r, "objects that are there", o.existing.name());
    setting(&mut r, "resumes an interrupted load", yes(o.resume));
    if let Some(schema) = &o.schema {
        setting(&mut r, "schema for names without one", schema);
    }
    filter(&mut r, &o.filter);
    r
}

/// What is known before a verification begins; `sides` are the archive or the servers.
pub fn verify(sides: &[String], threads: usize, selection: &Filter) -> Record {
    let mut r = Record::new(
        Kind::Verify,
        match sides {
            [one] => format!("Check of {one}"),
            _ => format!("Comparison of {}", sides.join(" and ")),
        },
    );
    for (side, name) in sides.iter().zip(["left", "right"]) {
        let name = if sides.len() == 1 { "archive" } else { name };
        setting(&mut r, name, side);
    }
    setting(&mut r, "workers", threads);
    filter(&mut r, selection);
    r
}

/// What is known before the impact of backups is measured.
pub fn impact(o: &bench::impact::Options) -> Record {
    let mut r = Record::new(
        Kind::Impact,
        format!("Impact of a backup of {}", o.server.endpoint),
    );
    setting(&mut r, "server", &o.server.endpoint);
    if let Some(replica) = &o.replica {
        setting(&mut r, "replica", &replica.endpoint);
    }
    setting(&mut r, "warehouses", o.warehouses);
    setting(&mut r, "connections", o.connections);
    setting(&mut r, "ramp", seconds(o.ramp.as_secs_f64()));
    setting(
        &mut r,
        "windows alone",
        format!("{} before and after", seconds(o.reference.as_secs_f64())),
    );
    setting(
        &mut r,
        "window with backups",
        format!(
            "{}, longer until one backup is complete",
            seconds(o.measure.as_secs_f64())
        ),
    );
    setting(&mut r, "runs", o.runs);
    setting(&mut r, "connections of a backup", o.programs.threads);
    let methods: Vec<String> = o.methods.iter().map(ToString::to_string).collect();
    setting(&mut r, "methods", methods.join("; "));
    circumstances(&mut r);
    r
}

/// What is known before disks are measured.
pub fn disk(o: &bench::disk::Options) -> Record {
    let mut r = Record::new(Kind::Disk, "What the disks can do");
    let named: Vec<String> = o
        .directories
        .iter()
        .map(|d| d.display().to_string())
        .collect();
    setting(&mut r, "directories", named.join(", "));
    if let Some(server) = &o.of {
        setting(&mut r, "of the server", &server.endpoint);
    }
    setting(
        &mut r,
        "size of the file",
        o.size.map_or_else(|| "by free space".to_owned(), bytes),
    );
    setting(&mut r, "runs", o.runs);
    setting(&mut r, "ramp", seconds(o.ramp.as_secs_f64()));
    setting(&mut r, "measured", seconds(o.measure.as_secs_f64()));
    if let Some(longest) = o.longest {
        setting(
            &mut r,
            "longest time for all",
            seconds(longest.as_secs_f64()),
        );
    }
    circumstances(&mut r);
    r
}

/// What is known before TPC-C is measured.
pub fn tpcc_run(o: &bench::tpcc::run::Options) -> Record {
    let w = &o.workload;
    let mut r = Record::new(Kind::Tpcc, format!("TPC-C on {}", w.server.endpoint));
    setting(&mut r, "server", &w.server.endpoint);
    setting(&mut r, "schema", &w.schema);
    setting(&mut r, "connections", w.connections);
    setting(&mut r, "ramp", seconds(o.ramp.as_secs_f64()));
    setting(&mut r, "measured", seconds(o.measure.as_secs_f64()));
    if let Some(rate) = w.rate {
        setting(&mut r, "transactions a second, at most", rate);
    }
    setting(&mut r, "seed", w.seed);
    circumstances(&mut r);
    r
}

/// The machine, and how busy it was: runs are compared by figures, and figures mean little without these.
fn circumstances(r: &mut Record) {
    let kernel = rustix::system::uname();
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory = memory
        .lines()
        .find_map(|l| l.strip_prefix("MemTotal:"))
        .and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let memory = memory.map_or_else(String::new, |kib| {
        format!("{} of memory, ", bytes(kib * 1024))
    });
    let machine = format!(
        "{} cores, {memory}Linux {}",
        run::host::cores(),
        kernel.release().to_string_lossy()
    );
    r.facts.push(("machine".to_owned(), machine));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    r.facts.push(("load average at the start".to_owned(), load));
}

fn setting(record: &mut Record, name: &str, value: impl std::fmt::Display) {
    record.settings.push((name.to_owned(), value.to_string()));
}

fn filter(record: &mut Record, filter: &Filter) {
    if filter.is_empty() {
        setting(record, "selection", "everything");
    }
    for (name, list) in filter.lists() {
        setting(record, name, list.join(", "));
    }
}

fn yes(what: bool) -> &'static str {
    if what { "yes" } else { "no" }
}
