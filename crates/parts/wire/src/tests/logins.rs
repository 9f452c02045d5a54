//! Greetings and proofs of identity, step by step.

use super::rogue;
use crate::auth::{Channel, Plugin, Step};
use crate::rogue::{Reply, Script, capabilities, greeting};
use crate::{Conn, Error, SslMode};
use base::Secret;
use mysql_common::constants::CapabilityFlags as Caps;

const PLAIN: Channel = Channel {
    tls: false,
    unix: false,
    ask_key: false,
};
const TLS: Channel = Channel {
    tls: true,
    unix: false,
    ask_key: false,
};
const UNIX: Channel = Channel {
    tls: false,
    unix: true,
    ask_key: false,
};
const SCRAMBLE: &[u8] = b"abcdefghijklmnopqrst";

fn say(payload: &[u8]) -> Script {
    Script::new(|_| Reply::Close).login(Reply::Packets(vec![payload.to_vec()]))
}

fn refusal(script: Script) -> String {
    let rogue = rogue(script);
    let mut options = rogue.options();
    options.password = Some(Secret::new("canary-4711"));
    let e = Conn::connect(&options).expect_err("refused");
    assert!(!String::from_utf8_lossy(&rogue.heard()).contains("canary"));
    e.to_string()
}

#[test]
fn plugins_that_are_not_spoken_are_named() {
    assert!(
        refusal(say(b"\xFEauthentication_ldap_sasl_client\0x"))
            .contains("\"authentication_ldap_sasl_client\"")
    );
    assert!(refusal(say(b"\xFEmysql_clear_password\0")).contains("mysql_clear_password"));
    assert!(refusal(say(b"\xFEmysql_old_password\0abcdefgh")).contains("4.1"));
    assert!(refusal(say(b"\xFE")).contains("4.1"));
    assert!(refusal(say(b"\xFEparsec\0x")).contains("\"parsec\""));
}

#[test]
fn an_unknown_default_plugin_is_no_reason_to_give_up() {
    let script = Script::new(|_| Reply::Ok(0, String::new())).greeting(greeting(
        "9.9.9",
        "some_new_default",
        capabilities(),
    ));
    let rogue = rogue(script);
    Conn::connect(&rogue.options()).expect("let in");
}

#[test]
fn versions_and_ids_come_from_the_greeting() {
    for (sent, shown) in [
        (
            "5.5.5-10.11.19-MariaDB-0+deb12u1",
            "10.11.19-MariaDB-0+deb12u1",
        ),
        ("5.5.5-m3", "5.5.5-m3"),
        ("9.7.4", "9.7.4"),
    ] {
        let script = Script::new(|_| Reply::Close).greeting(greeting(sent, "", capabilities()));
        let rogue = rogue(script);
        let conn = Conn::connect(&rogue.options()).expect("in");
        assert_eq!((conn.server_version(), conn.id()), (shown, 7));
        assert!(!conn.is_tls());
    }
}

#[test]
fn a_server_without_plugins_is_logged_in_to() {
    let caps = capabilities()
        - Caps::CLIENT_PLUGIN_AUTH
        - Caps::CLIENT_CONNECT_ATTRS
        - Caps::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
    let script = Script::new(|_| Reply::Ok(1, String::new())).greeting(greeting("5.5.1", "", caps));
    let rogue = rogue(script);
    let mut options = rogue.options();
    options.password = Some(Secret::new("x"));
    let mut conn = Conn::connect(&options).expect("in");
    assert_eq!(conn.execute("q").expect("done").affected, 1);
    // Name, NUL, 20 bytes of hash behind their length, and nothing more.
    let login = &rogue.heard()[4 + 32..];
    assert_eq!(&login[..6], b"test\0\x14");
    assert_eq!(login[26..30], [2, 0, 0, 0]);
}

#[test]
fn errors_before_the_greeting_are_typed() {
    let rogue =
        rogue(Script::new(|_| Reply::Close).greeting(b"\xFF\x10\x04Too many connections".to_vec()));
    assert_eq!(
        Conn::connect(&rogue.options()).expect_err("full").code(),
        Some(1040)
    );
}

#[test]
fn local_files_and_multi_statements_are_not_announced() {
    for local in [false, true] {
        let rogue = rogue(Script::new(|_| Reply::Close));
        let mut options = rogue.options();
        options.local_infile = local;
        Conn::connect(&options).expect("in");
        let heard = rogue.heard();
        let caps =
            Caps::from_bits_retain(u32::from_le_bytes([heard[4], heard[5], heard[6], heard[7]]));
        assert_eq!(caps.contains(Caps::CLIENT_LOCAL_FILES), local);
        assert!(!caps.intersects(
            Caps::CLIENT_MULTI_STATEMENTS
                | Caps::CLIENT_MULTI_RESULTS
                | Caps::CLIENT_PS_MULTI_RESULTS
        ));
    }
}

