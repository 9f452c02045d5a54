//! Types of MariaDB that are written in another way than they are kept: UUID,
//! and addresses of networks.

use super::Wrong;

/// Bytes of a UUID.
const BYTES: usize = 16;

/// A UUID in its usual form.
pub fn uuid(text: &[u8], out: &mut Vec<u8>) -> Result<(), Wrong> {
    let wrong = || Wrong("UUID");
    let mut bytes = [0; BYTES];
    let mut digits = text.iter().enumerate().filter_map(|(at, c)| match at {
        8 | 13 | 18 | 23 => None,
        _ => Some(char::from(*c).to_digit(16)),
    });
    for byte in &mut bytes {
        let (Some(Some(high)), Some(Some(low))) = (digits.next(), digits.next()) else {
            return Err(wrong());
        };
        *byte = (high << 4 | low) as u8;
    }
    let dashes = [8, 13, 18, 23]
        .iter()
        .all(|at| text.get(*at) == Some(&b'-'));
    if !dashes || digits.next().is_some() {
        return Err(wrong());
    }
    // Those of the versions that begin with the lowest part of the time, 1 to 5 in the variant that has versions,
    // are kept from the last part to the first, so that they are in order of time.
    if (1..0x60).contains(&bytes[6]) && bytes[8] & 0x80 != 0 {
        for part in [10..16, 8..10, 6..8, 4..6, 0..4] {
            out.extend_from_slice(&bytes[part]);
        }
    } else {
        out.extend_from_slice(&bytes);
    }
    Ok(())
}

/// INET4 and INET6.
pub fn inet<A: std::str::FromStr, const N: usize>(
    text: &[u8],
    octets: impl Fn(&A) -> [u8; N],
    out: &mut Vec<u8>,
) -> Result<(), Wrong> {
    let text = std::str::from_utf8(text).ok();
    let address = text.and_then(|text| text.parse::<A>().ok());
    out.extend_from_slice(&octets(&address.ok_or(Wrong("address"))?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> Option<String> {
        let mut out = Vec::new();
        uuid(text.as_bytes(), &mut out).ok()?;
        Some(out.iter().map(|b| format!("{b:02x}")).collect())
    }

    /// As MariaDB 10.11.19 keeps them.
    #[test]
    fn uuids_are_turned_round_if_they_begin_with_the_lowest_part_of_the_time() {
        for (text, wanted) in [
            ("0177-8899", "aabbccddeeff88990177445500112233"),
            ("5F77-b899", "aabbccddeeffb8995f77445500112233"),
            ("4677-0899", "00112233445546770899aabbccddeeff"),
            ("0077-8899", "00112233445500778899aabbccddeeff"),
            ("6077-8899", "00112233445560778899aabbccddeeff"),
            ("7677-b899", "0011223344557677b899aabbccddeeff"),
            ("f677-b899", "001122334455f677b899aabbccddeeff"),
        ] {
            let text = format!("00112233-4455-{text}-aabbccddeeff");
            assert_eq!(stored(&text).as_deref(), Some(wanted), "{text}");
        }
        for text in [
            "",
            "00112233-4455-6677-8899-aabbccddeef",
            "00112233-4455-6677-8899-aabbccddeeff0",
            "00112233-4455-6677-8899-aabbccddeefg",
            "00112233x4455-6677-8899-aabbccddeeff",
            "00112233445566778899aabbccddeeff----",
        ] {
            assert_eq!(stored(text), None, "{text}");
        }
    }
}
