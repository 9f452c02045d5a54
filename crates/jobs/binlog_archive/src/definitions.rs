//! Definitions of tables, for what a log does not say of their columns: names, signs, character sets, members.
//!
//! A definition is known from some place in the log: that of a backup, or its present end. It holds as far as no statement in
//! between changed it, and only for events that describe the same columns; else it is not used, and why is said.

use crate::search::{Found, Searched, holds_name};
use crate::walk::Place;
use binlog::body::columns::{Address, Column, kind};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::charset::Charset;
use values::declared::Declared;

/// What is known of a table.
#[derive(Clone, Debug)]
pub struct Definition {
    /// In their order.
    pub columns: Vec<server::catalog::Column>,
    /// The columns of its primary key.
    pub primary: Vec<String>,
    /// Whether it has triggers; the error says why that is unknown.
    pub triggers: Result<bool, String>,
    /// Whether MariaDB keeps its history.
    pub versioned: bool,
    /// Whether it is how the table is now.
    pub present: bool,
    /// Where it is from, in words: "backup shop@…".
    pub by: String,
}

/// A definition, and for which part of a timeline it holds.
#[derive(Clone, Debug)]
pub struct Offer {
    /// It.
    pub definition: Arc<Definition>,
    /// From this place on.
    pub from: Option<Place>,
    /// Up to this one. A change of the table is at either place.
    pub to: Option<Place>,
}

/// A table of a timeline: its number, schema and name.
pub type Of = (u32, String, String);

/// What is known of the tables of a log.
#[derive(Clone, Debug, Default)]
pub struct Definitions(BTreeMap<Of, Vec<Offer>>);

/// A table whose definition is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Number of its timeline.
    pub timeline: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub table: String,
    /// The first transaction that needs it begins here.
    pub from: Place,
    /// The last one ends here.
    pub to: Place,
}

/// What is known more of the columns of a table than its event says.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// The definition.
    Defined(Arc<Definition>),
    /// Nothing; why.
    Not(String),
}

impl Definitions {
    /// Adds one.
    pub fn add(&mut self, of: Of, offer: Offer) {
        self.0.entry(of).or_default().push(offer);
    }

    /// The definition of a table at a place of the log; what it knows is given to the columns.
    pub(crate) fn of(
        &self,
        timeline: u32,
        (schema, table): &(String, String),
        at: &Place,
        columns: &mut Vec<Column>,
        mariadb: bool,
    ) -> Known {
        let key = (timeline, schema.clone(), table.clone());
        let mut why = String::from("no definition of it is known");
        for offer in self.0.get(&key).into_iter().flatten() {
            let by = &offer.definition.by;
            let early = offer.from.as_ref().filter(|p| at.order() < p.order());
            let late = offer.to.as_ref().filter(|p| at.order() >= p.order());
            if let Some(change) = early.or(late) {
                why = format!("a change of the table at {change} came between it and {by}");
                continue;
            }
            let mut completed = columns.clone();
            match complete(&mut completed, &offer.definition, mariadb) {
                Ok(()) => {
                    *columns = completed;
                    return Known::Defined(Arc::clone(&offer.definition));
                }
                Err(not) => why = format!("its definition in {by} does not fit: {not}"),
            }
        }
        Known::Not(why)
    }
}

impl Searched {
    /// The tables whose definitions are needed: those without names, or all of them.
    pub fn needs(&self, all: bool) -> Vec<Need> {
        let mut needs: BTreeMap<Of, Need> = BTreeMap::new();
        for found in &self.found {
            let place = |offset| Place {
                file: found.file.clone(),
                offset,
            };
            let (start, end) = (found.transaction.start, found.transaction.end);
            for (schema, table) in found.changed(all) {
                let of = (found.timeline, schema.clone(), table.clone());
                let need = needs.entry(of).or_insert_with(|| Need {
                    timeline: found.timeline,
                    schema: schema.clone(),
                    table: table.clone(),
                    from: place(start),
                    to: place(end),
                });
                need.to = place(end);
            }
        }
        needs.into_values().collect()
    }
}

impl Found {
    fn changed(&self, all: bool) -> Vec<&(String, String)> {
        match all {
            true => self.changes.keys().collect(),
            false => self.unnamed.iter().collect(),
        }
    }
}

