//! UUID, INET4 and INET6 of MariaDB.

use crate::Broken;
use crate::cell::Short;

/// Parts of a UUID, from the first to the last: where each begins in it, where in the stored bytes if they are turned round, and
/// its bytes.
const PARTS: [(usize, usize, usize); 5] =
    [(0, 12, 4), (4, 10, 2), (6, 8, 2), (8, 6, 2), (10, 0, 6)];

/// Groups of 16 bits of an IPv6 address.
const GROUPS: usize = 8;

fn hexadecimal(nibble: u8) -> u8 {
    b"0123456789abcdef"[usize::from(nibble & 0xf)]
}

/// A UUID. Versions 1 to 5 are stored from the last part to the first, so that those of one host lie together, and others as they
/// are; `turned` says that all are stored that way, as before MariaDB 10.11.5.
pub fn uuid(stored: &[u8], turned: bool, out: &mut Vec<u8>) -> Result<(), Broken> {
    if stored.len() != 16 {
        return Err(Broken("UUID of this length"));
    }
    // The variant's first bit where it is after turning, and a version where the variant would be otherwise: the
    // servers' own condition, `Type_handler_uuid_new`.
    let turned = turned || stored[6] & 0x80 != 0 && (1..=0x80).contains(&stored[8]);
    let mut text = Short::<40>::new();
    for (at, from, bytes) in PARTS {
        if at > 0 {
            text.byte(b'-');
        }
        let from = if turned { from } else { at };
        for byte in &stored[from..from + bytes] {
            text.byte(hexadecimal(byte >> 4));
            text.byte(hexadecimal(*byte));
        }
    }
    text.put(out);
    Ok(())
}

/// An IPv4 address.
pub fn inet4(stored: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
    let [_, _, _, _] = stored else {
        return Err(Broken("INET4 of this length"));
    };
    let mut text = Short::<24>::new();
    dotted(stored, &mut text);
    text.put(out);
    Ok(())
}

fn dotted<const N: usize>(stored: &[u8], text: &mut Short<N>) {
    for (n, byte) in stored.iter().enumerate() {
        if n > 0 {
            text.byte(b'.');
        }
        text.number((*byte).into());
    }
}

/// An IPv6 address: the first of the longest runs of zero groups, even of one, is `::`; the last two groups are written as IPv4
/// after six groups of zeros, or five and `ffff`.
pub fn inet6(stored: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
    if stored.len() != 2 * GROUPS {
        return Err(Broken("INET6 of this length"));
    }
    let group = |n: usize| u16::from_be_bytes([stored[2 * n], stored[2 * n + 1]]);
    let (mut gap, mut length) = (GROUPS, 0);
    let mut n = 0;
    while n < GROUPS {
        let run = (n..GROUPS).take_while(|n| group(*n) == 0).count();
        if run > length {
            (gap, length) = (n, run);
        }
        n += run + 1;
    }
    let v4 = gap == 0 && (length == 6 || length == 5 && group(5) == 0xffff);
    let mut text = Short::<48>::new();
    let mut n = 0;
    while n < GROUPS {
        if n == gap {
            text.bytes(if n == 0 { b"::" } else { b":" });
            n += length;
            continue;
        }
        if v4 && n == 6 {
            dotted(&stored[12..], &mut text);
            break;
        }
        let group = group(n);
        for shift in [12, 8, 4, 0] {
            if shift == 0 || group >> shift != 0 {
                text.byte(hexadecimal((group >> shift) as u8));
            }
        }
        n += 1;
        if n < GROUPS {
            text.byte(b':');
        }
    }
    text.put(out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(groups: [u16; 8]) -> String {
        let stored: Vec<u8> = groups.iter().flat_map(|g| g.to_be_bytes()).collect();
        let mut out = Vec::new();
        inet6(&stored, &mut out).expect("an address");
        assert_eq!(usize::from(out[0]), out.len() - 1);
        String::from_utf8(out[1..].to_vec()).expect("ASCII")
    }

    #[test]
    fn the_longest_run_of_zeros_is_left_out() {
        assert_eq!(address([0; 8]), "::");
        assert_eq!(
            address([0x2001, 0xdb8, 0, 0, 1, 0, 0, 0x10]),
            "2001:db8::1:0:0:10"
        );
        assert_eq!(address([1, 2, 3, 4, 5, 6, 7, 0]), "1:2:3:4:5:6:7::");
        assert_eq!(
            address([0, 0, 0, 0, 0, 0xffff, 0x0102, 0x0304]),
            "::ffff:1.2.3.4"
        );
        assert_eq!(address([0, 0, 0, 0, 0, 0, 0x0102, 0x0304]), "::1.2.3.4");
        assert_eq!(address([0, 0, 0, 0, 0, 0, 0, 1]), "::1");
        assert_eq!(address([0xfe80, 0, 0, 0, 0, 0, 0, 0]), "fe80::");
        assert_eq!(address([1, 2, 3, 4, 5, 6, 7, 8]), "1:2:3:4:5:6:7:8");
    }
}
