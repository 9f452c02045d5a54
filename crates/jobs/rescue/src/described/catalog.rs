//! A table of the catalog made from a definition: as much of it as writing rows needs.

use server::catalog::{Column, Table};

/// A table of InnoDB.
pub fn table(schema: &str, name: &str, collation: &str, columns: Vec<Column>) -> Table {
    let columns = (1..)
        .zip(columns)
        .map(|(ordinal, c)| Column { ordinal, ..c });
    Table {
        schema: schema.to_owned(),
        name: name.to_owned(),
        engine: "InnoDB".to_owned(),
        transactional: true,
        collation: collation.to_owned(),
        columns: columns.collect(),
        ..Table::default()
    }
}
