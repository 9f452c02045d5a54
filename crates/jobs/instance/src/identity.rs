//! Which server it is: the id under which records on this host know it, what it says about itself, and
//! how it is connected to and named to the user.
//!
//! Invariant: a record of one server is never applied to another one. An endpoint alone does not say
//! which server answers there, so whoever applies a record compares [`server_id`] first.

use base::units::printable;
use base::{Error, Kind, Result};
use run::failure;
use server::{Identity, session};
use wire::{Conn, Endpoint};

/// The id of a server in file names: what stays the same over restarts, hashed, because a server's own
/// words must not become a path. MySQL's uuid travels with a copied data directory, and MariaDB has at
/// most an id computed from the network card, so host and port count too where they cannot change by a
/// restart alone.
pub fn server_id(server: &Identity) -> String {
    let port = server.port.to_string();
    let uuid = server.uuid.as_deref().unwrap_or_default();
    let mut parts = vec![uuid, server.datadir.as_str()];
    if server.is_mariadb() || uuid.is_empty() {
        parts.extend([server.hostname.as_str(), port.as_str()]);
    }
    let mut hash = blake3::Hasher::new();
    hash.update(server.flavour.to_string().as_bytes());
    for part in parts {
        hash.update(&[0]);
        hash.update(part.as_bytes());
    }
    hash.finalize().to_hex()[..32].to_owned()
}

/// What the server says that it is now.
pub(crate) fn read(conn: &mut Conn) -> Result<Identity> {
    Identity::read(conn).map_err(|e| failure::server("cannot find out what the server is", e))
}

/// A server that is down, by its name: the rest can only be asked once it runs, and nothing depends on it
/// until then.
pub(crate) fn from_name(name: &str) -> Result<Identity> {
    let variables = [("version".to_owned(), version(name))];
    Identity::from_variables(variables.into())
        .ok_or_else(|| Error::new(Kind::Internal, "a journal without a version"))
}

/// `MariaDB 10.11.19` as the server itself would write it.
fn version(name: &str) -> String {
    let number = name.rsplit(' ').next().unwrap_or_default();
    if name.starts_with("MariaDB") && !number.contains("MariaDB") {
        format!("{number}-MariaDB")
    } else {
        number.to_owned()
    }
}

/// A connection that a stop of the run does not break: settings are reverted on it.
pub(crate) fn connect(wire: &wire::Options, id: &Identity) -> Result<Conn> {
    let mut conn = session::connect(wire)
        .map_err(|e| failure::wire("no connection to the server whose settings are changed", e))?;
    session::for_catalog(&mut conn, id)
        .map_err(|e| failure::server("cannot prepare a session", e))?;
    Ok(conn)
}

/// The command that reverts settings and starts a stopped server.
pub fn revert_command(wire: &wire::Options) -> String {
    let server = match &wire.endpoint {
        Endpoint::Tcp(host, port) => format!("--host {host} --port {port}"),
        Endpoint::Unix(path) => format!("--socket {}", path.display()),
    };
    printable(&format!(
        "penstock doctor --revert {server} --user {}",
        wire.user
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(pairs: &[(&str, &str)]) -> Identity {
        let variables = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Identity::from_variables(variables.collect()).expect("a version")
    }

    #[test]
    fn servers_have_different_ids() {
        let base = [
            ("version", "9.7.4"),
            ("server_uuid", "../../etc/x"),
            ("datadir", "/a/"),
            ("port", "1"),
        ];
        let mysql = server_id(&server(&base));
        assert!(mysql.bytes().all(|b| b.is_ascii_hexdigit()), "{mysql}");
        let with = |name: &str, value: &str, base: &[(&str, &str)]| {
            let mut pairs = base.to_vec();
            pairs.push(("zz", "z"));
            for p in &mut pairs {
                if p.0 == name {
                    p.1 = Box::leak(value.to_owned().into_boxed_str());
                }
            }
            server_id(&server(&pairs))
        };
        // A server that comes up on another port after a restart is the same one.
        assert_eq!(with("port", "2", &base), mysql);
        assert_ne!(with("server_uuid", "b", &base), mysql);
        assert_ne!(with("datadir", "/b/", &base), mysql);
        let base = [
            ("version", "10.11.1-MariaDB"),
            ("datadir", "/a/"),
            ("port", "1"),
            ("hostname", "h"),
        ];
        let maria = server_id(&server(&base));
        assert_ne!(with("port", "2", &base), maria);
        assert_ne!(with("hostname", "g", &base), maria);
    }
}
