//! The login of a replica: one account, and a scramble that is used once.

use super::account::{Account, random};
use super::pipe::Pipe;
use crate::packets::{self, error};
use crate::payload::Cursor;
use crate::{Error, Result};
use mysql_common::auth::plugins::{
    caching_sha2_password::scramble_sha256, mysql_native_password::scramble_native,
};
use mysql_common::constants::CapabilityFlags as Caps;
use std::io;
use std::time::Duration;

/// How long a client may take for each packet of its login.
const PATIENCE: Duration = Duration::from_secs(10);
const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";

/// What every replica has. Without the newer form of the end of rows, which replicas of all versions understand.
fn capabilities() -> Caps {
    Caps::CLIENT_LONG_PASSWORD
        | Caps::CLIENT_LONG_FLAG
        | Caps::CLIENT_PROTOCOL_41
        | Caps::CLIENT_TRANSACTIONS
        | Caps::CLIENT_SECURE_CONNECTION
        | Caps::CLIENT_PLUGIN_AUTH
        | Caps::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | Caps::CLIENT_CONNECT_ATTRS
}

/// What a client says of itself.
struct Response {
    user: Vec<u8>,
    proof: Vec<u8>,
    plugin: Vec<u8>,
}

/// Greets, and lets only the account in. MySQL's replicas get the plugin that their clients have built in, and
/// MariaDB's theirs; neither needs TLS for it, because the proof is a hash over the scramble.
pub(super) fn login(pipe: &mut Pipe, version: &str, id: u32, account: &Account) -> io::Result<()> {
    let plugin = if version.contains("MariaDB") {
        NATIVE
    } else {
        CACHING
    };
    let mut scramble = random_scramble()?;
    pipe.seq = 0;
    let greeting = packets::greeting_of(version, plugin, capabilities(), id, &scramble);
    pipe.reply(&[greeting])?;
    let said = pipe.receive(Some(PATIENCE))?;
    let mut response = parse(&said).map_err(io::Error::other)?;
    if response.plugin != plugin.as_bytes() {
        scramble = random_scramble()?;
        let mut change = vec![0xFE];
        change.extend_from_slice(plugin.as_bytes());
        change.push(0);
        change.extend_from_slice(&scramble);
        change.push(0);
        pipe.reply(&[change])?;
        response.proof = pipe.receive(Some(PATIENCE))?;
    }
    let password = account.password.reveal().as_bytes();
    let expected: Option<Vec<u8>> = if plugin == NATIVE {
        scramble_native(&scramble, password).map(Vec::from)
    } else {
        scramble_sha256(&scramble, password).map(Vec::from)
    };
    let known = response.user == account.user.as_bytes();
    if !known || expected.is_none_or(|e| e != response.proof) {
        pipe.reply(&[error(
            1045,
            "access denied: only the replica that is being restored may connect",
        )])?;
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "a login as {:?} was refused",
                String::from_utf8_lossy(&response.user)
            ),
        ));
    }
    if plugin == CACHING {
        // The hash is known, so nothing else has to be exchanged.
        pipe.reply(&[[1, 3]])?;
        pipe.seq = pipe.seq.wrapping_add(1);
    }
    pipe.reply(&[packets::ok(0, 0, "")])
}

fn parse(payload: &[u8]) -> Result<Response> {
    let mut c = Cursor::new(payload, "the login");
    let caps = Caps::from_bits_retain(c.u32()?);
    if !caps.contains(Caps::CLIENT_PROTOCOL_41 | Caps::CLIENT_SECURE_CONNECTION) {
        return Err(Error::Protocol(
            "the client is older than the protocol spoken here".into(),
        ));
    }
    c.take(4 + 1 + 23)?;
    let user = c.until_nul().to_vec();
    let proof = if caps.contains(Caps::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
        c.text()?.to_vec()
    } else {
        let len = usize::from(c.u8()?);
        c.take(len)?.to_vec()
    };
    if caps.contains(Caps::CLIENT_CONNECT_WITH_DB) {
        c.until_nul();
    }
    let plugin = if caps.contains(Caps::CLIENT_PLUGIN_AUTH) {
        c.until_nul().to_vec()
    } else {
        NATIVE.as_bytes().to_vec()
    };
    Ok(Response {
        user,
        proof,
        plugin,
    })
}

/// Twenty random bytes, none of which is zero: a zero ends the scramble.
fn random_scramble() -> io::Result<[u8; 20]> {
    let mut bytes = [0; 20];
    random(&mut bytes)?;
    for b in &mut bytes {
        *b = *b % 127 + 1;
    }
    Ok(bytes)
}
