//! The SQL that makes a replica equal to its source again. It is written, and never run.
//!
//! The rows are those of one moment, and the replica goes on. So each statement names the values that were seen, and does nothing
//! to a row that the log has changed since: such a row is equal already, because the log carries whole rows.
//! Deletions come first, so that no new row meets an old one in a unique key.

use base::units::{count, printable};
use server::literal::{bits, literal, was};
use server::quote;
use verify::Different;
use verify::narrow::{Cells, RowDifference, TableDifference};

/// The SQL, as it grows.
#[derive(Clone, Debug, Default)]
pub struct Repair {
    statements: String,
    /// Rows that it changes.
    pub rows: u64,
    /// What it does not repair, in words.
    pub left: Vec<String>,
}

impl Repair {
    /// Adds what differs.
    pub(crate) fn add(&mut self, found: &Different) {
        match found {
            Different::Else(what) => self.left.push(what.clone()),
            Different::Rows(table) => self.table(table),
        }
    }

    fn table(&mut self, table: &TableDifference) {
        let triggers = table
            .triggers
            .then(|| "it has triggers, which would run with each statement".to_owned());
        if let Some(why) = table.incomplete.clone().or(triggers) {
            self.left.push(format!("{}: {why}", table.table));
            return;
        }
        self.rows += table.rows.len() as u64;
        let many = count(table.rows.len() as u64);
        self.statements += &format!("\n-- {}: {many} rows\n", one_line(&table.table));
        let (deletions, others): (Vec<_>, Vec<_>) = table
            .rows
            .iter()
            .partition(|row| matches!(row, RowDifference::OnlyRight(_)));
        for row in deletions.into_iter().chain(others) {
            self.statements += &statement(table, row);
            self.statements += "\n";
        }
    }

    /// What `--repair-sql` of this command would write, for someone who has not asked for it.
    pub fn offer(&self, command: &str) -> String {
        let option = format!("{command} FILE");
        match (self.rows, self.left.len()) {
            (0, 0) => format!("{option} writes the SQL that makes them equal"),
            (0, _) => "none of this can be repaired row by row: docs/replica.md, under \"Repair\", has the commands that make a table again".to_owned(),
            (rows, 0) => format!("{option} writes the SQL that makes them equal ({} rows)", count(rows)),
            (rows, left) => format!(
                "{option} writes the SQL that makes {} rows equal; {left} of the differences it does not repair, and names",
                count(rows)
            ),
        }
    }

    /// All of it, as one script. `replica` and `source` in words, `place` in the source's log.
    pub fn script(&self, replica: &str, source: &str, place: &str) -> String {
        let mut text = format!(
            "-- Rows of {} that were not those of {}, at {}.\n\
             -- penstock replica verify has written this, and has run nothing of it. Run it on the replica, never on the source:\n\
             --   mysql … < FILE\n\
             -- It is one transaction, and is not written to the replica's binary log. A row that has changed since is left as it is.\n\
             -- Then compare again: penstock replica verify.\n",
            one_line(replica),
            one_line(source),
            one_line(place)
        );
        for left in &self.left {
            text += &format!("-- NOT repaired: {}\n", one_line(left));
        }
        if !self.left.is_empty() {
            text += HOW_TO_COPY;
        }
        if self.rows == 0 {
            return text;
        }
        text += SETTINGS;
        text += &self.statements;
        text += "\nCOMMIT;\n";
        text
    }
}

/// Foreign keys are not checked, and do not cascade: each table is repaired by itself.
const SETTINGS: &str = "\nSET SESSION sql_log_bin = 0;\n\
    SET SESSION foreign_key_checks = 0;\n\
    SET SESSION time_zone = '+00:00';\n\
    SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES';\n\
    SET NAMES utf8mb4;\n\
    START TRANSACTION;\n";

const HOW_TO_COPY: &str =
    "-- To make such a table again, docs/replica.md has the commands, under \"Repair\".\n";

/// What comes from a server may have line ends, which would end a comment.
fn one_line(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    printable(&line.join(" "))
}

