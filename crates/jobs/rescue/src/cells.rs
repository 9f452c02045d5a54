//! Cells of rows, as far as a rescue looks at them: the key for people, and the end of a row's time.

use crate::described;

/// The cells of a row.
fn cells(payload: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = payload;
    std::iter::from_fn(move || {
        let (first, behind) = rest.split_first()?;
        let (length, bytes) = match *first {
            archive::row::NULL => {
                rest = behind;
                return Some(None);
            }
            0xfc => (2, behind),
            0xfd => (3, behind),
            0xfe => (8, behind),
            _ => (0, rest),
        };
        let (length, behind) = match length {
            0 => (usize::from(bytes[0]), &bytes[1..]),
            n => {
                let (digits, behind) = bytes.split_at_checked(n)?;
                let number = digits
                    .iter()
                    .rev()
                    .fold(0usize, |n, b| n << 8 | usize::from(*b));
                (number, behind)
            }
        };
        let (cell, behind) = behind.split_at_checked(length)?;
        rest = behind;
        Some(Some(cell))
    })
}

/// The row without the cell that says until when it was current; `None`: it is no row.
pub fn without_row_end<'p>(
    t: &described::Table,
    payload: &'p [u8],
    count: usize,
) -> Option<&'p [u8]> {
    if t.row_end.is_none() {
        return Some(payload);
    }
    let last = cells(payload).nth(count)?;
    // It is short: one byte for its length.
    payload.get(..payload.len() - 1 - last.map_or(0, <[u8]>::len))
}

/// The same of a row that is current; `None` for one of the history.
pub fn current<'p>(t: &described::Table, payload: &'p [u8], count: usize) -> Option<&'p [u8]> {
    if t.row_end.is_some() {
        // The greatest TIMESTAMP, that of MariaDB 11.5 and later, and the greatest number of a transaction.
        const NEVER: [&[u8]; 3] = [
            b"2038-01-19 03:14:07.999999",
            b"2106-02-07 06:28:15.999999",
            b"18446744073709551615",
        ];
        let last = cells(payload).nth(count)??;
        if !NEVER.contains(&last) {
            return None;
        }
    }
    without_row_end(t, payload, count)
}

/// The key of a row for people.
pub fn key_text(payload: &[u8], key: &[usize]) -> String {
    /// Characters of each value.
    const SHOWN: usize = 40;
    let all: Vec<Option<&[u8]>> = cells(payload).collect();
    let one = |n: &usize| match all.get(*n) {
        Some(Some(value)) => String::from_utf8_lossy(value).chars().take(SHOWN).collect(),
        _ => "NULL".to_owned(),
    };
    let values: Vec<String> = key.iter().map(one).collect();
    match values.is_empty() {
        true => "(without a primary key)".to_owned(),
        false => format!("({})", values.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_walked() {
        let mut payload = vec![2, b'a', b'b', 0xfb, 0xfc, 0, 1];
        payload.extend([b'x'; 256]);
        payload.push(0);
        let all: Vec<_> = cells(&payload).collect();
        assert_eq!(all.len(), 4);
        assert_eq!(
            (all[0], all[1], all[3]),
            (Some(&b"ab"[..]), None, Some(&b""[..]))
        );
        assert_eq!(all[2].map(<[u8]>::len), Some(256));
        // What ends early has fewer.
        assert_eq!(cells(&payload[..100]).count(), 2);
        assert_eq!(key_text(&payload, &[0, 1]), "(ab, NULL)");
        assert_eq!(key_text(&payload, &[]), "(without a primary key)");
    }
}
