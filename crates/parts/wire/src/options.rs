//! How to reach a server, and as which account. Where these come from (URI, flags,
//! option files) is up to the crate `cli`.

use crate::Limited;
use base::Secret;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Host name or address, and port.
    Tcp(String, u16),
    /// Path of a unix socket.
    Unix(PathBuf),
}

/// The mysql client's `--ssl-mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SslMode {
    /// Never TLS.
    Disabled,
    /// TLS when the server offers it; plain otherwise (the client's own default).
    #[default]
    Preferred,
    /// TLS or no connection; the certificate is not checked.
    Required,
    /// TLS, and the certificate must chain to `ssl_ca`.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must name the host.
    VerifyIdentity,
}

impl SslMode {
    /// The mode when none was given: a file of authorities means that it is to be
    /// used, as it does to the mysql client.
    pub fn implied(ca_given: bool) -> SslMode {
        if ca_given {
            SslMode::VerifyCa
        } else {
            SslMode::Preferred
        }
    }
}

/// Everything needed to open a connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where.
    pub endpoint: Endpoint,
    /// Account name.
    pub user: String,
    /// Password; `None` sends an empty one.
    pub password: Option<Secret>,
    /// Whether and how strictly TLS is used. Unix sockets never use TLS unless `Required` or stricter asks for it.
    pub ssl_mode: SslMode,
    /// PEM file of trusted certificate authorities.
    pub ssl_ca: Option<PathBuf>,
    /// PEM file of the client certificate.
    pub ssl_cert: Option<PathBuf>,
    /// PEM file of the client certificate's key.
    pub ssl_key: Option<PathBuf>,
    /// Without TLS or a unix socket, take the RSA key for the password from the
    /// server itself, unverified (the mysql client's option of that name).
    pub get_server_public_key: bool,
    /// Longest wait for the connection and the login.
    pub connect_timeout: Duration,
    /// Longest silence of the server in the middle of an answer; `None` waits forever.
    /// The wait for the beginning of an answer is not bounded: statements take their time.
    pub read_timeout: Option<Duration>,
    /// Longest wait for the beginning of an answer; `None` waits forever. For short
    /// statements that check whether the server is alive.
    pub answer_timeout: Option<Duration>,
    /// Longest time a write may be stuck.
    pub write_timeout: Option<Duration>,
    /// Whether this connection will run LOAD DATA LOCAL INFILE.
    pub local_infile: bool,
    /// The limiter of its bytes, if they are counted at all.
    pub limited: Option<Limited>,
    /// Statements sent by all connections that are made from these options or a clone of them.
    pub statements: Arc<AtomicU64>,
}

impl Options {
    /// Options with the defaults for `endpoint` and `user`: no password, TLS preferred, 10 s to connect.
    pub fn new(endpoint: Endpoint, user: impl Into<String>) -> Self {
        Self {
            endpoint,
            user: user.into(),
            password: None,
            ssl_mode: SslMode::default(),
            ssl_ca: None,
            ssl_cert: None,
            ssl_key: None,
            get_server_public_key: false,
            connect_timeout: Duration::from_secs(10),
            read_timeout: None,
            answer_timeout: None,
            write_timeout: None,
            local_infile: false,
            limited: None,
            statements: Arc::default(),
        }
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Tcp(host, port) => write!(f, "{host}:{port}"),
            Endpoint::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
