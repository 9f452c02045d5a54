//! What a server has executed, as it prints it. A text that is not understood is an error: taken for nothing, it would let
//! transactions be set that the server has, or be passed over that it has not.

use crate::failure;
use base::units::printable;
use base::{Error, Kind, Result};
use binlog::gtid::Executed;
use wire::Conn;

/// Reads a list of GTIDs; servers break long ones into lines.
pub fn parse(mariadb: bool, text: &str) -> Result<Executed> {
    let joined: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    Executed::parse(mariadb, &joined).ok_or_else(|| {
        let what = format!("this is no list of GTIDs: {joined}");
        Error::new(Kind::Archive, printable(&what))
    })
}

/// `gtid_executed` of MySQL, `gtid_slave_pos` of MariaDB.
pub fn executed(conn: &mut Conn, mariadb: bool) -> Result<Executed> {
    let sql = match mariadb {
        true => "SELECT @@GLOBAL.gtid_slave_pos",
        false => "SELECT @@GLOBAL.gtid_executed",
    };
    let rows = conn
        .fetch(sql)
        .map_err(|e| failure::wire("cannot see what the server has executed", e))?;
    let cell = rows.into_iter().next().and_then(|r| r.into_iter().next());
    parse(
        mariadb,
        &String::from_utf8_lossy(&cell.flatten().unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_others_are_errors() {
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        let broken = format!("{uuid}:1-5,\n{uuid}:7");
        let set = parse(false, &broken).expect("a set");
        assert_eq!(set.to_string(), format!("{uuid}:1-5:7"));
        assert!(parse(false, "").expect("none").is_empty());
        assert_eq!(
            parse(true, "0-1-7,1-2-3").expect("a position").to_string(),
            "0-1-7,1-2-3"
        );
        for (mariadb, text) in [(false, "0-1-7"), (true, "x"), (false, "what")] {
            assert!(parse(mariadb, text).is_err(), "{text}");
        }
    }
}
