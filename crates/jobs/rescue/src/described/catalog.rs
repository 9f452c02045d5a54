//! A table of the catalog made from a definition: as much of it as writing rows needs.

use server::catalog::{Column, Table};

/// A column by its type in words.
pub fn column(name: &str, column_type: &str, collation: Option<&str>) -> Column {
    let words = column_type.split("/*").next().unwrap_or_default();
    let bare = words.split(['(', ' ']).next().unwrap_or_default();
    Column {
        name: name.to_owned(),
        data_type: bare.to_ascii_lowercase(),
        column_type: column_type.to_owned(),
        charset: collation.map(|c| c.split('_').next().unwrap_or(c).to_owned()),
        collation: collation.map(str::to_owned),
        unsigned: words.contains("unsigned"),
        ..Column::default()
    }
}

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
