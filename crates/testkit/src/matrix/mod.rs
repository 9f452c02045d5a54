//! What a server holds, case by case, and whether a copy of it is the same.
//!
//! Equality is what both servers say of themselves: SHOW CREATE of every object, their checksums of every table, what views give, and
//! the queries of a case. No code of penstock's jobs is involved.

use crate::sample::run_script;
use crate::{Error, Install, Kind, Result, checksum};
use std::collections::BTreeMap;
use std::path::Path;
use wire::{Conn, Options};

const CASES: &str = include_str!("cases.sql");

/// One kind of value or object.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it stands among all of both flavours, from 1.
    pub number: usize,
    /// In words.
    pub name: String,
    script: String,
    /// Queries that have to give the same on a copy.
    probes: Vec<String>,
}

/// Those of a kind of server.
pub fn cases(kind: Kind) -> Vec<Case> {
    let flavour = match kind {
        Kind::MySql | Kind::MySql55 => "mysql",
        Kind::MariaDb | Kind::MariaDb118 => "mariadb",
    };
    let mut all: Vec<Option<Case>> = Vec::new();
    for line in CASES.lines() {
        if let Some(title) = line.strip_prefix("-- case") {
            let (of, name) = title.split_once(": ").unwrap_or_default();
            let wanted = [String::new(), format!(" {flavour}")].contains(&of.to_owned());
            let case = Case {
                number: all.len() + 1,
                name: name.to_owned(),
                script: String::new(),
                probes: Vec::new(),
            };
            all.push(wanted.then_some(case));
            continue;
        }
        let Some(Some(case)) = all.last_mut() else {
            continue;
        };
        let of = format!("-- {flavour}: ");
        let probe = format!("-- {flavour} probe: ");
        if let Some(sql) = line
            .strip_prefix("-- probe: ")
            .or_else(|| line.strip_prefix(&probe))
        {
            case.probes.push(sql.to_owned());
        } else if let Some(sql) = line.strip_prefix(&of) {
            case.script += &format!("{sql};\n");
        } else if !line.starts_with("-- ") {
            case.script += &format!("{line}\n");
        }
    }
    all.into_iter().flatten().collect()
}

impl Case {
    /// Its schema.
    pub fn schema(&self) -> String {
        format!("mx_{:02}", self.number)
    }

    /// Makes it.
    pub fn fill(&self, install: &Install, socket: &Path) -> Result<()> {
        let schema = self.schema();
        let script = format!("CREATE DATABASE {schema};\nUSE {schema};\n{}", self.script);
        run_script(install, socket, None, &mut script.as_bytes())
            .map_err(Error::doing(format!("case {schema}, {}", self.name)))
    }

    /// How a copy differs, if it does.
    pub fn difference(&self, source: &Options, copy: &Options) -> Result<Option<String>> {
        self.compare(self.state(source)?, self.state(copy)?)
    }

    /// How a copy on a server of another version or flavour differs, whose definitions and checksums are others: in its objects by
    /// name, and in the rows that queries give.
    pub fn difference_in_rows(&self, source: &Options, copy: &Options) -> Result<Option<String>> {
        self.compare(self.rows(source)?, self.rows(copy)?)
    }

    fn compare(
        &self,
        ours: BTreeMap<String, String>,
        theirs: BTreeMap<String, String>,
    ) -> Result<Option<String>> {
        let schema = self.schema();
        let missing = ours.keys().find(|name| !theirs.contains_key(*name));
        if let Some(missing) = missing {
            return Ok(Some(format!("{schema}: {missing} is missing")));
        }
        if let Some(more) = theirs.keys().find(|name| !ours.contains_key(*name)) {
            return Ok(Some(format!("{schema}: {more} is there besides")));
        }
        let other = ours.iter().find(|(name, text)| theirs[*name] != **text);
        Ok(other
            .map(|(name, text)| format!("{schema}: {name} is {}, and was {text}", theirs[name])))
    }

    /// A connection that uses its schema; none if it is not there.
    fn open(&self, server: &Options) -> Result<Option<Conn>> {
        let schema = self.schema();
        let mut conn = Conn::connect(server)?;
        let there = format!(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{schema}'"
        );
        if conn
            .fetch(&there)
            .map_err(Error::doing(&schema))?
            .is_empty()
        {
            return Ok(None);
        }
        // The oldest servers have no utf8mb4 of four bytes for all of it.
        let named = conn.execute("SET NAMES utf8mb4");
        named.map_err(Error::doing("SET NAMES"))?;
        conn.execute(format!("USE {schema}"))
            .map_err(Error::doing(&schema))?;
        Ok(Some(conn))
    }

    /// Everything that a server says of it.
    fn state(&self, server: &Options) -> Result<BTreeMap<String, String>> {
        let schema = self.schema();
        let Some(mut conn) = self.open(server)? else {
            return Ok(BTreeMap::new());
        };
        let mut state: BTreeMap<String, String> =
            definitions(&mut conn, &schema)?.into_iter().collect();
        for (table, sum) in checksum::tables(server, std::slice::from_ref(&schema))? {
            state.insert(format!("rows of {table}"), sum);
        }
        state.extend(rows_of(&mut conn, &schema, "VIEW")?);
        for probe in &self.probes {
            state.insert(format!("{probe}:"), shown(&mut conn, probe)?);
        }
        Ok(state)
    }

