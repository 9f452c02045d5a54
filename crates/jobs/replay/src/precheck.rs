//! Whether the target would apply the log as it is: what it must not leave out, tolerate or refuse.

use base::{Error, Kind, Result, units::printable};
use server::Identity;

/// Which names the log's transactions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// MySQL's GTIDs.
    Gtids,
    /// MySQL's events that say that there is none.
    Anonymous,
    /// MariaDB's, or a log of before there were any.
    Other,
}

/// Fails by name if the target's settings would change what is applied.
pub(crate) fn check(id: &Identity, log_is_mariadb: bool, names: Names) -> Result<()> {
    if log_is_mariadb != id.is_mariadb() {
        let of = if log_is_mariadb { "MariaDB" } else { "MySQL" };
        return Err(Error::new(
            Kind::Target,
            format!("the binary log is of {of} and the target is {id}: it cannot apply all of its events"),
        )
        .hint("replay into a server of the flavour that wrote the log"));
    }
    if id.is_mysql() && !id.at_least(8, 0, 23) {
        return Err(Error::new(
            Kind::Target,
            format!("the target is {id}; logs are replayed into MySQL 8.0.23 and later"),
        ));
    }
    if id.is_mariadb() && !id.at_least(10, 0, 2) {
        return Err(Error::new(
            Kind::Target,
            format!("the target is {id}; logs are replayed into MariaDB 10.0.2 and later"),
        ));
    }
    skipping(id)?;
    filters(id)?;
    if id.is_mysql() {
        gtid_mode(id, names)?;
    }
    Ok(())
}

fn setting<'a>(id: &'a Identity, names: &[&'static str]) -> Option<(&'static str, &'a str)> {
    names
        .iter()
        .find_map(|n| id.variable(n).map(|value| (*n, value)))
}

/// Errors that the applier is set to skip would be gaps.
fn skipping(id: &Identity) -> Result<()> {
    let found = setting(id, &["replica_skip_errors", "slave_skip_errors"]);
    if let Some((name, value)) = found.filter(|(_, v)| !matches!(*v, "" | "OFF" | "0")) {
        let text = format!("the target skips errors of its applier ({name} = {value})");
        return Err(Error::new(Kind::Target, printable(&text)).hint(format!(
            "remove {name} from its configuration and restart it"
        )));
    }
    let found = setting(id, &["sql_replica_skip_counter", "sql_slave_skip_counter"]);
    if let Some((name, value)) = found.filter(|(_, v)| !matches!(*v, "" | "0")) {
        let text = format!("the target would skip the first events ({name} = {value})");
        return Err(
            Error::new(Kind::Target, printable(&text)).hint(format!("SET GLOBAL {name} = 0"))
        );
    }
    Ok(())
}

/// MariaDB shows filters as variables; MySQL's are seen in the channel once it is made.
fn filters(id: &Identity) -> Result<()> {
    for (name, value) in &id.variables {
        let filter = name.starts_with("replicate_")
            && (name.contains("_do_") || name.contains("_ignore_") || name.contains("_rewrite_"));
        if filter && !value.is_empty() {
            return Err(filtered(&format!("{name} = {value}")));
        }
    }
    Ok(())
}

/// The error of a target that leaves events out.
pub(crate) fn filtered(filter: &str) -> Error {
    let text = format!("the target's replication filters would leave events out: {filter}");
    Error::new(Kind::Target, printable(&text)).hint("remove the filters for the time of the replay")
}

/// A target applies GTIDs or their absence; one mode takes no GTIDs, another nothing but them.
fn gtid_mode(id: &Identity, names: Names) -> Result<()> {
    let mode = id.variable("gtid_mode").unwrap_or("OFF");
    let wanted = match (names, mode) {
        (Names::Gtids, "OFF") => {
            "the log's transactions have GTIDs, which a target with gtid_mode = OFF does not apply"
        }
        (Names::Anonymous, "ON") => {
            "the log's transactions have no GTIDs, and a target with gtid_mode = ON applies no others"
        }
        _ => return Ok(()),
    };
    let way = if names == Names::Gtids {
        "SET GLOBAL gtid_mode = OFF_PERMISSIVE; ON_PERMISSIVE and ON, one after the other, make it the source's mode (enforce_gtid_consistency = ON first)"
    } else {
        "SET GLOBAL gtid_mode = ON_PERMISSIVE; then OFF_PERMISSIVE and OFF, one after the other, make it the source's mode"
    };
    Err(Error::new(Kind::Target, wanted).hint(way))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(pairs: &[(&str, &str)]) -> Identity {
        let pairs = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Identity::from_variables(pairs.collect()).expect("a version")
    }

    fn refused(pairs: &[(&str, &str)], mariadb: bool, names: Names) -> String {
        match check(&server(pairs), mariadb, names) {
            Ok(()) => String::new(),
            Err(e) => e.what,
        }
    }

    #[test]
    fn what_would_change_the_outcome_is_refused_by_name() {
        let v = ("version", "9.7.4");
        let m = ("version", "10.11.19-MariaDB");
        assert_eq!(refused(&[v, ("gtid_mode", "ON")], false, Names::Gtids), "");
        assert!(
            refused(&[v, ("gtid_mode", "OFF")], false, Names::Gtids).contains("gtid_mode = OFF")
        );
        assert!(
            refused(&[v, ("gtid_mode", "ON")], false, Names::Anonymous).contains("gtid_mode = ON")
        );
        assert_eq!(
            refused(
                &[v, ("gtid_mode", "ON_PERMISSIVE")],
                false,
                Names::Anonymous
            ),
            ""
        );
        assert!(refused(&[v], true, Names::Other).contains("MariaDB"));
        assert!(refused(&[("version", "5.7.1")], false, Names::Other).contains("8.0.23"));
        assert_eq!(
            refused(&[m, ("slave_skip_errors", "OFF")], true, Names::Other),
            ""
        );
        assert!(refused(&[m, ("slave_skip_errors", "1062")], true, Names::Other).contains("1062"));
        assert!(
            refused(&[m, ("replicate_do_db", "a")], true, Names::Other)
                .contains("replicate_do_db = a")
        );
        assert_eq!(
            refused(
                &[
                    m,
                    ("replicate_annotate_row_events", "ON"),
                    ("replicate_do_db", "")
                ],
                true,
                Names::Other
            ),
            ""
        );
    }
}
