//! Authentication: one function per plugin and step.
//!
//! The hashes are `mysql_common`'s. A password is sent in clear only inside TLS
//! or a unix socket, as the mysql client does it; `mysql_clear_password` and the
//! hash of before 4.1 are refused. The server chooses the plugin, never whether
//! these rules hold.

use crate::{Error, Result, rsa};
use mysql_common::auth::plugins::{
    ChallengeResponsePlugin, Context, Response, caching_sha2_password::scramble_sha256,
    client_ed25519::ClientEd25519, mysql_native_password::scramble_native,
};

/// A plugin that this client supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plugin {
    Native,
    CachingSha2,
    Sha256,
    Ed25519,
}

/// How far others can listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) tls: bool,
    pub(crate) unix: bool,
    /// The user allows the server's key without verification.
    pub(crate) ask_key: bool,
}

impl Channel {
    /// Whether the password may be sent under a key that the server itself
    /// sends: an attacker in between could send another one.
    fn may_ask_key(self) -> Result<()> {
        if self.unix || self.ask_key {
            return Ok(());
        }
        Err(Error::Auth(
            "the account's plugin needs a secure connection: use TLS or a unix socket, \
             or accept the server's key unproven (--get-server-public-key)"
                .to_owned(),
        ))
    }
}

/// What to do after another packet of the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send this.
    Send(Vec<u8>),
    /// Wait for the server's verdict.
    Wait,
}

impl Plugin {
    /// The plugin of this name; the reason when it is not supported.
    pub(crate) fn named(name: &[u8]) -> Result<Plugin> {
        Ok(match name {
            b"mysql_native_password" => Plugin::Native,
            b"caching_sha2_password" => Plugin::CachingSha2,
            b"sha256_password" => Plugin::Sha256,
            b"client_ed25519" => Plugin::Ed25519,
            b"mysql_old_password" => {
                return Err(Error::Auth(
                    "the account has a password hash from before MySQL 4.1 (mysql_old_password), which protects nothing; set its password again".into(),
                ));
            }
            b"mysql_clear_password" => {
                return Err(Error::Auth(
                    "the server asks for the password in clear (mysql_clear_password), which is never sent".into(),
                ));
            }
            other => {
                return Err(Error::Auth(format!(
                    "the account uses the authentication plugin {:?}, which is not known here",
                    String::from_utf8_lossy(other)
                )));
            }
        })
    }

    /// Its name in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::Sha256 => "sha256_password",
            Plugin::Ed25519 => "client_ed25519",
        }
    }

    /// The first answer to `scramble`.
    pub(crate) fn answer(
        self,
        scramble: &[u8],
        password: &[u8],
        channel: Channel,
    ) -> Result<Vec<u8>> {
        let wrong = || {
            Error::Protocol(format!(
                "the scramble for {} has {} bytes",
                self.name(),
                scramble.len()
            ))
        };
        if self == Plugin::Ed25519 {
            if scramble.len() != 32 {
                return Err(wrong());
            }
            let reply = ClientEd25519::default()
                .run(Only(password), scramble)
                .map_err(|e| Error::Auth(format!("client_ed25519: {e}")))?;
            return Ok(match reply {
                Response::Next { packet } | Response::Last { packet } => packet.unwrap_or_default(),
            });
        }
        let scramble: &[u8; 20] = scramble.try_into().map_err(|_| wrong())?;
        if password.is_empty() {
            return Ok(Vec::new());
        }
        Ok(match self {
            Plugin::Native => scramble_native(scramble, password)
                .map(Vec::from)
                .unwrap_or_default(),
            Plugin::CachingSha2 => scramble_sha256(scramble, password)
                .map(Vec::from)
                .unwrap_or_default(),
            Plugin::Sha256 if channel.tls => in_clear(password),
            // 1 asks for the server's key.
            _ => {
                channel.may_ask_key()?;
                vec![1]
            }
        })
    }

    /// The reaction to further data of the plugin's server half.
    pub(crate) fn more(
        self,
        data: &[u8],
        scramble: &[u8],
        password: &[u8],
        channel: Channel,
    ) -> Result<Step> {
        match (self, data) {
            (Plugin::CachingSha2, [3]) => Ok(Step::Wait),
            (Plugin::CachingSha2, [4]) if channel.tls || channel.unix => {
                Ok(Step::Send(in_clear(password)))
            }
            // 2 asks for the server's key.
            (Plugin::CachingSha2, [4]) => channel.may_ask_key().map(|()| Step::Send(vec![2])),
            (Plugin::CachingSha2 | Plugin::Sha256, pem) if pem.starts_with(b"-----") => {
                Ok(Step::Send(rsa::encrypt(password, scramble, pem)?))
            }
            _ => Err(Error::Protocol(format!(
                "data that {} does not know",
                self.name()
            ))),
        }
    }
}

fn in_clear(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// What `mysql_common` asks of its caller; the ed25519 plugin only wants the password.
struct Only<'a>(&'a [u8]);

impl Context for Only<'_> {
    fn pass(&self) -> &[u8] {
        self.0
    }

    fn is_ipc_transport(&self) -> bool {
        false
    }

    fn is_tls_transport(&self) -> bool {
        false
    }

    fn scramble(&self) -> &[u8] {
        &[]
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}
