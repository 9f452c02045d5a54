//! The URL of a directory on another host: `ssh://USER@HOST:PORT/PATH`.
//!
//! The path is absolute; `/~/` at its start is the account's home directory.

use super::{SshDirectory, session};
use crate::Result;
use crate::invalid::Invalid;
use base::RateLimiter;
use std::fmt;
use std::sync::Arc;

/// A directory of another host, as named by a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshPlace {
    scheme: String,
    pub(super) user: Option<String>,
    /// A name, an address, or an alias of the ssh configuration.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// As in the URL: begins with a slash and does not end with one.
    path: String,
}

impl SshPlace {
    /// Whether the other is a place of the same account, reached in the same way.
    pub(super) fn same_account(&self, other: &Self) -> bool {
        (&self.user, &self.host, self.port) == (&other.user, &other.host, other.port)
    }

    /// Reads what follows `scheme://`.
    pub(crate) fn parse(scheme: &str, rest: &str) -> Result<Self, Invalid> {
        let form = format!(
            "the form is {scheme}://USER@HOST/PATH, and {scheme}://USER@HOST/~/PATH for the home directory"
        );
        let invalid = |what: &str| Invalid::new(what, form.clone());
        let Some((authority, path)) = rest.split_once('/') else {
            return Err(invalid("the URL has no path"));
        };
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        if user.is_some_and(|u| u.contains(':')) {
            return Err(Invalid::new(
                "a password in the URL would be seen by others",
                "ssh uses your key or agent, or asks for the password itself",
            ));
        }
        let (host, port) = match address.strip_prefix('[').and_then(|a| a.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, port.strip_prefix(':').or(Some(port))),
            None => match address.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (address, None),
            },
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return Err(invalid("the port is not a number from 1 to 65535")),
        };
        // A name that begins with a dash would be an option of ssh.
        let plain = |s: &str| {
            !s.is_empty()
                && !s.starts_with('-')
                && !s.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        if !plain(host) || host.contains(['[', ']']) {
            return Err(invalid("the name of the host is not one"));
        }
        if user.is_some_and(|u| !plain(u)) {
            return Err(invalid("the name of the user is not one"));
        }
        if path.contains('?') {
            return Err(invalid(
                "nothing can be set in the URL of a host; ssh has its own configuration",
            ));
        }
        if path.contains(char::is_control) {
            return Err(invalid("the path has control characters"));
        }
        let path = path.trim_end_matches('/');
        if path.is_empty() || path == "~" {
            return Err(invalid("the URL has no path"));
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port,
            path: format!("/{path}"),
        })
    }

    pub(crate) fn join(&self, name: &str) -> Self {
        let path = format!("{}/{name}", self.path);
        Self {
            path,
            ..self.clone()
        }
    }

    /// The place of this name beside this one.
    pub(crate) fn beside(&self, name: &str) -> Option<Self> {
        let (above, _) = self.path.rsplit_once('/')?;
        Some(Self {
            path: format!("{above}/{name}"),
            ..self.clone()
        })
    }

    /// The path as the far side understands it.
    pub(super) fn remote_path(&self) -> &str {
        // A relative path begins in the home directory.
        self.path.strip_prefix("/~/").unwrap_or(&self.path)
    }

    /// Who is contacted, in words.
    pub(super) fn host_words(&self) -> String {
        let mut words = base::units::printable(&self.host);
        if let Some(port) = self.port {
            words = format!("{words}, port {port}");
        }
        words
    }

    /// Connects, and looks for the directory.
    pub(crate) fn open(&self, limiter: Option<&Arc<RateLimiter>>) -> Result<SshDirectory> {
        session::connect(self, limiter, false)
    }

    /// Connects, and makes the directory, with what is missing above it.
    pub(crate) fn create(&self, limiter: Option<&Arc<RateLimiter>>) -> Result<SshDirectory> {
        session::connect(self, limiter, true)
    }
}

impl fmt::Display for SshPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if let Some(user) = &self.user {
            write!(f, "{}@", base::units::printable(user))?;
        }
        let host = base::units::printable(&self.host);
        if self.host.contains(':') {
            write!(f, "[{host}]")?;
        } else {
            write!(f, "{host}")?;
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        write!(f, "{}", base::units::printable(&self.path))
    }
}
