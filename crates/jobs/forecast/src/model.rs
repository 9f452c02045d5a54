//! The model: the stages of a run, and for each the terms that its time is the sum of, by built-in rates.
//!
//! Rows are moved by `min(workers, cores)` at a time, and never faster than the largest part that only one worker can
//! read. What a place or a limit allows (`make`) is the least time of a stage beside that.
//!
//! Invariants: a larger amount never shortens a term, more workers or cores never lengthen one.

use crate::rates;
use crate::stage::Stage;
use crate::work::{Amount, Job, Work};

/// A stage of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Which.
    pub stage: Stage,
    /// Runs with the same key teach each other.
    pub key: String,
    /// Its terms, each in seconds by built-in rates. A stage has the same terms in every run.
    pub terms: Vec<f64>,
}

/// The stages of a run.
pub fn parts(work: &Work) -> Vec<Part> {
    let w = work;
    let parallel = w.workers.min(w.cores).max(1) as f64;
    let at = format!("{} {}", w.flavour, w.server);
    let part = |stage, more: &str, terms: Vec<f64>| Part {
        stage,
        key: format!("{at} {more}"),
        terms,
    };
    let rows = |of: Amount, rate: rates::Rows, share: f64| {
        let [row, value, byte] = rate;
        [
            of.rows as f64 * row,
            of.values() * value,
            of.bytes as f64 * byte,
        ]
        .map(|t| t * share)
    };
    let with = |fixed: &[f64], rows: [f64; 3]| [fixed, &rows[..]].concat();
    let mut all = Vec::new();
    match w.job {
        Job::Dump => {
            // One worker may have a part for itself that is larger than its share.
            let alone = w.alone as f64 / (w.rows.bytes as f64).max(1.0);
            let share = (1.0 / parallel).max(alone.min(1.0)) * compression(&w.how);
            let moved = rows(w.rows, rates::DUMP, share);
            let definitions = (w.tables + w.objects) as f64 * rates::DEFINITION;
            if w.starts_server {
                let copied = w.rows.bytes as f64 * rates::COPY_BYTE;
                let start = rates::own_server(&w.flavour) / 2.0;
                all.push(part(Stage::OwnServer, &w.how, vec![start, copied]));
            }
            all.push(part(Stage::Definitions, "", vec![0.05, definitions]));
            let key = format!("{}, {}", w.place, w.how);
            all.push(part(Stage::DumpRows, &key, with(&[0.05], moved)));
            let durable = w.rows.bytes as f64 * rates::FINISH_BYTE;
            all.push(part(Stage::Finish, &w.place, vec![0.05, durable]));
        }
        Job::Load => {
            let share = 1.0 / parallel;
            if w.starts_server {
                let start = rates::own_server(&w.flavour);
                all.push(part(Stage::OwnServer, "new", vec![start]));
            }
            let checked = w.stored as f64 * rates::CHECK_BYTE * share;
            all.push(part(Stage::CheckArchive, &w.place, vec![0.02, checked]));
            all.push(part(Stage::Settings, &w.how, vec![0.1]));
            let created = w.tables as f64 * rates::create_table(&w.flavour) * share;
            all.push(part(Stage::CreateTables, "", vec![0.1, created]));
            let built = w.tablespaces;
            if built.tables > 0 {
                let each = built.tables as f64 * rates::TABLESPACE;
                let moved = rows(built, rates::build(&w.flavour), share);
                all.push(part(
                    Stage::Tablespaces,
                    &w.place,
                    with(&[0.1, each], moved),
                ));
                if w.offline {
                    let restart = rates::restart(&w.flavour);
                    let each = built.tables as f64 * rates::TABLESPACE;
                    all.push(part(Stage::Offline, "", vec![restart, each]));
                }
            }
            if w.rows.tables > 0 {
                let moved = rows(w.rows, rates::load(&w.flavour), share);
                let key = format!("{}, {}", w.place, w.how);
                all.push(part(Stage::LoadRows, &key, with(&[0.05], moved)));
            }
            let objects = (w.objects + w.tables / 4) as f64 * rates::OBJECT;
            all.push(part(Stage::Objects, "", vec![0.02, objects]));
            if w.compares && w.rows.tables > 0 {
                let read = rows(w.rows, rates::COMPARE, share);
                all.push(part(Stage::Compare, "", with(&[0.05], read)));
            }
        }
        Job::Replay => {
            let applied = w.stored as f64 * rates::REPLAY_BYTE;
            all.push(part(Stage::Replay, "", vec![1.0, applied]));
        }
    }
    let rest = (w.tables + w.objects) as f64 * 0.5e-3;
    let named = format!("{:?} {}", w.job, w.place);
    all.push(part(Stage::Rest, &named, vec![0.15, rest]));
    all
}

/// What the compression of a dump costs, as a multiple of zstd:1.
fn compression(how: &str) -> f64 {
    let method = how.split(',').next().unwrap_or_default();
    match method.strip_prefix("zstd:").map(str::parse::<f64>) {
        Some(Ok(level)) => 1.0 + rates::EACH_LEVEL * (level - 1.0).max(0.0),
        _ => rates::UNCOMPRESSED,
    }
}
