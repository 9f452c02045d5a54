//! Which server is meant: the mysql client's own options, a URI, option files and the environment,
//! put together into what a connection needs.
//!
//! A password never comes from the command line, where every user of the host can read it: it comes
//! from an option file, the environment, a prompt or a file descriptor.

mod without_effect;

use super::optionfile::{OptionFiles, Which};
use crate::args::connection::Connection;
use crate::args::values;
use base::{Error, Kind, Result, Secret};
use clap::ValueEnum;
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;
use wire::{Endpoint, Options, SslMode};

impl Connection {
    /// Whether any option that names a server was typed.
    pub fn names_a_server(&self) -> bool {
        self.host.is_some()
            || self.socket.is_some()
            || self.port.is_some()
            || self.user.is_some()
            || self.defaults_file.is_some()
            || self.defaults_extra_file.is_some()
            || self.defaults_group_suffix.is_some()
            || self.password.is_some()
            || self.password_fd.is_some()
            || self.ssl_mode.is_some()
            || self.ssl_ca.is_some()
    }

    /// Whether options were typed that say how to connect, and not to which server.
    pub fn says_how(&self) -> bool {
        self.ssl_cert.is_some()
            || self.ssl_key.is_some()
            || self.get_server_public_key
            || self.connect_timeout.is_some()
    }

    /// The server meant by these options, or by `uri` where one is given.
    pub fn resolve(&self, uri: Option<&str>) -> Result<Options> {
        let named = uri.map(Uri::parse).transpose()?.unwrap_or_default();
        // The URI would win, and the option would have no effect.
        for (twice, what, option) in [
            (
                named.user.is_some() && self.user.is_some(),
                "account",
                "--user",
            ),
            (
                named.ssl_mode.is_some() && self.ssl_mode.is_some(),
                "use of TLS",
                "--ssl-mode",
            ),
        ] {
            if twice {
                return Err(usage(format!(
                    "the {what} is named twice: by the URI, and by {option}"
                ))
                .hint("use one of the two"));
            }
        }
        self.one_place()?;
        self.resolved(uri, true)
    }

    /// One of several servers, named by a URI: what it does not say is said by these options.
    pub fn one_of_several(&self, uri: &str) -> Result<Options> {
        self.resolved(Some(uri), false)
    }

    /// Refuses an address of which a part would have no effect.
    fn one_place(&self) -> Result<()> {
        let elsewhere = self.host.as_deref().is_some_and(|h| h != "localhost");
        let other = match (elsewhere, self.port) {
            (true, _) => "--host",
            (false, Some(_)) => "--port",
            (false, None) => return Ok(()),
        };
        if self.socket.is_none() {
            return Ok(());
        }
        Err(usage(format!(
            "--socket and {other} name two servers: a socket is a place on this host without a port"
        ))
        .hint("use one of the two"))
    }

    /// `alone` says that these options are for this server only, so that each has to have an effect.
    fn resolved(&self, uri: Option<&str>, alone: bool) -> Result<Options> {
        let which = Which {
            only: self.defaults_file.clone(),
            extra: self.defaults_extra_file.clone(),
            none: self.no_defaults,
            suffix: self.defaults_group_suffix.clone(),
        };
        let files = OptionFiles::read(&which)?;
        if uri.is_some() && (self.host.is_some() || self.socket.is_some() || self.port.is_some()) {
            return Err(usage(
                "the server is named twice: by a URI, and by --host, --port or --socket".to_owned(),
            )
            .hint("use one of the two"));
        }
        let uri = uri.map(Uri::parse).transpose()?.unwrap_or_default();
        let text = |typed: &Option<String>, of_uri: &Option<String>, key: &str| {
            of_uri
                .clone()
                .or_else(|| typed.clone())
                .or_else(|| files.get(key).map(str::to_owned))
        };
        let path = |typed: &Option<PathBuf>, key: &str| {
            typed.clone().or_else(|| files.get(key).map(PathBuf::from))
        };
        let port = match (uri.port.or(self.port), files.get("port")) {
            (Some(p), _) => p,
            (None, Some(p)) => p
                .parse()
                .map_err(|_| usage(format!("{p:?} in an option file is not a port")))?,
            (None, None) => 3306,
        };
        let endpoint = self.endpoint(&uri, &files, port);
        let user = match text(&self.user, &uri.user, "user") {
            Some(u) => u,
            None => std::env::var("USER").unwrap_or_else(|_| "root".to_owned()),
        };
        let mode = match (uri.ssl_mode, self.ssl_mode, files.get("ssl-mode")) {
            (Some(mode), ..) | (None, Some(mode), _) => Some(mode),
            (None, None, text) => text.map(ssl_mode).transpose()?,
        };
        let ssl_ca = path(&self.ssl_ca, "ssl-ca");
        let mut options = Options::new(endpoint, user);
        options.ssl_mode = match mode {
            Some(mode) => mode.into(),
            // Who names an authority wants the certificate checked against it.
            None => SslMode::implied(ssl_ca.is_some()),
        };
        options.ssl_ca = ssl_ca;
        options.ssl_cert = path(&self.ssl_cert, "ssl-cert");
        options.ssl_key = path(&self.ssl_key, "ssl-key");
        options.get_server_public_key =
            self.get_server_public_key || files.get("get-server-public-key").is_some_and(on);
        let timeout = match (self.connect_timeout, files.get("connect-timeout")) {
            (Some(n), _) => Some(n),
            (None, Some(t)) => Some(t.parse().map_err(|_| {
                usage(format!(
                    "connect-timeout {t:?} in an option file is not a number of seconds"
                ))
            })?),
            _ => None,
        };
        if let Some(n) = timeout {
            options.connect_timeout = Duration::from_secs(n.max(1));
        }
        if alone {
            without_effect::refuse(self, &options)?;
        }
        options.password = self.password(&files, &options)?;
        Ok(options)
    }

