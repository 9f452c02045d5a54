//! Converts literals other than plain strings: numbers, NULL, hexadecimal and
//! bit literals, introducers, and the one function that mydumper writes around JSON.

use super::string::Line;
use super::{Literal, Reason};
use crate::dialect::{Charset, Dialect};

/// Most digits of an integer that the server stores exactly.
const DIGITS: usize = 60;

/// Writes the literal at `text[at]` for a column of this kind, and returns where
/// it ends. Handles every literal; the caller handles the common ones first.
#[inline(never)]
pub(super) fn write(
    text: &[u8],
    at: usize,
    kind: Literal,
    dialect: Dialect,
    line: &mut Line<'_>,
    scratch: &mut Vec<u8>,
) -> Result<usize, Reason> {
    let rest = &text[at..];
    match rest {
        [] => Err(Reason::UnexpectedEnd),
        [b'\'', ..] => string(text, at, kind, dialect, line, scratch),
        [b'"', ..] if !dialect.ansi_quotes => string(text, at, kind, dialect, line, scratch),
        [b'0', b'x', ..] => {
            let digits = &rest[2..];
            let n = hex_digits(digits);
            if n == 0 || is_word(digits.get(n)) {
                return Err(Reason::Expression);
            }
            hexadecimal(&digits[..n], scratch);
            bytes(scratch, kind, dialect, line)?;
            Ok(at + 2 + n)
        }
        [b'0', b'b', ..] => {
            let digits = &rest[2..];
            let n = digits
                .iter()
                .take_while(|b| matches!(b, b'0' | b'1'))
                .count();
            if n == 0 || is_word(digits.get(n)) {
                return Err(Reason::Expression);
            }
            binary(&digits[..n], scratch);
            bytes(scratch, kind, dialect, line)?;
            Ok(at + 2 + n)
        }
        [b'x' | b'X', b'\'', ..] => {
            let n = closed(&rest[2..], u8::is_ascii_hexdigit)?;
            // The server rejects half a byte in this form.
            if n % 2 == 1 {
                return Err(Reason::Expression);
            }
            hexadecimal(&rest[2..2 + n], scratch);
            bytes(scratch, kind, dialect, line)?;
            Ok(at + n + 3)
        }
        [b'b' | b'B', b'\'', ..] => {
            let n = closed(&rest[2..], |b| matches!(b, b'0' | b'1'))?;
            binary(&rest[2..2 + n], scratch);
            bytes(scratch, kind, dialect, line)?;
            Ok(at + n + 3)
        }
        [b'0'..=b'9' | b'.' | b'+' | b'-', ..] => number(rest, kind, line).map(|n| at + n),
        [b'_', ..] => introducer(text, at, kind, dialect, line, scratch),
        [b'N' | b'n', b'\'', ..] => national(text, at, kind, dialect, line, scratch),
        _ => word(text, at, kind, dialect, line, scratch),
    }
}

/// Writes a string without an introducer.
fn string(
    text: &[u8],
    at: usize,
    kind: Literal,
    dialect: Dialect,
    line: &mut Line<'_>,
    scratch: &mut Vec<u8>,
) -> Result<usize, Reason> {
    let quote = text[at];
    let escapes = !dialect.no_backslash_escapes;
    match kind {
        Literal::Hex | Literal::Base64 => {
            let end = unescaped(text, at + 1, quote, escapes, scratch)?;
            encoded(scratch, kind, line);
            Ok(end)
        }
        _ => line.string(text, at + 1, quote, escapes),
    }
}

