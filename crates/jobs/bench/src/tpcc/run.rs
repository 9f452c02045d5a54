//! One measurement: a ramp that is thrown away, then the window.

use super::workload::{Options as Terminals, Workload};
use super::{Figures, Second, Transaction, schema};
use base::units::count;
use base::{Kind, Result};
use run::Run;
use std::time::Duration;

/// How often a line says how it goes.
const EVERY: Duration = Duration::from_secs(10);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The workload.
    pub workload: Terminals,
    /// Time for caches to fill before the window begins.
    pub ramp: Duration,
    /// Length of the window.
    pub measure: Duration,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The server, in words.
    pub server: String,
    /// The schema.
    pub schema: String,
    /// Warehouses that were found in it.
    pub warehouses: u32,
    /// Connections.
    pub connections: usize,
    /// The ramp.
    pub ramp: Duration,
    /// The window's figures.
    pub figures: Figures,
    /// Every second of ramp and window.
    pub seconds: Vec<Second>,
}

/// Runs the workload, and measures once.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let terminals = &options.workload;
    let workload = Workload::start(run, terminals)?;
    run.observer.note(format!(
        "server: {} at {}, {}",
        workload.server(),
        terminals.server.endpoint,
        schema::described(&terminals.schema, workload.warehouses())
    ));
    let phase = run.phase("ramping up", terminals.connections);
    workload.wait(options.ramp)?;
    drop(phase);
    let phase = run.phase("measuring", terminals.connections);
    workload.open_window();
    let begun = workload.elapsed();
    while let Some(left) = options
        .measure
        .checked_sub(workload.elapsed().saturating_sub(begun))
        .filter(|left| !left.is_zero())
    {
        workload.wait(left.min(EVERY))?;
        if left > EVERY {
            let done = workload.elapsed().saturating_sub(begun);
            run.observer.note(progress(&workload, done));
        }
    }
    let figures = workload.close_window()?;
    drop(phase);
    let seconds = workload.seconds();
    let summary = Summary {
        server: format!("{} at {}", workload.server(), terminals.server.endpoint),
        schema: terminals.schema.clone(),
        warehouses: workload.warehouses(),
        connections: terminals.connections,
        ramp: options.ramp,
        figures,
        seconds,
    };
    // The window is measured; what happens behind it is worth a word, not the result.
    match workload.stop() {
        Err(e) if e.kind != Kind::Interrupted => run.observer.warn(e.what),
        _ => {}
    }
    Ok(summary)
}

/// How the last seconds went, as a line for people.
fn progress(workload: &Workload, done: Duration) -> String {
    let seconds = workload.seconds();
    let last = &seconds[seconds.len().saturating_sub(EVERY.as_secs() as usize)..];
    let orders: u64 = last.iter().map(|s| s.new_orders).sum();
    let retries: u64 = last.iter().map(|s| s.retries).sum();
    let worst = last.iter().filter_map(|s| s.p95_new_order).max();
    let worst = worst.map_or_else(
        || "none ended".to_owned(),
        |w| format!("p95 up to {:.1} ms", w.as_secs_f64() * 1e3),
    );
    let per_minute = orders * 60 / (last.len() as u64).max(1);
    format!(
        "{:>4} s  tpmC {:>8}  {} {worst}  tries made again: {}",
        done.as_secs(),
        count(per_minute),
        Transaction::NewOrder.name(),
        count(retries)
    )
}
