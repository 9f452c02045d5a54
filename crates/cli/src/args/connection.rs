//! Which server: the mysql client's own options. `settings::connection` puts them together with
//! URIs, option files and the environment.

use super::values::SslMode;
use clap::ArgAction;
use std::path::PathBuf;

/// The mysql client's connection options, and `--help`, of which they take the short form.
#[derive(clap::Args, Debug, Clone, Default)]
#[command(
    next_help_heading = "Connection (the mysql client's options; -h is the host, --help is help)"
)]
pub struct Connection {
    /// Print help (-h is the host, as in the mysql client)
    #[arg(long, action = ArgAction::Help, help_heading = None)]
    pub help: Option<bool>,
    /// Host name or address of the server
    #[arg(short = 'h', long, value_name = "NAME")]
    pub host: Option<String>,
    /// TCP port [default: 3306]
    #[arg(short = 'P', long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Unix socket of the server [default: the usual places, if no host is named]
    #[arg(short = 'S', long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Account name [default: the system user's]
    #[arg(short = 'u', long, value_name = "NAME")]
    pub user: Option<String>,
    /// Ask for the password on the terminal; it is never taken from the command line
    #[arg(short = 'p', long, num_args = 0..=1, require_equals = true, value_name = "REFUSED", default_missing_value = "")]
    pub password: Option<String>,
    /// Read the password from this open file descriptor
    #[arg(long, value_name = "N", conflicts_with = "password")]
    pub password_fd: Option<i32>,
    /// Read only this option file
    #[arg(long, value_name = "FILE")]
    pub defaults_file: Option<PathBuf>,
    /// Read this option file in addition to the usual ones
    #[arg(long, value_name = "FILE", conflicts_with = "defaults_file")]
    pub defaults_extra_file: Option<PathBuf>,
    /// Also read option groups whose names end with this: _prod reads [client_prod]
    #[arg(long, value_name = "TEXT")]
    pub defaults_group_suffix: Option<String>,
    /// Read no option file
    #[arg(long, conflicts_with_all = ["defaults_file", "defaults_extra_file", "defaults_group_suffix"])]
    pub no_defaults: bool,
    /// Use of TLS [default: preferred; verify_ca with --ssl-ca]
    #[arg(long, value_name = "MODE", ignore_case = true)]
    pub ssl_mode: Option<SslMode>,
    /// Certificate authorities to trust (PEM)
    #[arg(long, value_name = "FILE")]
    pub ssl_ca: Option<PathBuf>,
    /// Client certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub ssl_cert: Option<PathBuf>,
    /// Key of the client certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub ssl_key: Option<PathBuf>,
    /// Without TLS, accept the server's public key for the password without a proof that it is the
    /// server's
    #[arg(long)]
    pub get_server_public_key: bool,
    /// Seconds to wait for a connection [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub connect_timeout: Option<u64>,
}