/// Whether a statement may change the definition of a table: where that is not sure, it does.
pub fn may_change(statement: &str, default: &str, schema: &str, table: &str) -> bool {
    let first = first_word(statement);
    let is = |word: &str| first.eq_ignore_ascii_case(word);
    if !["ALTER", "CREATE", "DROP", "RENAME"].into_iter().any(is) {
        return false;
    }
    if holds_name(statement, table) {
        return default.is_empty()
            || default.eq_ignore_ascii_case(schema)
            || holds_name(statement, schema);
    }
    let upper = statement.get(..200).unwrap_or(statement).to_uppercase();
    let of_schema = ["DATABASE", "SCHEMA"].iter().any(|w| upper.contains(w));
    of_schema && holds_name(statement, schema)
}

/// The first word of a statement, behind comments.
fn first_word(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    loop {
        if let Some(inner) = rest
            .strip_prefix("/*!")
            .or_else(|| rest.strip_prefix("/*M!"))
        {
            rest = inner
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim_start();
        } else if let Some(inner) = rest.strip_prefix("/*") {
            rest = inner.split_once("*/").map_or("", |(_, r)| r).trim_start();
        } else if rest.starts_with('#') || rest.starts_with("-- ") {
            rest = rest.split_once('\n').map_or("", |(_, r)| r).trim_start();
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic());
            return &rest[..end.unwrap_or(rest.len())];
        }
    }
}

/// Gives columns what a definition knows; the error says why it is not theirs.
fn complete(columns: &mut [Column], of: &Definition, mariadb: bool) -> Result<(), String> {
    if columns.len() != of.columns.len() {
        return Err(format!(
            "it has {} columns, and the log {}",
            of.columns.len(),
            columns.len()
        ));
    }
    for (column, defined) in columns.iter_mut().zip(&of.columns) {
        one(column, defined, mariadb)
            .ok_or_else(|| format!("column {} has another type", defined.name))?;
        column.primary = of.primary.contains(&defined.name);
    }
    Ok(())
}