    /// Another server, named by a URI: with these options, except for the address.
    pub fn another(&self, uri: &str) -> Result<Options> {
        let elsewhere = Connection {
            host: None,
            port: None,
            socket: None,
            ..self.clone()
        };
        elsewhere.resolved(Some(uri), false)
    }

    fn endpoint(&self, uri: &Uri, files: &OptionFiles, port: u16) -> Endpoint {
        if let Some(socket) = &uri.socket {
            return Endpoint::Unix(socket.clone());
        }
        if let Some(host) = &uri.host {
            return Endpoint::Tcp(host.clone(), port);
        }
        if let Some(socket) = &self.socket {
            return Endpoint::Unix(socket.clone());
        }
        let host = self
            .host
            .clone()
            .or_else(|| files.get("host").map(str::to_owned));
        let socket = files.get("socket").map(PathBuf::from);
        match host {
            // For the client, localhost means the socket unless a port was asked for.
            Some(h) if h != "localhost" || self.port.is_some() => Endpoint::Tcp(h, port),
            _ if self.port.is_some() => Endpoint::Tcp("127.0.0.1".to_owned(), port),
            _ => Endpoint::Unix(socket.unwrap_or_else(default_socket)),
        }
    }

    fn password(&self, files: &OptionFiles, options: &Options) -> Result<Option<Secret>> {
        match &self.password {
            Some(given) if !given.is_empty() => {
                return Err(password_on_command_line());
            }
            Some(_) => {
                let prompt = format!("Password for {} on {}: ", options.user, options.endpoint);
                return rpassword::prompt_password(prompt)
                    .map(|p| Some(Secret::new(p)))
                    .map_err(|e| usage(format!("cannot ask for the password: {e}"))
                        .hint("without a terminal use an option file, PENSTOCK_PASSWORD or --password-fd"));
            }
            None => {}
        }
        if let Some(fd) = self.password_fd {
            // Opened by number through /proc, so that no unsafe code is needed.
            let mut text = String::new();
            std::fs::File::open(format!("/proc/self/fd/{fd}"))
                .and_then(|f| f.take(4096).read_to_string(&mut text))
                .map_err(|e| {
                    usage(format!(
                        "cannot read the password from file descriptor {fd}: {e}"
                    ))
                })?;
            let line = text.lines().next().unwrap_or_default().to_owned();
            return Ok(Some(Secret::new(line)));
        }
        // PENSTOCK_PASSWORD is meant for this program; MYSQL_PWD counts least, as for the mysql client.
        let env = |name| std::env::var(name).ok();
        let found = env("PENSTOCK_PASSWORD")
            .or_else(|| files.get("password").map(str::to_owned))
            .or_else(|| env("MYSQL_PWD"));
        Ok(found.map(Secret::new))
    }
}

/// Where Debian and the servers' own builds put the socket.
fn default_socket() -> PathBuf {
    [
        "/run/mysqld/mysqld.sock",
        "/var/run/mysqld/mysqld.sock",
        "/var/lib/mysql/mysql.sock",
        "/tmp/mysql.sock",
    ]
    .iter()
    .map(PathBuf::from)
    .find(|p| p.exists())
    .unwrap_or_else(|| PathBuf::from("/run/mysqld/mysqld.sock"))
}

/// The refusal of a password on the command line.
pub fn password_on_command_line() -> Error {
    usage("a password on the command line can be read by every user of this host".to_owned()).hint(
        "write -p alone to be asked, or use an option file, PENSTOCK_PASSWORD or --password-fd",
    )
}

fn usage(what: String) -> Error {
    Error::new(Kind::Usage, what)
}

/// A switch of an option file: bare, `1`, `on` or `true`.
fn on(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "1" | "on" | "true"
    )
}

impl From<values::SslMode> for SslMode {
    fn from(mode: values::SslMode) -> SslMode {
        match mode {
            values::SslMode::Disabled => SslMode::Disabled,
            values::SslMode::Preferred => SslMode::Preferred,
            values::SslMode::Required => SslMode::Required,
            values::SslMode::VerifyCa => SslMode::VerifyCa,
            values::SslMode::VerifyIdentity => SslMode::VerifyIdentity,
        }
    }
}

