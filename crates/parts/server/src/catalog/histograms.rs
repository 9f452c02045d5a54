//! Histograms of columns: what a server knows of the distribution of values because somebody had it look
//! (`ANALYZE TABLE … UPDATE HISTOGRAM`; on MariaDB `ANALYZE TABLE … PERSISTENT`).

use super::{Catalog, Table};
use crate::ask::ask;
use crate::{Error, Identity, Result};
use std::collections::HashMap;
use wire::Conn;

/// A histogram of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Its column.
    pub column: String,
    /// All of it, as JSON (MySQL).
    pub json: Option<String>,
}

/// Access denied: to a schema, a table, a column.
const DENIED: [u16; 3] = [1044, 1142, 1143];

/// No such table: servers before there were histograms.
const NO_TABLE: [u16; 2] = [1109, 1146];

impl Catalog {
    /// Reads the histograms of its tables. What the account may not read stays unknown: see
    /// [`Catalog::histograms_seen`].
    pub fn read_histograms(&mut self, conn: &mut Conn, id: &Identity) -> Result<()> {
        let sql = match id.is_mariadb() {
            true => {
                "SELECT db_name, table_name, column_name, NULL FROM mysql.column_stats WHERE histogram IS NOT NULL OR min_value IS NOT NULL"
            }
            false if id.mysql_at_least(8, 0, 3) => {
                "SELECT schema_name, table_name, column_name, histogram FROM information_schema.column_statistics"
            }
            false => {
                self.histograms_seen = true;
                return Ok(());
            }
        };
        let answer = match ask(conn, "histograms", sql) {
            Ok(answer) => answer,
            Err(Error::Wire { source, .. })
                if source.code().is_some_and(|c| NO_TABLE.contains(&c)) =>
            {
                self.histograms_seen = true;
                return Ok(());
            }
            Err(Error::Wire { source, .. })
                if source.code().is_some_and(|c| DENIED.contains(&c)) =>
            {
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        self.histograms_seen = true;
        let mut found: HashMap<(String, String), Vec<Histogram>> = HashMap::new();
        for row in &answer.rows {
            let table = (row.text_or_empty(0), row.text_or_empty(1));
            found.entry(table).or_default().push(Histogram {
                column: row.text_or_empty(2),
                json: row.text(3),
            });
        }
        for table in self.schemas.iter_mut().flat_map(|s| &mut s.tables) {
            table.take_histograms(&mut found);
        }
        Ok(())
    }
}

impl Table {
    fn take_histograms(&mut self, found: &mut HashMap<(String, String), Vec<Histogram>>) {
        let all = found.remove(&(self.schema.clone(), self.name.clone()));
        // A column that was dropped since may have left one.
        self.histograms = all.unwrap_or_default();
        let names: Vec<String> = self.columns.iter().map(|c| c.name.clone()).collect();
        self.histograms.retain(|h| names.contains(&h.column));
        self.histograms.sort_by(|a, b| a.column.cmp(&b.column));
    }
}
