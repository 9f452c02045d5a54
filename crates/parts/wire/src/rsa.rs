//! The password under the server's RSA key, for logins without TLS.
//!
//! The key comes from the server before it proved anything, so the PEM and DER
//! readers here check every length (the codec crate's own panic on bad input),
//! and only keys of a sane size are used. The padding (OAEP with SHA-1, which
//! the protocol prescribes) and the arithmetic are `mysql_common`'s.

use crate::{Error, Result};
use mysql_common::crypto::rsa::{GetRandom, Pkcs1OaepPadding, PublicKey};
use mysql_common::num_bigint::BigUint;

/// Hash bytes and padding that OAEP with SHA-1 adds to a message.
const OAEP_OVERHEAD: usize = 42;

/// `password` and its NUL, masked with `scramble`, under the key of `pem`.
pub(crate) fn encrypt(password: &[u8], scramble: &[u8], pem: &[u8]) -> Result<Vec<u8>> {
    let (key, octets) = public_key(pem)
        .ok_or_else(|| Error::Auth("the server's RSA key is damaged or of an odd size".into()))?;
    if scramble.is_empty() || password.len() + 1 > octets - OAEP_OVERHEAD {
        return Err(Error::Auth(
            "the password is too long for the server's RSA key; use TLS".into(),
        ));
    }
    let masked: Vec<u8> = password
        .iter()
        .chain(&[0])
        .zip(scramble.iter().cycle())
        .map(|(p, s)| p ^ s)
        .collect();
    key.encrypt_block(&masked, Pkcs1OaepPadding::new(GetRandom))
        .map_err(|e| Error::Auth(format!("RSA: {e}")))
}

/// The key of a PEM text (PKCS#8 or PKCS#1) and its length in bytes.
fn public_key(pem: &[u8]) -> Option<(PublicKey, usize)> {
    let text = std::str::from_utf8(pem).ok()?;
    let body = |label: &str| {
        let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
        let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
        base64(body)
    };
    let der;
    let pkcs1 = if let Some(bytes) = body("PUBLIC KEY") {
        der = bytes;
        let (info, _) = element(&der, 0x30)?;
        let (_algorithm, rest) = element(info, 0x30)?;
        let (bits, _) = element(rest, 0x03)?;
        // The first byte counts unused bits, of which a key has none.
        bits.strip_prefix(&[0])?
    } else {
        der = body("RSA PUBLIC KEY")?;
        &der
    };
    let (numbers, _) = element(pkcs1, 0x30)?;
    let (modulus, rest) = element(numbers, 0x02)?;
    let (exponent, _) = element(rest, 0x02)?;
    let modulus = BigUint::from_bytes_be(modulus);
    let exponent = BigUint::from_bytes_be(exponent);
    let (bits, octets) = (modulus.bits(), usize::try_from(modulus.bits() / 8).ok()?);
    // Bounded, so that a rogue key can neither be trivial nor keep us computing.
    if !(1024..=8192).contains(&bits) || bits % 8 != 0 || !modulus.bit(0) {
        return None;
    }
    if exponent.bits() < 2 || exponent.bits() > 64 || !exponent.bit(0) {
        return None;
    }
    Some((PublicKey::new(modulus, exponent), octets))
}

/// The content of the DER element of this tag at the front, and what follows it.
pub(crate) fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    if found != tag {
        return None;
    }
    let (&first, rest) = rest.split_first()?;
    if first < 0x80 {
        return rest.split_at_checked(usize::from(first));
    }
    let (len, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
    if len.len() > 4 {
        return None;
    }
    let len = len.iter().fold(0usize, |n, &b| n << 8 | usize::from(b));
    rest.split_at_checked(len)
}

/// Plain base64 with white space in it.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut have) = (0u32, 0);
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace()) {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
            bits &= (1 << have) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A key of 2048 bits, as a MySQL server makes one for itself.
    const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----
";

    #[test]
    fn a_password_becomes_one_block() {
        let block = encrypt(b"secret", b"abcdefghijklmnopqrst", KEY.as_bytes()).expect("a block");
        assert_eq!(block.len(), 256);
        assert!(encrypt(&[b'x'; 214], b"abc", KEY.as_bytes()).is_err());
        assert!(encrypt(&[b'x'; 213], b"abc", KEY.as_bytes()).is_ok());
    }

    proptest! {
        #[test]
        fn damaged_keys_never_panic(at in 27usize..420, c in "[A-Za-z0-9+/= \n-]", cut in 0usize..500) {
            let mut pem = KEY.to_owned();
            pem.replace_range(at..at + 1, &c);
            let _ = encrypt(b"secret", b"abc", pem.as_bytes());
            pem.truncate(cut.min(pem.len()));
            pem.push_str("-----END PUBLIC KEY-----");
            let _ = encrypt(b"secret", b"abc", pem.as_bytes());
        }

        #[test]
        fn random_der_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for tag in [0x02, 0x03, 0x30] {
                let _ = element(&bytes, tag);
            }
        }
    }
}
