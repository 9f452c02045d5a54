//! There and back again for any row, and no way through for malformed ones.

use super::*;
use proptest::prelude::*;

fn payload(cells: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut out = Vec::new();
    for cell in cells {
        match cell {
            None => out.push(NULL),
            Some(c) => {
                match c.len() {
                    n @ 0..=250 => out.push(n as u8),
                    n @ 251..=0xFFFF => {
                        out.push(0xFC);
                        out.extend_from_slice(&(n as u16).to_le_bytes());
                    }
                    n => {
                        out.push(0xFD);
                        out.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
                    }
                }
                out.extend_from_slice(c);
            }
        }
    }
    out
}

/// The format's rules, written out byte by byte.
fn model(plan: &RowPlan, cells: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, (cell, encoding)) in cells.iter().zip(plan.columns()).enumerate() {
        if i > 0 {
            out.push(b'\t');
        }
        match (cell, encoding) {
            (None, _) => out.extend_from_slice(b"\\N"),
            (Some(c), Encoding::Text) => {
                for &b in c {
                    match b {
                        0 => out.extend_from_slice(b"\\0"),
                        8 => out.extend_from_slice(b"\\b"),
                        9 => out.extend_from_slice(b"\\t"),
                        10 => out.extend_from_slice(b"\\n"),
                        13 => out.extend_from_slice(b"\\r"),
                        26 => out.extend_from_slice(b"\\Z"),
                        b'\\' => out.extend_from_slice(b"\\\\"),
                        b => out.push(b),
                    }
                }
            }
            (Some(c), Encoding::Base64) => {
                out.extend_from_slice(base64_simd::STANDARD.encode_to_string(c).as_bytes());
            }
            (Some(c), Encoding::Hex) => {
                c.iter()
                    .for_each(|b| out.extend_from_slice(format!("{b:02X}").as_bytes()));
            }
        }
    }
    out.push(b'\n');
    out
}

fn handed_over(plan: &RowPlan, line: &[u8]) -> Result<Vec<Option<Vec<u8>>>, RowError> {
    let mut all = Vec::new();
    plan.cells(line, &mut vec![b'x'; 3], |cell| {
        all.push(cell.map(<[u8]>::to_vec));
        Ok::<(), RowError>(())
    })?;
    Ok(all)
}

fn there_and_back(plan: &RowPlan, cells: &[Option<Vec<u8>>]) {
    let p = payload(cells);
    let mut line = b"before".to_vec();
    plan.encode(&p, &mut line).unwrap();
    let line = &line[6..];
    assert_eq!(line, model(plan, cells));
    assert_eq!(row_end(line), Some(line.len()));
    let mut back = b"x".to_vec();
    plan.decode_row(&line[..line.len() - 1], &mut back).unwrap();
    assert_eq!(&back[1..], p);
    assert_eq!(
        handed_over(plan, &line[..line.len() - 1]).as_deref(),
        Ok(cells)
    );
    let mut pieces = Vec::new();
    let n = plan
        .encode_pieces::<RowError>(&p, |piece| {
            assert!(piece.len() <= 64 * 1024);
            pieces.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    assert_eq!(pieces, line);
    assert_eq!(n, line.len() as u64);
}

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![
        4 => Just(Encoding::Text),
        1 => Just(Encoding::Base64),
        1 => Just(Encoding::Hex),
    ]
}

fn cell() -> impl Strategy<Value = Option<Vec<u8>>> {
    let bytes = prop_oneof![
        4 => proptest::collection::vec(b' '..=b'~', 0..40),
        2 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => proptest::collection::vec(any::<u8>(), 240..270),
        1 => proptest::collection::vec(
            proptest::sample::select(b"\\\t\n\r\0N\x1a\x08x".to_vec()), 0..20),
    ];
    prop_oneof![1 => Just(None), 6 => bytes.prop_map(Some)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_row_round_trips(row in proptest::collection::vec((encoding(), cell()), 0..12)) {
        let (columns, cells): (Vec<_>, Vec<_>) = row.into_iter().unzip();
        there_and_back(&RowPlan::new(columns), &cells);
    }

    #[test]
    fn cut_or_extended_payloads_are_refused(
        row in proptest::collection::vec((encoding(), cell()), 1..6), extra in any::<u8>(),
    ) {
        let (columns, cells): (Vec<_>, Vec<_>) = row.into_iter().unzip();
        let plan = RowPlan::new(columns);
        let mut p = payload(&cells);
        let mut out = Vec::new();
        for cut in 0..p.len() {
            prop_assert!(plan.encode(&p[..cut], &mut out).is_err());
            prop_assert!(plan.encode_pieces::<RowError>(&p[..cut], |_| Ok(())).is_err());
        }
        p.push(extra);
        prop_assert!(plan.encode(&p, &mut out).is_err());
        prop_assert!(plan.encode_pieces::<RowError>(&p, |_| Ok(())).is_err());
        prop_assert!(out.is_empty());
    }

    #[test]
    fn garbage_never_panics(
        columns in proptest::collection::vec(encoding(), 0..6),
        bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), 0xF8..=0xFFu8, Just(b'\\'), Just(b'\t')], 0..80),
    ) {
        let plan = RowPlan::new(columns);
        let mut line = Vec::new();
        if plan.encode(&bytes, &mut line).is_ok() {
            let mut back = Vec::new();
            plan.decode_row(&line[..line.len() - 1], &mut back).unwrap();
            prop_assert_eq!(&back, &bytes);
        }
        line.clear();
        let decoded = plan.decode_row(&bytes, &mut line);
        prop_assert_eq!(handed_over(&plan, &bytes).map(|c| payload(&c)), decoded.map(|()| line));
    }
}

