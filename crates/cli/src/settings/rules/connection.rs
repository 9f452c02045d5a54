//! Connection options: which of them go with what else names a server.

use super::refused::{first_given, refuse};
use crate::args::connection::Connection;
use crate::settings::connection;
use base::Result;

/// The first option that says to which server to connect, or how.
pub fn connects(c: &Connection) -> Option<&'static str> {
    first_given(&[
        ("--host", c.host.is_some()),
        ("--port", c.port.is_some()),
        ("--socket", c.socket.is_some()),
        ("--user", c.user.is_some()),
        ("--password", c.password.is_some()),
        ("--password-fd", c.password_fd.is_some()),
        ("--ssl-mode", c.ssl_mode.is_some()),
        ("--ssl-ca", c.ssl_ca.is_some()),
        (
            "--ssl-cert with --ssl-key",
            c.ssl_cert.is_some() && c.ssl_key.is_some(),
        ),
        ("--ssl-cert", c.ssl_cert.is_some()),
        ("--ssl-key", c.ssl_key.is_some()),
        ("--get-server-public-key", c.get_server_public_key),
        ("--connect-timeout", c.connect_timeout.is_some()),
    ])
}

/// Several servers: options beside URIs that say it all.
pub fn said_twice<'u>(uris: impl Iterator<Item = &'u str>, c: &Connection) -> Result<()> {
    let uris = uris.map(connection::said_by);
    let said: Vec<_> = uris.collect::<Result<_>>()?;
    for (typed, by_uri, option) in [
        (c.user.is_some(), said.iter().all(|s| s.user), "--user"),
        (
            c.ssl_mode.is_some(),
            said.iter().all(|s| s.ssl_mode),
            "--ssl-mode",
        ),
    ] {
        if typed && by_uri {
            return refuse(
                format!("{option} does not apply: all URIs say it themselves"),
                "use one of the two",
            );
        }
    }
    Ok(())
}
