//! Statistics of the loaded tables, taken at the end (`--analyze`): a server takes its own only a while after rows changed, and
//! until then may choose bad plans.

use super::LoadPlan;
use crate::Target;
use crate::load_report::Analyzed;
use base::Result;
use base::units::printable;
use run::{connect, failure};
use server::quote;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use wire::Conn;

/// Has the server take them. A table of which it cannot is an exception; other servers take their own.
pub(super) fn take(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let start = Instant::now();
    let names: Vec<String> = plan
        .tables()
        .map(|table| quote::qualified(&table.schema, &table.name))
        .collect();
    let phase = t.run.phase(
        "taking statistics",
        t.options.threads.min(names.len()).max(1),
    );
    let conns: Result<Vec<Conn>> = (0..t.options.threads.min(names.len()))
        .map(|_| connect::connection(t.run, &t.options.target))
        .collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    t.run.workers(conns?, |_, mut conn: Conn, stop| {
        loop {
            stop.check()?;
            let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return Ok(());
            };
            if let Some(why) = of_table(&mut conn, name)? {
                let what = printable(&format!("statistics of table {name}: {why}"));
                base::lock(&failed).push(what);
            }
        }
    })?;
    t.run.check()?;
    drop(phase);
    let mut failed = base::lock::into_inner(failed);
    failed.sort();
    t.report.analyzed = Some(Analyzed {
        tables: (names.len() - failed.len()) as u64,
        seconds: start.elapsed().as_secs_f64(),
    });
    t.report.exceptions.extend(failed);
    Ok(())
}

/// Why the server cannot, if it cannot.
fn of_table(conn: &mut Conn, name: &str) -> Result<Option<String>> {
    refusal(
        conn,
        &format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {name}"),
        name,
    )
}

/// Why the server refuses an ANALYZE, if it does.
pub(super) fn refusal(conn: &mut Conn, statement: &str, name: &str) -> Result<Option<String>> {
    // It says what went wrong in its rows: table, operation, kind of message, message.
    let rows = match conn.fetch(statement) {
        Ok(rows) => rows,
        Err(wire::Error::Server(e)) => return Ok(Some(e.to_string())),
        Err(e) => {
            return Err(failure::wire(
                format_args!("cannot analyze table {name}"),
                e,
            ));
        }
    };
    let text = |cell: Option<&Option<Vec<u8>>>| {
        let bytes = cell.and_then(Option::as_deref).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let errors = rows
        .iter()
        .filter(|row| text(row.get(2)).eq_ignore_ascii_case("error"));
    Ok(errors.map(|row| text(row.get(3))).next())
}