#[test]
fn lengths_at_the_edges() {
    for len in [0, 1, 15, 16, 17, 250, 251, 252, 65_535, 65_536, 200_000] {
        for fill in [b'a', b'\n', 0xC3] {
            for encoding in [Encoding::Text, Encoding::Base64, Encoding::Hex] {
                let cells = [Some(vec![b'k'; 3]), Some(vec![fill; len]), None];
                let plan = RowPlan::new(vec![Encoding::Text, encoding, Encoding::Text]);
                there_and_back(&plan, &cells);
            }
        }
    }
}

#[test]
fn a_length_of_sixteen_megabytes_has_eight_bytes() {
    let len = 1 << 24;
    let mut p = vec![0xFE];
    p.extend_from_slice(&(len as u64).to_le_bytes());
    p.resize(9 + len, b'z');
    let mut line = Vec::new();
    let plan = RowPlan::text(1);
    plan.encode(&p, &mut line).unwrap();
    assert_eq!(line.len(), len + 1);
    let mut back = Vec::new();
    plan.decode_row(&line[..len], &mut back).unwrap();
    assert!(back == p);
}

#[test]
fn lengths_that_lie_are_refused() {
    let plan = RowPlan::text(1);
    let mut out = Vec::new();
    let mut refused = |p: &[u8]| {
        assert!(plan.encode(p, &mut out).is_err(), "{p:?}");
        assert!(plan.encode_pieces::<RowError>(p, |_| Ok(())).is_err());
    };
    refused(b"\xfc\x01\x00a");
    refused(b"\xfd\xff\xff\x00");
    refused(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff");
    refused(b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7fabc");
    refused(b"\xff");
    refused(b"\xfc\xff");
}

#[test]
fn reads_what_other_writers_escape() {
    let plan = RowPlan::text(3);
    let mut out = Vec::new();
    let line = b"a\\\tb\\\nc\td\\Ne\t\\N";
    assert_eq!(row_end(b"a\\\nb\\\\\nc\n"), Some(7));
    assert_eq!(last_row_end(b"a\nb\\\nc"), Some(2));
    assert_eq!(last_row_end(b"\\\\\\\n"), None);
    plan.decode_row(line, &mut out).unwrap();
    assert_eq!(out, b"\x05a\tb\nc\x03dNe\xfb");
    assert!(plan.decode_row(b"a\tb", &mut out).is_err());
    assert!(plan.decode_row(b"a\tb\tc\td", &mut out).is_err());
    assert!(plan.decode_row(b"a\tb\tc\\", &mut out).is_err());
    let binary = RowPlan::new(vec![Encoding::Base64]);
    assert!(binary.decode_row(b"a", &mut out).is_err());
}

/// As MySQL Shell 8.0.21 wrote a LINESTRING, with the line break of the server's TO_BASE64.
#[test]
fn reads_base64_that_is_broken_into_lines() {
    let plan = RowPlan::new(vec![Encoding::Text, Encoding::Base64, Encoding::Text]);
    let bytes: Vec<u8> = (0..60).collect();
    let whole = base64_simd::STANDARD.encode_to_string(&bytes);
    let (first, second) = whole.split_at(76);
    for line_break in ["\\n", "\\\n", "\\r\\n", " "] {
        let line = format!("1\t{first}{line_break}{second}\tx");
        let mut out = Vec::new();
        plan.decode_row(line.as_bytes(), &mut out).unwrap();
        assert_eq!(out, [b"\x011\x3c", &bytes[..], b"\x01x"].concat());
        assert_eq!(
            handed_over(&plan, line.as_bytes()).unwrap()[1],
            Some(bytes.clone())
        );
    }
    for damaged in ["AAA\\n", "AA\\0A", "A?==", "A?\\n=="] {
        let line = format!("1\t{damaged}\tx");
        assert!(
            plan.decode_row(line.as_bytes(), &mut Vec::new()).is_err(),
            "{damaged}"
        );
    }
}