fn statement(table: &TableDifference, row: &RowDifference) -> String {
    let name = &table.table;
    match row {
        RowDifference::OnlyRight(cells) => {
            let seen = table.columns.iter().zip(cells).enumerate();
            // Text that a key takes for equal may still be another one.
            let seen = seen.filter(|(at, (c, _))| !table.key.contains(at) || c.charset.is_some());
            let seen: Vec<String> = seen
                .filter_map(|(_, (c, v))| was(c, v.as_deref()))
                .collect();
            let terms = [key(table, cells), seen].concat();
            format!("DELETE FROM {name} WHERE {};", terms.join(" AND "))
        }
        RowDifference::OnlyLeft(cells) => {
            let columns = quote::ident_list(table.columns.iter().map(|c| &*c.name));
            let values = table.columns.iter().zip(cells);
            let values: Vec<String> = values.map(|(c, v)| literal(c, v.as_deref())).collect();
            format!(
                "INSERT INTO {name} ({columns}) VALUES ({});",
                values.join(", ")
            )
        }
        RowDifference::Differs { left, right } => {
            let both = table.columns.iter().zip(left.iter().zip(right));
            let (mut sets, mut terms) = (Vec::new(), key(table, right));
            for (column, (wanted, seen)) in both.filter(|(_, (a, b))| a != b) {
                let value = literal(column, wanted.as_deref());
                sets.push(format!("{} = {value}", quote::ident(&column.name)));
                terms.extend(was(column, seen.as_deref()));
            }
            format!(
                "UPDATE {name} SET {} WHERE {};",
                sets.join(", "),
                terms.join(" AND ")
            )
        }
    }
}

/// The conditions that find a row by its key.
fn key(table: &TableDifference, cells: &Cells) -> Vec<String> {
    let of = |at: &usize| {
        let (column, value) = (table.columns.get(*at)?, cells.get(*at)?.as_deref()?);
        let name = quote::ident(&column.name);
        Some(match column.data_type.as_str() {
            // Compared as numbers.
            "bit" => format!("{name} = {}", bits(value)),
            "float" | "double" => format!(
                "{} = {}",
                column.select_expression(),
                literal(column, Some(value))
            ),
            _ => format!("{name} = {}", literal(column, Some(value))),
        })
    };
    table.key.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::catalog::Column;

    fn column(name: &str, data_type: &str, charset: Option<&str>) -> Column {
        Column {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            charset: charset.map(str::to_owned),
            ..Column::default()
        }
    }

    fn row(cells: &[Option<&[u8]>]) -> Cells {
        cells.iter().map(|c| c.map(<[u8]>::to_vec)).collect()
    }

    fn table() -> TableDifference {
        TableDifference {
            table: "`s`.`t`".to_owned(),
            columns: vec![
                column("id", "int", None),
                column("v", "varchar", Some("latin1")),
                column("b", "bit", None),
            ],
            key: vec![0],
            ..TableDifference::default()
        }
    }

    #[test]
    fn a_statement_names_what_was_seen() {
        let (a, b) = (
            row(&[Some(b"7"), Some(b"\xe9"), Some(b"\x01")]),
            row(&[Some(b"7"), None, Some(b"\x01")]),
        );
        let of = |row| statement(&table(), &row);
        assert_eq!(
            of(RowDifference::Differs {
                left: a.clone(),
                right: b.clone()
            }),
            "UPDATE `s`.`t` SET `v` = _latin1 x'E9' WHERE `id` = 7 AND `v` IS NULL;"
        );
        assert_eq!(
            of(RowDifference::OnlyLeft(b)),
            "INSERT INTO `s`.`t` (`id`, `v`, `b`) VALUES (7, NULL, x'01');"
        );
        assert_eq!(
            of(RowDifference::OnlyRight(a)),
            "DELETE FROM `s`.`t` WHERE `id` = 7 AND CAST(`v` AS BINARY) <=> x'E9' AND `b` = 1;"
        );
    }

    #[test]
    fn deletions_come_first_and_comments_are_one_line() {
        let mut repair = Repair::default();
        repair.add(&Different::Rows(TableDifference {
            rows: vec![
                RowDifference::OnlyLeft(row(&[Some(b"1"), None, None])),
                RowDifference::OnlyRight(row(&[Some(b"2"), None, None])),
            ],
            ..table()
        }));
        repair.add(&Different::Rows(TableDifference {
            triggers: true,
            ..table()
        }));
        repair.add(&Different::Else("`a\nDROP`: not on x".to_owned()));
        let text = repair.script("r", "s\nDROP TABLE t", "b:1");
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(place("DELETE FROM") < place("INSERT INTO"));
        assert!(place("sql_log_bin = 0") < place("START TRANSACTION"));
        assert!(text.lines().all(|l| !l.starts_with("DROP")), "{text}");
        assert!(text.contains("-- NOT repaired: `s`.`t`: it has triggers"));
        assert_eq!((repair.rows, repair.left.len()), (2, 2));
    }
}