#[test]
fn tls_that_is_demanded_is_never_done_without() {
    for mode in [
        SslMode::Required,
        SslMode::VerifyCa,
        SslMode::VerifyIdentity,
    ] {
        let rogue = rogue(Script::new(|_| Reply::Ok(0, String::new())));
        let mut options = rogue.options();
        options.ssl_mode = mode;
        assert!(matches!(Conn::connect(&options), Err(Error::Tls(_))));
        assert!(rogue.heard().is_empty());
    }
}

#[test]
fn tls_that_is_offered_and_fails_is_an_error() {
    // Announces TLS, and then answers the handshake with rubbish.
    let script = Script::new(|_| Reply::Ok(0, String::new())).greeting(greeting(
        "8.4.0",
        "mysql_native_password",
        capabilities() | Caps::CLIENT_SSL,
    ));
    let rogue = crate::rogue::Rogue::tcp(script).expect("a port");
    let mut options = rogue.options();
    options.ssl_mode = SslMode::Preferred;
    options.password = Some(Secret::new("canary-4711"));
    let got = Conn::connect(&options);
    assert!(matches!(got, Err(Error::Tls(_) | Error::Io(_))), "{got:?}");
    // The account's name travels inside TLS or not at all.
    assert!(!rogue.heard().windows(4).any(|w| w == b"test"));
}

#[test]
fn a_login_without_end_is_ended() {
    let again = vec![b"\xFEmysql_native_password\0abcdefghijklmnopqrst\0".to_vec()];
    let rogue = rogue(
        Script::new(|_| Reply::Close).login(Reply::Raw(
            (0..100u8)
                .flat_map(|i| crate::rogue::frame(&again, 2 + 2 * i))
                .collect(),
        )),
    );
    let got = Conn::connect(&rogue.options());
    assert!(matches!(got, Err(Error::Protocol(_))), "{got:?}");
}

#[test]
fn passwords_travel_in_clear_only_where_nobody_listens() {
    let p = b"secret";
    let clear = Step::Send(b"secret\0".to_vec());
    let sha2 = Plugin::CachingSha2;
    assert_eq!(sha2.more(&[4], SCRAMBLE, p, TLS).expect("a step"), clear);
    assert_eq!(sha2.more(&[4], SCRAMBLE, p, UNIX).expect("a step"), clear);
    // Over a plain connection not even under the server's key, unless that was asked for.
    for refused in [
        sha2.more(&[4], SCRAMBLE, p, PLAIN).map(drop),
        Plugin::Sha256.answer(SCRAMBLE, p, PLAIN).map(drop),
    ] {
        assert!(matches!(refused, Err(Error::Auth(_))), "{refused:?}");
    }
    let asking = Channel {
        ask_key: true,
        ..PLAIN
    };
    assert_eq!(
        sha2.more(&[4], SCRAMBLE, p, asking).expect("a step"),
        Step::Send(vec![2])
    );
    assert_eq!(
        sha2.more(&[3], SCRAMBLE, p, PLAIN).expect("a step"),
        Step::Wait
    );
    assert_eq!(
        Plugin::Sha256.answer(SCRAMBLE, p, TLS).expect("an answer"),
        b"secret\0"
    );
    assert_eq!(
        Plugin::Sha256.answer(SCRAMBLE, p, UNIX).expect("an answer"),
        [1]
    );
    for plugin in [Plugin::Native, sha2, Plugin::Sha256] {
        assert!(
            plugin
                .answer(SCRAMBLE, b"", PLAIN)
                .expect("an answer")
                .is_empty()
        );
        assert!(plugin.answer(b"short", p, PLAIN).is_err());
    }
    assert!(Plugin::Native.more(&[4], SCRAMBLE, p, TLS).is_err());
    assert!(Plugin::Ed25519.answer(SCRAMBLE, p, PLAIN).is_err());
}

#[test]
fn a_server_is_not_verified_without_an_authority() {
    for mode in [SslMode::VerifyCa, SslMode::VerifyIdentity] {
        let rogue = rogue(
            Script::new(|_| Reply::Ok(0, String::new())).greeting(greeting(
                "8.4.0",
                "mysql_native_password",
                capabilities() | Caps::CLIENT_SSL,
            )),
        );
        let mut options = rogue.options();
        options.ssl_mode = mode;
        let got = Conn::connect(&options);
        assert!(matches!(got, Err(Error::Untrusted(_))), "{got:?}");
    }
}
