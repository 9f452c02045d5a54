//! Which statements of a dump may run: the dump may come from a stranger, so what no dump of rows and
//! definitions needs is refused, or skipped with --skip-unsupported and named at the end.

use base::units::printable;
use base::{Error, Kind};
use dumps::statement::{Kind as StatementKind, Name, SYSTEM_TABLE, Scope, Statement, is_system};

/// Why a statement is unsupported, if it is.
pub fn why_unsupported(s: &Statement, current: Option<&str>) -> Option<&'static str> {
    let file = s
        .danger
        .is_some_and(|d| d == "LOAD_FILE" || d == "INTO OUTFILE");
    if is_ordinary(&s.kind) && !file {
        return None;
    }
    let system = |name: &Name| {
        let key = resolved(name, current);
        key.is_some_and(|(schema, _)| is_system(&schema))
    };
    let of_the_server = match &s.kind {
        StatementKind::Insert(head) => head.schema.as_deref().or(current).is_some_and(is_system),
        // A dump of all schemas has `CREATE DATABASE IF NOT EXISTS mysql`.
        StatementKind::CreateDatabase(_) => false,
        StatementKind::DropDatabase(name) => is_system(name),
        StatementKind::AlterDatabase(name) => name.as_deref().or(current).is_some_and(is_system),
        StatementKind::Other => current.is_some_and(is_system),
        kind => kind.objects().iter().any(system),
    };
    s.danger.or(of_the_server.then_some(SYSTEM_TABLE))
}

/// Statements that reach beyond rows and definitions, are in ordinary dumps, and are not run: the dump's
/// position in its server's log, and maintenance.
fn is_ordinary(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Set(list) => list
            .iter()
            .all(|a| a.name == "gtid_purged" || a.name == "sql_log_bin" || a.scope == Scope::User),
        StatementKind::ReplicationSource | StatementKind::Upkeep => true,
        _ => false,
    }
}

/// A statement that may not run.
pub struct Unsupported {
    /// File and line.
    pub place: String,
    /// Why.
    pub why: &'static str,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

/// Up to this many of one kind are listed each.
const FEW: u64 = 3;

/// One line for many statements that are unsupported for one reason: a dump of all schemas has dozens.
pub fn grouped(list: &[Unsupported]) -> Vec<String> {
    let mut groups: Vec<(&Unsupported, u64)> = Vec::new();
    for one in list {
        match groups.iter_mut().find(|(first, _)| first.why == one.why) {
            Some((_, n)) => *n += 1,
            None => groups.push((one, 1)),
        }
    }
    let lines = groups.into_iter().flat_map(|(first, n)| {
        if n > FEW {
            vec![format!("{first}, and {} more like it", n - 1)]
        } else {
            let same = list.iter().filter(|one| one.why == first.why);
            same.map(Unsupported::to_string).collect()
        }
    });
    lines.collect()
}

/// An error that names each; `so_far` says what of the dump was run.
pub fn refusal(list: &[Unsupported], so_far: &str) -> Error {
    let mut text = "the dump contains statements that are not run:".to_owned();
    let lines = grouped(list);
    for one in lines.iter().take(20) {
        text += &format!("\n  {}", printable(one));
    }
    if lines.len() > 20 {
        text += &format!("\n  … and {} more", lines.len() - 20);
    }
    Error::new(Kind::Archive, text).hint(format!(
        "{so_far}; --skip-unsupported skips these statements and lists them at the end"
    ))
}

/// Schema and name; `None` if no schema is known.
pub fn resolved(name: &Name, current: Option<&str>) -> Option<(String, String)> {
    let schema = name.schema.as_deref().or(current)?;
    Some((schema.to_owned(), name.name.clone()))
}