/// Writes a number of the SQL grammar, and returns its length.
#[inline(always)]
pub(super) fn number(rest: &[u8], kind: Literal, line: &mut Line<'_>) -> Result<usize, Reason> {
    let digits = |at: usize| {
        let tail = rest.get(at..).unwrap_or_default();
        tail.iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let signed = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
    let whole = digits(signed);
    let mut n = signed + whole;
    let mut integer = true;
    let mut fraction = 0;
    if rest.get(n) == Some(&b'.') {
        integer = false;
        fraction = digits(n + 1);
        n += 1 + fraction;
    }
    if whole + fraction == 0 {
        return Err(Reason::Expression);
    }
    if matches!(rest.get(n), Some(b'e' | b'E')) {
        integer = false;
        let sign = usize::from(matches!(rest.get(n + 1), Some(b'+' | b'-')));
        let exponent = digits(n + 1 + sign);
        if exponent == 0 {
            return Err(Reason::Expression);
        }
        n += 1 + sign + exponent;
    }
    // `1a` is a name, and `1.2.3` is invalid.
    if is_word(rest.get(n)) || rest.get(n) == Some(&b'.') {
        return Err(Reason::Expression);
    }
    let fits = match kind {
        Literal::Number => true,
        // The server would print it the same.
        Literal::Text => {
            let body = &rest[signed..n];
            let zero = body == b"0" && signed == 0;
            integer && whole <= DIGITS && rest[0] != b'+' && (body[0] != b'0' || zero)
        }
        Literal::Year => integer && signed == 0 && whole == 4,
        Literal::Quoted | Literal::Bytes | Literal::Hex | Literal::Base64 => false,
    };
    if !fits {
        return Err(Reason::Kind);
    }
    match rest.first_chunk::<16>() {
        Some(chunk) if n <= 16 => line.copy_short(chunk, n),
        _ => line.copy(&rest[..n]),
    }
    Ok(n)
}

/// Writes `_charset'…'` or `_charset 0x…`.
fn introducer(
    text: &[u8],
    at: usize,
    kind: Literal,
    dialect: Dialect,
    line: &mut Line<'_>,
    scratch: &mut Vec<u8>,
) -> Result<usize, Reason> {
    let name = text[at + 1..]
        .iter()
        .take_while(|b| is_word(Some(b)))
        .count();
    let end = at + 1 + name;
    let name = std::str::from_utf8(&text[at + 1..end]).unwrap_or_default();
    let charset = Charset::named(name).ok_or(Reason::Expression)?;
    let next = end + blank(&text[end..]);
    let literal = text.get(next..).unwrap_or_default();
    let quoted =
        matches!(literal, [b'\'', ..]) || literal.first() == Some(&b'"') && !dialect.ansi_quotes;
    let coded = matches!(
        literal,
        [b'0', b'x' | b'b', ..] | [b'x' | b'X' | b'b' | b'B', b'\'', ..]
    );
    if !quoted && !coded {
        return Err(Reason::Expression);
    }
    if charset == Charset::BINARY {
        if quoted {
            let escapes = !dialect.no_backslash_escapes;
            let end = unescaped(text, next + 1, literal[0], escapes, scratch)?;
            if kind == Literal::Number {
                return Err(Reason::Kind);
            }
            bytes(scratch, kind, dialect, line)?;
            return Ok(end);
        }
        return write(text, next, kind, dialect, line, scratch);
    }
    if dialect.charset != Some(charset) || kind == Literal::Number || kind == Literal::Year {
        return Err(Reason::Introducer);
    }
    if coded {
        // Text in the character set of the statement, written in digits.
        let kind = match kind {
            Literal::Text | Literal::Quoted => Literal::Bytes,
            other => other,
        };
        return write(text, next, kind, dialect, line, scratch);
    }
    write(text, next, kind, dialect, line, scratch)
}

/// Writes `N'…'`, which is a string in utf8mb3 whatever the statement's character set is: the same as a plain string where
/// that is UTF-8 and no character has four bytes.
fn national(
    text: &[u8],
    at: usize,
    kind: Literal,
    dialect: Dialect,
    line: &mut Line<'_>,
    scratch: &mut Vec<u8>,
) -> Result<usize, Reason> {
    let utf8 = [Some(Charset::UTF8MB4), Charset::named("utf8mb3")];
    let text_column = matches!(kind, Literal::Text | Literal::Quoted);
    if !text_column || dialect.charset.is_none() || !utf8.contains(&dialect.charset) {
        return Err(Reason::Introducer);
    }
    let end = string(text, at + 1, kind, dialect, line, scratch)?;
    match text[at..end].iter().any(|byte| *byte >= 0xf0) {
        true => Err(Reason::Introducer),
        false => Ok(end),
    }
}

/// Writes NULL, TRUE, FALSE, or `CONVERT('…' USING utf8mb4)`.
fn word(
    text: &[u8],
    at: usize,
    kind: Literal,
    dialect: Dialect,
    line: &mut Line<'_>,
    scratch: &mut Vec<u8>,
) -> Result<usize, Reason> {
    let n = text[at..].iter().take_while(|b| is_word(Some(b))).count();
    let word = &text[at..at + n];
    if word.eq_ignore_ascii_case(b"NULL") {
        line.copy(b"\\N");
        return Ok(at + n);
    }
    for (name, digit) in [(&b"TRUE"[..], b'1'), (b"FALSE", b'0')] {
        if word.eq_ignore_ascii_case(name) {
            if !matches!(kind, Literal::Number | Literal::Text) {
                return Err(Reason::Kind);
            }
            line.raw(digit);
            return Ok(at + n);
        }
    }
    let utf8 = matches!(dialect.charset, Some(Charset::UTF8MB4 | Charset::BINARY));
    if word.eq_ignore_ascii_case(b"CONVERT")
        && utf8
        && kind == Literal::Text
        && text.get(at + n) == Some(&b'(')
    {
        let inner = at + n + 1;
        let literal = matches!(text.get(inner..), Some([b'\'' | b'"', ..]));
        if !literal {
            return Err(Reason::Expression);
        }
        let mut end = string(text, inner, kind, dialect, line, scratch)?;
        for word in [&b"USING"[..], b"UTF8MB4"] {
            let space = blank(&text[end..]);
            let found = text.get(end + space..end + space + word.len());
            if space == 0 || !found.is_some_and(|f| f.eq_ignore_ascii_case(word)) {
                return Err(Reason::Expression);
            }
            end += space + word.len();
        }
        if text.get(end) != Some(&b')') {
            return Err(Reason::Expression);
        }
        return Ok(end + 1);
    }
    Err(Reason::Expression)
}

/// Writes bytes that came from hexadecimal digits or bits, or were marked as binary.
fn bytes(value: &[u8], kind: Literal, dialect: Dialect, line: &mut Line<'_>) -> Result<(), Reason> {
    match kind {
        Literal::Bytes => line.bytes(value),
        Literal::Hex | Literal::Base64 => encoded(value, kind, line),
        Literal::Text => {
            // An INSERT stores such bytes in a text column unchanged. LOAD DATA
            // would convert them, which only leaves ASCII unchanged.
            let same = dialect.charset == Some(Charset::BINARY) || value.is_ascii();
            if !same {
                return Err(Reason::Kind);
            }
            line.bytes(value);
        }
        Literal::Number => {
            let digits = value.iter().skip_while(|b| **b == 0);
            if digits.clone().count() > 8 {
                return Err(Reason::Kind);
            }
            let number = digits.fold(0u64, |n, b| n << 8 | u64::from(*b));
            line.copy(number.to_string().as_bytes());
        }
        Literal::Quoted | Literal::Year => return Err(Reason::Kind),
    }
    Ok(())
}

/// Writes bytes in hexadecimal or Base64, as the column requires.
fn encoded(value: &[u8], kind: Literal, line: &mut Line<'_>) {
    if kind == Literal::Base64 {
        for piece in value.chunks(3 * 1024) {
            line.copy(base64_simd::STANDARD.encode_to_string(piece).as_bytes());
        }
    } else {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        for b in value {
            line.two([DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]);
        }
    }
}

/// Puts the bytes of a string, from after its opening quote, into `scratch`, and returns where it ends.
fn unescaped(
    text: &[u8],
    mut at: usize,
    quote: u8,
    escapes: bool,
    scratch: &mut Vec<u8>,
) -> Result<usize, Reason> {
    scratch.clear();
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let found = if escapes {
            memchr::memchr2(quote, b'\\', rest)
        } else {
            memchr::memchr(quote, rest)
        };
        let n = found.ok_or(Reason::UnexpectedEnd)?;
        scratch.extend_from_slice(&rest[..n]);
        at += n;
        if text[at] == quote {
            if text.get(at + 1) != Some(&quote) {
                return Ok(at + 1);
            }
            scratch.push(quote);
        } else {
            match text.get(at + 1).ok_or(Reason::UnexpectedEnd)? {
                b'0' => scratch.push(0),
                b'b' => scratch.push(8),
                b'n' => scratch.push(b'\n'),
                b'r' => scratch.push(b'\r'),
                b't' => scratch.push(b'\t'),
                b'Z' => scratch.push(26),
                letter @ (b'%' | b'_') => scratch.extend_from_slice(&[b'\\', *letter]),
                other => scratch.push(*other),
            }
        }
        at += 2;
    }
}

