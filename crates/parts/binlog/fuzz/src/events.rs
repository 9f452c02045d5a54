//! Hostile events: whatever bytes a log has, each reader ends, with what it read or an error.
//!
//! The input is a file without checksums; with them hardly any change would get beyond the first test.
#![no_main]

use binlog::body::{Begin, Cell, Payload, Query, Rotate, Rows, Table, columns};
use binlog::gtid::{mariadb, mysql};
use binlog::{Boundaries, Checksum, Description, Event, Result, kind, value};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;

/// Tables, as row events name them.
type Tables = BTreeMap<u64, Vec<columns::Column>>;

fn look(event: &Event<'_>, tables: &mut Tables, within: bool) -> Result<()> {
    Begin::parse(event)?;
    if let Some(query) = Query::parse(event)? {
        query.role();
    }
    if let Some(table) = Table::parse(event)? {
        for mariadb in [false, true] {
            tables.insert(table.id, columns::parse(table.columns, mariadb)?);
        }
    }
    if let Some(rows) = Rows::parse(event)?
        && let Some(columns) = tables.get(&rows.table)
    {
        rows.each(columns, |before, after| {
            assert!(before.is_some() || after.is_some());
            for image in before.iter().chain(&after) {
                for (column, cell) in columns.iter().zip(image) {
                    let found = match cell {
                        Cell::Value(stored) => value::decode(column, stored),
                        Cell::Changes(stored) => value::json_changes(stored),
                        Cell::Absent | Cell::Null => continue,
                    };
                    std::hint::black_box(&found);
                }
            }
            Ok(())
        })?;
    }
    match event.header.kind {
        kind::ROTATE => {
            Rotate::parse(event.body())?;
        }
        kind::PREVIOUS_GTIDS => {
            let set = mysql::Set::decode(event.body())?;
            assert_eq!(mysql::Set::parse(&set.to_string()).as_ref(), Some(&set));
        }
        kind::GTID_LIST => {
            mariadb::Position::decode(event.body())?;
        }
        // A transaction within a transaction is none.
        kind::TRANSACTION_PAYLOAD if !within => {
            Payload::parse(event.body())?.events(1 << 20, |inner| look(&inner, tables, true))?;
        }
        _ => {}
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let mut file = binlog::file::File::from(bytes, 4, Description::of_stream(Checksum::None));
    let (mut boundaries, mut tables) = (Boundaries::new(), Tables::new());
    while let Ok(Some((at, event))) = file.next() {
        let _ = boundaries.take(at, &event);
        let _ = look(&event, &mut tables, false);
    }
});
