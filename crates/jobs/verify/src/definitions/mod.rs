//! Compares definitions: schemas, tables with their columns, keys and constraints, views, triggers, routines, events and
//! sequences, each as its server shows it, with the settings that it was made with.
//!
//! Texts are compared where both sides are of one release (flavour, major and minor version): others print the same definition
//! differently. Then the objects are compared by name alone, and that is said.
//!
//! What it does not do: compare the counters of AUTO_INCREMENT and sequences, the order of keys, and accounts.

mod parse;
mod sides;

pub use sides::{Side, of_archive, of_server, within};

use parse::{Definition, Sort};
use sides::{Name, title};

/// What came out of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Objects whose definitions are equal, or, where texts cannot be compared, that are on both sides.
    pub equal: u64,
    /// What differs, each with its lines.
    pub differences: Vec<String>,
    /// What was not compared, and why.
    pub not_compared: Vec<String>,
}

impl Outcome {
    /// Nothing was compared, because of this.
    pub fn none(why: String) -> Outcome {
        Outcome {
            not_compared: vec![why],
            ..Outcome::default()
        }
    }

    /// Takes its differences, but for tables that are not there where the rows have said so already.
    pub fn not_named_in(&mut self, known: &[String]) -> Vec<String> {
        let missing = |what: &str| Some(what.split_once(": not on ")?.0.to_owned());
        let known: Vec<String> = known.iter().filter_map(|k| missing(k)).collect();
        let mut found = std::mem::take(&mut self.differences);
        found.retain(|what| {
            let table = missing(what.strip_prefix("table ").unwrap_or_default());
            table.is_none_or(|table| !known.contains(&table))
        });
        found
    }
}

/// What the second side may have that the first has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// Anything but a trigger of a table that both have, if the first side has triggers.
    Allowed,
    /// Nothing.
    Differs,
}

/// Lines of one difference that are shown.
const SHOWN: usize = 12;

/// Compares; `names` are those of the sides, for people.
pub fn compare(left: Side, right: Side, names: (&str, &str), more: More) -> Outcome {
    match left.folds == right.folds {
        true => compare_sides(&left, &right, names, more),
        false => compare_sides(&left.folded(), &right.folded(), names, more),
    }
}

fn compare_sides(left: &Side, right: &Side, names: (&str, &str), more: More) -> Outcome {
    let mut out = Outcome::default();
    let texts = left.release == right.release;
    if !texts {
        out.not_compared.push(format!(
            "definitions, but for the names of objects: the sides are {} and {}, which print them differently",
            release(left),
            release(right)
        ));
    }
    for ((schema, table), ours) in &left.triggers {
        let theirs = right.triggers.get(&(schema.clone(), table.clone()));
        let (mut a, mut b) = (ours.clone(), theirs.cloned().unwrap_or_default());
        a.sort();
        b.sort();
        // What is missing is named by itself.
        if theirs.is_some_and(|theirs| theirs != ours) && a == b {
            let name = (Sort::Table, schema.clone(), table.clone());
            out.differences.push(format!(
                "{}: its triggers run in another order: {}; on the other side {}",
                title(&name),
                base::units::printable(&ours.join(", ")),
                base::units::printable(&theirs.map_or_else(String::new, |t| t.join(", ")))
            ));
        }
    }
    let (mut unread, mut first) = (0usize, None);
    for (name, definition) in &left.all {
        if let Some(why) = right.unread.get(name) {
            unread += 1;
            first.get_or_insert(format!("{}: {why}", title(name)));
            continue;
        }
        match right.all.get(name) {
            None => out
                .differences
                .push(format!("{}: not on {}", title(name), names.1)),
            Some(other) if texts && other != definition => {
                out.differences.push(difference(name, definition, other));
            }
            Some(_) => out.equal += 1,
        }
    }
    for (name, why) in &left.unread {
        if right.all.contains_key(name) || right.unread.contains_key(name) {
            unread += 1;
            first.get_or_insert(format!("{}: {why}", title(name)));
        } else {
            out.differences
                .push(format!("{}: not on {}", title(name), names.1));
        }
    }
    if let Some(first) = first {
        out.not_compared.push(match unread {
            1 => format!("the definition of {first}"),
            n => format!("the definitions of {n} objects; the first is {first}"),
        });
    }
    let extra = |name: &&Name| {
        let new = !left.all.contains_key(*name) && !left.unread.contains_key(*name);
        let of_both = right.triggers.iter().any(|((schema, table), all)| {
            let table = (Sort::Table, schema.clone(), table.clone());
            *schema == name.1 && all.contains(&name.2) && left.all.contains_key(&table)
        });
        let trigger = name.0 == Sort::Trigger && of_both && !left.without_triggers;
        new && (more == More::Differs || trigger)
    };
    let extra = right.all.keys().filter(extra);
    let extra = extra.map(|name| format!("{}: not on {}", title(name), names.0));
    out.differences.extend(extra);
    out
}

fn release(side: &Side) -> String {
    let (flavour, major, minor) = &side.release;
    let name = match flavour.as_str() {
        "mysql" => "MySQL",
        "mariadb" => "MariaDB",
        other => other,
    };
    format!("{name} {major}.{minor}")
}

/// How two definitions of an object differ: the lines that only one of them has.
fn difference(name: &Name, left: &Definition, right: &Definition) -> String {
    let mut lines = only(&left.settings, &right.settings);
    lines.extend(only(&left.lines, &right.lines));
    if lines.is_empty() {
        lines.push("the same lines in another order".to_owned());
    }
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("… and {more} more lines"));
    }
    let lines: String = lines
        .iter()
        .map(|l| format!("\n    {}", base::units::printable(l)))
        .collect();
    format!("{}: another definition{lines}", title(name))
}

/// `- ` and what only the first has, `+ ` and what only the second has.
fn only(left: &[String], right: &[String]) -> Vec<String> {
    let mut rest: Vec<&String> = right.iter().collect();
    let mut out = Vec::new();
    for line in left {
        match rest.iter().position(|r| *r == line) {
            Some(at) => {
                rest.remove(at);
            }
            None => out.push(format!("- {}", line.trim())),
        }
    }
    out.extend(rest.into_iter().map(|line| format!("+ {}", line.trim())));
    out
}
