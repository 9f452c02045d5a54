//! Connection options that would have no effect beside the others: each that was typed is refused. What stands in an
//! option file is for all of the mysql client's calls, and is passed over where it does not apply.

use super::usage;
use crate::args::connection::Connection;
use base::Result;
use wire::{Endpoint, Options, SslMode};

/// Refuses what was typed and does not apply to this server.
pub(super) fn refuse(typed: &Connection, meant: &Options) -> Result<()> {
    let socket = matches!(meant.endpoint, Endpoint::Unix(_));
    let (mode, encrypted, verified) = match meant.ssl_mode {
        SslMode::Disabled => ("disabled", false, false),
        SslMode::Preferred => ("preferred", !socket, false),
        SslMode::Required => ("required", true, false),
        SslMode::VerifyCa => ("verify_ca", true, true),
        SslMode::VerifyIdentity => ("verify_identity", true, true),
    };
    if typed.ssl_ca.is_some() && !verified {
        return Err(usage(format!(
            "--ssl-ca names authorities, and with the ssl mode {mode} the server's certificate is not compared with them"
        ))
        .hint("add --ssl-mode verify_ca or verify_identity, or leave --ssl-ca out"));
    }
    let certificate = [
        ("--ssl-cert", typed.ssl_cert.is_some()),
        ("--ssl-key", typed.ssl_key.is_some()),
    ];
    for (option, _) in certificate.iter().filter(|(_, typed)| *typed) {
        if !encrypted {
            let why = match socket && mode == "preferred" {
                true => "a connection through a socket is not encrypted".to_owned(),
                false => format!("the ssl mode is {mode}"),
            };
            return Err(usage(format!("{option} is for TLS, and {why}"))
                .hint("add --ssl-mode required, or leave --ssl-cert and --ssl-key out"));
        }
        if meant.ssl_cert.is_some() != meant.ssl_key.is_some() {
            return Err(usage(format!(
                "{option} is given alone: a certificate and its key are only good together"
            ))
            .hint("add both, --ssl-cert and --ssl-key"));
        }
    }
    if typed.get_server_public_key && (socket || encrypted && mode != "preferred") {
        let why = match socket {
            true => "through a socket no key is needed".to_owned(),
            false => format!("with the ssl mode {mode} it is always encrypted"),
        };
        return Err(usage(format!(
            "--get-server-public-key is for a password without TLS, and {why}"
        ))
        .hint("leave it out"));
    }
    Ok(())
}
