//! The manifest's last lines: the digest of every byte before them.
//!
//! The digest is over the text as it is rather than over what the text
//! means, so that any version of penstock can check it and no byte of the file
//! is left out.

const BEFORE: &str = ",\n    \"manifest_blake3\": \"";
const AFTER: &str = "\"\n}\n";
const HEX: usize = 64;

/// Adds the seal to a JSON object that was written with an indent of four.
pub(super) fn seal(json: &str) -> String {
    let body = json.strip_suffix("\n}").unwrap_or(json);
    let digest = blake3::hash(body.as_bytes()).to_hex();
    format!("{body}{BEFORE}{digest}{AFTER}")
}

/// Whether the bytes end with the seal of what is before it.
pub(super) fn intact(bytes: &[u8]) -> bool {
    let body = || {
        let rest = bytes.strip_suffix(AFTER.as_bytes())?;
        let (rest, digest) = rest.split_at_checked(rest.len().checked_sub(HEX)?)?;
        let body = rest.strip_suffix(BEFORE.as_bytes())?;
        (blake3::hash(body).to_hex().as_bytes() == digest).then_some(())
    };
    body().is_some()
}