/// A mode as option files and URIs write it, in any case.
fn ssl_mode(text: &str) -> Result<values::SslMode> {
    values::SslMode::from_str(text, true).map_err(|_| {
        usage(format!("unknown ssl mode {text:?}"))
            .hint("one of disabled, preferred, required, verify_ca, verify_identity")
    })
}

/// `mysql://user@host:3306/?socket=/path&ssl-mode=required`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Uri {
    user: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    socket: Option<PathBuf>,
    ssl_mode: Option<values::SslMode>,
}

/// What a URI says besides the address.
pub struct SaidByUri {
    /// An account.
    pub user: bool,
    /// The use of TLS.
    pub ssl_mode: bool,
}

/// What this URI says.
pub fn said_by(uri: &str) -> Result<SaidByUri> {
    let uri = Uri::parse(uri)?;
    Ok(SaidByUri {
        user: uri.user.is_some(),
        ssl_mode: uri.ssl_mode.is_some(),
    })
}

/// Refuses what is not the URI of a server.
pub fn check_uri(text: &str) -> Result<()> {
    Uri::parse(text).map(drop)
}

impl Uri {
    fn parse(text: &str) -> Result<Uri> {
        let rest = ["mysql://", "mariadb://"]
            .iter()
            .find_map(|s| text.strip_prefix(s))
            .ok_or_else(|| {
                usage(format!("{text:?} is not a server"))
                    .hint("write mysql://user@host:3306/, or mysql://user@localhost/?socket=/path")
            })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut uri = Uri::default();
        let address = match authority.rsplit_once('@') {
            Some((user, address)) => {
                if user.contains(':') {
                    return Err(usage(
                        "a password in a URI can be read by every user of this host".to_owned(),
                    )
                    .hint(
                        "use -p to be asked, an option file, PENSTOCK_PASSWORD or --password-fd",
                    ));
                }
                uri.user = Some(decode(user)?);
                address
            }
            None => authority,
        };
        if !path.trim_matches('/').is_empty() {
            return Err(usage(format!("the URI names a schema, {path:?}"))
                .hint("choose schemas with --schemas or --tables"));
        }
        let (host, port) = match address.strip_prefix('[').and_then(|a| a.split_once(']')) {
            Some((host, tail)) => (host, tail.strip_prefix(':')),
            None => match address.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (address, None),
            },
        };
        if !host.is_empty() {
            uri.host = Some(decode(host)?);
        }
        if let Some(port) = port {
            uri.port = Some(
                port.parse()
                    .map_err(|_| usage(format!("{port:?} in the URI is not a port")))?,
            );
        }
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "socket" => uri.socket = Some(PathBuf::from(decode(value)?)),
                "ssl-mode" | "ssl_mode" => uri.ssl_mode = Some(ssl_mode(&decode(value)?)?),
                _ => {
                    return Err(usage(format!("unknown option {key:?} in the URI"))
                        .hint("the URI takes socket and ssl-mode"));
                }
            }
        }
        let elsewhere = uri.host.as_deref().is_some_and(|h| h != "localhost");
        if uri.socket.is_some() && (elsewhere || uri.port.is_some()) {
            return Err(usage(format!(
                "{text:?} names two servers: a socket is a place on this host without a port"
            ))
            .hint("write mysql://user@localhost/?socket=/path, or leave the socket out"));
        }
        Ok(uri)
    }
}

fn decode(text: &str) -> Result<String> {
    let bad = || usage(format!("{text:?} in the URI is not percent-encoded text"));
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b == b'%' {
            let hex = [bytes.next().ok_or_else(bad)?, bytes.next().ok_or_else(bad)?];
            let hex = std::str::from_utf8(&hex).map_err(|_| bad())?;
            out.push(u8::from_str_radix(hex, 16).map_err(|_| bad())?);
        } else {
            out.push(b);
        }
    }
    String::from_utf8(out).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris() {
        let u = Uri::parse("mysql://bob%40x@db.example:3307/?ssl-mode=required").unwrap();
        assert_eq!(u.user.as_deref(), Some("bob@x"));
        assert_eq!(
            (u.host.as_deref(), u.port),
            (Some("db.example"), Some(3307))
        );
        assert_eq!(u.ssl_mode, Some(values::SslMode::Required));
        let u = Uri::parse("mysql://root@localhost/?socket=/tmp/a%20b.sock").unwrap();
        assert_eq!(u.socket, Some(PathBuf::from("/tmp/a b.sock")));
        let u = Uri::parse("mysql://root@[::1]:3306").unwrap();
        assert_eq!((u.host.as_deref(), u.port), (Some("::1"), Some(3306)));
        assert!(Uri::parse("http://x").is_err());
        assert!(
            Uri::parse("mysql://u:p@h/")
                .unwrap_err()
                .what
                .contains("password")
        );
        assert!(Uri::parse("mysql://u@h/shop").is_err());
    }
}
