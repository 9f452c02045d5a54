//! Histograms of columns that the source had: given to the target as they were (MySQL 8.0.31 and later), or taken again from the
//! loaded rows, as the other flavour and older servers take them.

use super::LoadPlan;
use super::statistics::refusal;
use crate::Target;
use crate::load_report::HistogramsMade;
use archive::meta::Histogram;
use archive::open::Table;
use base::Result;
use base::units::printable;
use server::quote;

/// Buckets of a histogram whose number the archive does not say.
const BUCKETS: u64 = 100;

/// Most buckets that a server takes.
const MOST: u64 = 1024;

/// Said of a column for which no histogram is needed.
const NOT_NEEDED: &str = "covered by a single-part unique index";

/// Makes them. One that the server refuses is an exception.
pub(super) fn make(t: &mut Target<'_>, plan: &LoadPlan) -> Result<()> {
    let name = |table: &Table| quote::qualified(&table.schema, &table.name);
    let wanted: Vec<&Table> = plan
        .tables()
        .filter(|table| !table.meta.histograms.is_empty())
        // Those of a table that was there are its own.
        .filter(|table| !plan.refills(table) && !t.kept.contains(&name(table)))
        .collect();
    // Those of tables without rows would be of nothing.
    if wanted.is_empty() || !plan.parts.rows {
        return Ok(());
    }
    let phase = t.run.phase("making histograms", 1);
    let mut made = HistogramsMade::default();
    for table in wanted {
        t.run.check()?;
        let name = name(table);
        // Those of the source are of rows that are not wanted, too.
        let exact = plan.wanted(table).is_none();
        for (statement, again, columns) in statements(t, &name, &table.meta.histograms, exact) {
            match refusal(&mut t.conn, &statement, &name)? {
                None if again => made.taken_again += columns,
                None => made.exact += columns,
                // MySQL makes none where an index says it all; others do.
                Some(why) if why.contains(NOT_NEEDED) => {}
                Some(why) => {
                    t.report.repairable = true;
                    t.refused(printable(&format!(
                        "histograms of table {name} are not made: {why}"
                    )));
                }
            }
        }
    }
    drop(phase);
    t.report.histograms = Some(made);
    Ok(())
}

/// The statements for the histograms of a table, whether each takes them again, and how many it makes.
fn statements(
    t: &Target<'_>,
    table: &str,
    all: &[Histogram],
    exact: bool,
) -> Vec<(String, bool, u64)> {
    if t.id.is_mariadb() {
        let columns: Vec<String> = all.iter().map(|h| quote::ident(&h.column)).collect();
        let statement = format!(
            "ANALYZE TABLE {table} PERSISTENT FOR COLUMNS ({}) INDEXES ALL",
            columns.join(", ")
        );
        return vec![(statement, true, all.len() as u64)];
    }
    all.iter()
        .map(|h| {
            let column = quote::ident(&h.column);
            let update = format!("ANALYZE TABLE {table} UPDATE HISTOGRAM ON {column}");
            match &h.data {
                Some(data) if exact && t.id.mysql_at_least(8, 0, 31) => {
                    let data = quote::text(&data.to_string());
                    (format!("{update} USING DATA {data}"), false, 1)
                }
                _ => {
                    let buckets = match h.buckets {
                        0 => BUCKETS,
                        n => n.min(MOST),
                    };
                    (format!("{update} WITH {buckets} BUCKETS"), true, 1)
                }
            }
        })
        .collect()
}