/// The number of digits before a closing quote.
fn closed(text: &[u8], is: impl Fn(&u8) -> bool) -> Result<usize, Reason> {
    let n = text.iter().take_while(|b| is(b)).count();
    match text.get(n) {
        Some(b'\'') => Ok(n),
        Some(_) => Err(Reason::Expression),
        None => Err(Reason::UnexpectedEnd),
    }
}

/// The value of a hexadecimal digit; 0xFF for all other bytes.
const HEX: [u8; 256] = {
    let mut t = [0xff; 256];
    let mut i = 0;
    while i < 16 {
        t[b"0123456789ABCDEF"[i] as usize] = i as u8;
        t[b"0123456789abcdef"[i] as usize] = i as u8;
        i += 1;
    }
    t
};

/// The number of hexadecimal digits at the beginning.
fn hex_digits(text: &[u8]) -> usize {
    let is = |b: &u8| HEX[usize::from(*b)] != 0xff;
    // Eight at a time, because they usually are all digits.
    let (blocks, _) = text.as_chunks::<8>();
    let full = blocks.iter().take_while(|b| b.iter().all(is)).count() * 8;
    full + text[full..].iter().take_while(|b| is(b)).count()
}

/// The bytes of hexadecimal digits; an odd number of digits is read with a leading 0.
fn hexadecimal(digits: &[u8], out: &mut Vec<u8>) {
    let value = |d: u8| HEX[usize::from(d)];
    out.clear();
    let (first, pairs) = digits.split_at(digits.len() % 2);
    out.extend(first.iter().map(|d| value(*d)));
    let (pairs, _) = pairs.as_chunks::<2>();
    out.extend(
        pairs
            .iter()
            .map(|[high, low]| value(*high) << 4 | value(*low)),
    );
}

/// The bytes of binary digits; the first byte is padded with zeros.
fn binary(bits: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let (first, rest) = bits.split_at(bits.len() % 8);
    let byte = |bits: &[u8]| bits.iter().fold(0, |b, bit| b << 1 | (bit - b'0'));
    if !first.is_empty() {
        out.push(byte(first));
    }
    out.extend(rest.chunks(8).map(byte));
}

/// The length of the white space at the beginning.
pub(super) fn blank(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_whitespace()).count()
}

fn is_word(b: Option<&u8>) -> bool {
    b.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$') || *b >= 0x80)
}