    /// Its objects by name, and the rows that queries give.
    fn rows(&self, server: &Options) -> Result<BTreeMap<String, String>> {
        let schema = self.schema();
        let Some(mut conn) = self.open(server)? else {
            return Ok(BTreeMap::new());
        };
        let objects = definitions(&mut conn, &schema)?.into_iter();
        let mut rows: BTreeMap<String, String> =
            objects.map(|(name, _)| (name, String::new())).collect();
        rows.extend(rows_of(&mut conn, &schema, "BASE TABLE")?);
        rows.extend(rows_of(&mut conn, &schema, "VIEW")?);
        Ok(rows)
    }
}

/// A sum over the rows of each table or view.
fn rows_of(conn: &mut Conn, schema: &str, kind: &str) -> Result<BTreeMap<String, String>> {
    let list = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' AND table_type = '{kind}'"
    );
    let mut sums = BTreeMap::new();
    for name in names(conn, &list)? {
        let sql = checksum::by_query(conn, &quoted(&name));
        let sum = sql.and_then(|sql| shown(conn, &sql));
        // A server says why a view cannot be read, in its own words.
        let sum = sum.unwrap_or_else(|_| "cannot be read".to_owned());
        sums.insert(format!("rows of {name}"), sum);
    }
    Ok(sums)
}

/// What a query gives, or the error.
fn shown(conn: &mut Conn, sql: &str) -> Result<String> {
    match conn.fetch(sql) {
        Ok(rows) => {
            let cell = |c: Option<Vec<u8>>| {
                c.map_or("NULL".to_owned(), |c| {
                    String::from_utf8_lossy(&c).into_owned()
                })
            };
            let rows = rows.into_iter();
            let rows: Vec<String> = rows
                .map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join(", "))
                .collect();
            Ok(rows.join("; "))
        }
        Err(wire::Error::Server(e)) => Ok(e.to_string()),
        Err(e) => Err(e.into()),
    }
}

fn names(conn: &mut Conn, sql: &str) -> Result<Vec<String>> {
    let rows = conn.fetch(sql).map_err(Error::doing(sql))?;
    let cells = rows.into_iter().filter_map(|row| row.into_iter().next()?);
    Ok(cells
        .map(|c| String::from_utf8_lossy(&c).into_owned())
        .collect())
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// What SHOW CREATE gives for every object of a schema, under `kind name`, sorted.
pub fn definitions(conn: &mut Conn, schema: &str) -> Result<Vec<(String, String)>> {
    let literal = schema.replace('\'', "''");
    let tables = |types: &str| {
        format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = '{literal}' AND table_type IN ({types})"
        )
    };
    let routines = |kind: &str| {
        format!(
            "SELECT routine_name FROM information_schema.routines WHERE routine_schema = '{literal}' AND routine_type = '{kind}'"
        )
    };
    let of = |column: &str, list: &str, by: &str| {
        format!("SELECT {column} FROM information_schema.{list} WHERE {by} = '{literal}'")
    };
    let lists = [
        ("TABLE", tables("'BASE TABLE', 'SYSTEM VERSIONED'")),
        ("TABLE", tables("'SEQUENCE'")),
        ("VIEW", of("table_name", "views", "table_schema")),
        ("TRIGGER", of("trigger_name", "triggers", "trigger_schema")),
        ("PROCEDURE", routines("PROCEDURE")),
        ("FUNCTION", routines("FUNCTION")),
        ("PACKAGE", routines("PACKAGE")),
        ("PACKAGE BODY", routines("PACKAGE BODY")),
        ("EVENT", of("event_name", "events", "event_schema")),
    ];
    let mut all = vec![(
        format!("DATABASE {schema}"),
        shown(conn, &format!("SHOW CREATE DATABASE {}", quoted(schema)))?,
    )];
    for (kind, list) in lists {
        for name in names(conn, &list)? {
            let sql = format!("SHOW CREATE {kind} {}.{}", quoted(schema), quoted(&name));
            let row = match conn.fetch(&sql) {
                Ok(rows) => rows.into_iter().next().unwrap_or_default(),
                Err(wire::Error::Server(e)) => {
                    all.push((format!("{kind} {name}"), e.to_string()));
                    continue;
                }
                Err(e) => return Err(e.into()),
            };
            // After the text come character sets and, for triggers, the time of creation.
            let most = if kind == "TRIGGER" { 6 } else { row.len() };
            let text: Vec<String> = row
                .into_iter()
                .take(most)
                .map(|c| plain(&String::from_utf8_lossy(&c.unwrap_or_default())))
                .collect();
            all.push((format!("{kind} {name}"), text.join("\n")));
        }
    }
    all.sort();
    Ok(all)
}

/// A definition without the character sets that MySQL adds in front of a collation which it read from its own SHOW CREATE.
fn plain(text: &str) -> String {
    let mut pieces = text.split(" CHARACTER SET ");
    let mut all = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(' ') {
            Some((_, rest)) if rest.starts_with("COLLATE ") => all += &format!(" {rest}"),
            _ => all += &format!(" CHARACTER SET {piece}"),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flavour_has_its_cases() {
        let (mysql, mariadb) = (cases(Kind::MySql), cases(Kind::MariaDb));
        let has = |all: &[Case], name: &str| all.iter().any(|c| c.name == name);
        assert!(has(&mysql, "VECTOR") && !has(&mariadb, "VECTOR"));
        assert!(has(&mariadb, "sequences") && !has(&mysql, "sequences"));
        for (case, other) in mysql.iter().zip(mysql.iter().skip(1)) {
            assert!(case.number < other.number);
            assert!(
                !case.script.is_empty() && !case.script.contains("-- "),
                "{}",
                case.name
            );
        }
    }
}