/// The same of one column; `None`: it is another one.
fn one(column: &mut Column, defined: &server::catalog::Column, mariadb: bool) -> Option<()> {
    if column.name.as_ref().is_some_and(|n| *n != defined.name) {
        return None;
    }
    let words = Declared::of(&defined.column_type)?;
    let digits = words.numbers.first().copied().unwrap_or(0);
    let width = |pairs: &[(u8, u32)]| pairs.contains(&(column.kind, u32::from(column.meta)));
    let is = |kinds: &[u8]| kinds.contains(&column.kind);
    let charset = defined.charset.as_deref().map(str::to_ascii_lowercase);
    // Bytes of the longest value.
    let most = |characters: u32| match &charset {
        Some(charset) => characters.checked_mul(u32::from(Charset::of(charset)?.most)),
        None => Some(characters),
    };
    let blob = |bytes| width(&[(kind::BLOB, bytes), (kind::BLOB_COMPRESSED, bytes)]);
    let mut address = None;
    let fits = match words.name.as_str() {
        "tinyint" => is(&[kind::TINY]),
        "smallint" => is(&[kind::SHORT]),
        "mediumint" => is(&[kind::INT24]),
        "int" | "integer" => is(&[kind::LONG]),
        "bigint" => is(&[kind::LONGLONG]),
        "decimal" | "numeric" => {
            let (precision, scale) = match *words.numbers.as_slice() {
                [] => (10, 0),
                [precision] => (precision, 0),
                [precision, scale, ..] => (precision, scale),
            };
            width(&[(kind::NEWDECIMAL, precision << 8 | scale)])
        }
        "float" => is(&[kind::FLOAT]),
        "double" | "real" => is(&[kind::DOUBLE]),
        "bit" => width(&[(kind::BIT, digits.max(1).div_ceil(8))]),
        "date" => is(&[kind::DATE, kind::NEWDATE]),
        "year" => is(&[kind::YEAR]),
        "time" => width(&[(kind::TIME, 0), (kind::TIME2, digits)]),
        "datetime" => width(&[(kind::DATETIME, 0), (kind::DATETIME2, digits)]),
        "timestamp" => width(&[(kind::TIMESTAMP, 0), (kind::TIMESTAMP2, digits)]),
        "char" | "binary" => width(&[(
            kind::STRING,
            most(words.numbers.first().copied().unwrap_or(1))?,
        )]),
        "varchar" | "varbinary" => {
            let most = most(digits)?;
            // One byte more for how it is compressed.
            width(&[(kind::VARCHAR, most), (kind::VAR_STRING, most)])
                || is(&[kind::VARCHAR_COMPRESSED])
        }
        "tinytext" | "tinyblob" => blob(1),
        "text" | "blob" => blob(2),
        "mediumtext" | "mediumblob" => blob(3),
        "longtext" | "longblob" => blob(4),
        "json" => is(&[kind::JSON, kind::BLOB]),
        "enum" => is(&[kind::ENUM]),
        "set" => is(&[kind::SET]),
        "vector" => is(&[kind::VECTOR, kind::VARCHAR]),
        "uuid" | "inet4" | "inet6" if mariadb => {
            address = Some(match words.name.as_str() {
                "uuid" => Address::Uuid,
                "inet4" => Address::Inet4,
                _ => Address::Inet6,
            });
            is(&[kind::STRING])
        }
        _ if defined.is_spatial() => is(&[kind::GEOMETRY]),
        _ => false,
    };
    let sign = column
        .unsigned
        .is_none_or(|u| !column.is_integer() || u == words.unsigned);
    if !fits || !sign {
        return None;
    }
    column.name = Some(defined.name.clone());
    column.unsigned = Some(words.unsigned);
    column.address = address;
    let is_bytes = matches!(words.name.as_str(), "binary" | "varbinary" | "vector")
        || words.name.ends_with("blob");
    match charset {
        Some(charset) => column.charset = Some(charset),
        None if is_bytes => column.charset = Some("binary".to_owned()),
        None => {}
    }
    if let (Some(members), None) = (&words.members, &column.members) {
        // Members that need tables of a character set stay numbers.
        let set = column.charset.as_deref().and_then(Charset::of);
        let encoded = members.iter().map(|m| set?.encode(m));
        column.members = encoded.collect();
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_a_definition() {
        let of = |statement: &str| may_change(statement, "d", "d", "t");
        assert!(of("ALTER TABLE t ADD x INT"));
        assert!(of("/* by hand */ alter table `d`.`t` drop x"));
        assert!(of("CREATE INDEX i ON t (x)"));
        assert!(of("RENAME TABLE x TO T"));
        assert!(of("DROP DATABASE d"));
        assert!(of("/*!40000 ALTER TABLE t DISABLE KEYS */"));
        assert!(!of("INSERT INTO t VALUES ('ALTER')"));
        assert!(!of("ALTER TABLE t2 ADD x INT"));
        assert!(!of("DROP DATABASE e"));
        assert!(!may_change("ALTER TABLE t ADD x INT", "e", "d", "t"));
        assert!(may_change("ALTER TABLE d.t ADD x INT", "e", "d", "t"));
    }

    fn column(kind: u8, meta: u16) -> Column {
        Column {
            kind,
            meta,
            nullable: true,
            name: None,
            unsigned: None,
            charset: None,
            members: None,
            primary: false,
            address: None,
        }
    }

    fn defined(types: &[&str]) -> Definition {
        let column = |(i, t): (usize, &&str)| {
            let name = format!("c{i}");
            server::catalog::Column::declared(&name, t, t.starts_with('v').then_some("utf8mb4_bin"))
        };
        Definition {
            columns: types.iter().enumerate().map(column).collect(),
            primary: vec!["c0".to_owned()],
            by: "backup x".to_owned(),
            triggers: Ok(false),
            versioned: false,
            present: false,
        }
    }

    #[test]
    fn a_definition_fits_or_is_not_used() {
        let events = || vec![column(kind::LONG, 0), column(kind::VARCHAR, 80)];
        let mut columns = events();
        complete(
            &mut columns,
            &defined(&["int unsigned", "varchar(20)"]),
            false,
        )
        .expect("fits");
        assert_eq!(columns[0].unsigned, Some(true));
        assert!(columns[0].primary && !columns[1].primary);
        assert_eq!(columns[1].name.as_deref(), Some("c1"));
        assert_eq!(columns[1].charset.as_deref(), Some("utf8mb4"));
        for other in [
            &["int"][..],
            &["bigint", "varchar(20)"],
            &["int", "varchar(21)"],
            &["int", "date"],
        ] {
            assert!(
                complete(&mut events(), &defined(other), false).is_err(),
                "{other:?}"
            );
        }
        let place = |offset| Place {
            file: "b.1".to_owned(),
            offset,
        };
        let mut all = Definitions::default();
        all.add(
            (1, "d".to_owned(), "t".to_owned()),
            Offer {
                definition: Arc::new(defined(&["int", "varchar(20)"])),
                from: Some(place(100)),
                to: Some(place(200)),
            },
        );
        let name = ("d".to_owned(), "t".to_owned());
        let of = |offset| all.of(1, &name, &place(offset), &mut events(), false);
        assert!(matches!(of(100), Known::Defined(_)));
        assert!(
            matches!(of(200), Known::Not(why) if why.contains("a change of the table at b.1:200 came between it and backup x"))
        );
    }
}
