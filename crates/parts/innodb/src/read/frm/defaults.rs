//! Default values: a row in memory at the beginning of a `.frm` file, in which each column has its own.
//!
//! Bytes lie there as processors have them, and are turned into those of rows first, so that [`Type::cell`] tells the value.
//! What cannot be told is named; a table loads without it, where rows name all columns.
//!
//! [`Type::cell`]: crate::read::types::Type::cell

use super::bytes::Part;
use super::columns::{Column, Default};

/// Types whose numbers lie with the low byte first, and have a sign: TINYINT to BIGINT.
const INTEGERS: [(u8, usize); 5] = [(1, 1), (2, 2), (9, 3), (3, 4), (8, 8)];
/// DATE.
const DATE: u8 = 14;
/// VARCHAR, with a length before it.
const VARCHAR: u8 = 15;
/// BIT.
const BIT: u8 = 16;
/// ENUM and SET.
const LISTS: [u8; 2] = [247, 248];
/// BLOB and TEXT types and geometries, whose defaults are expressions.
const LONG: [u8; 5] = [249, 250, 251, 252, 255];
/// TIMESTAMP, TIME and DATETIME of before MySQL 5.6.
const OLD_TIMES: [u8; 3] = [7, 11, 12];

/// Sets the defaults of columns that have one; `packed` rows have no bit of their own before those of NULL.
pub fn read(row: Part<'_>, packed: bool, columns: &mut [Column], not_told: &mut Vec<String>) {
    let mut bit = usize::from(!packed);
    for column in columns {
        let mut is_null = false;
        if column.nullable {
            is_null = row
                .0
                .get(bit / 8)
                .is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
            bit += 1;
        }
        let other = column.auto_increment || column.generated.is_some();
        if column.at == 0 || other || column.default != Default::None {
            continue;
        }
        if is_null {
            column.default = Default::Sql("NULL".to_owned());
        } else if LONG.contains(&column.number) {
            continue;
        } else {
            match literal(row, column) {
                Some(sql) => column.default = Default::Sql(sql),
                None => not_told.push(format!("the default of column {}", column.name)),
            }
        }
    }
}

fn literal(row: Part<'_>, column: &Column) -> Option<String> {
    let row = row.from(column.at.checked_sub(1)?).ok()?;
    let of = column.stored_as().ok()?;
    let fixed = of.fixed_redundant();
    let reversed = |bytes: usize| -> Option<Vec<u8>> {
        Some(row.part(0, bytes).ok()?.0.iter().rev().copied().collect())
    };
    let stored = if column.column_type.starts_with("uuid") || column.column_type.starts_with("inet")
    {
        row.part(0, fixed?).ok()?.0.to_vec()
    } else if let Some((_, bytes)) = INTEGERS.iter().find(|(number, _)| *number == column.number) {
        let mut bytes = reversed(*bytes)?;
        if !column.column_type.contains("unsigned") {
            bytes[0] ^= 0x80;
        }
        bytes
    } else if column.number == DATE {
        let mut bytes = reversed(3)?;
        bytes[0] ^= 0x80;
        bytes
    } else if LISTS.contains(&column.number) {
        reversed(fixed?)?
    } else if column.number == VARCHAR {
        let (length, from) = if column.length < 256 {
            (row.u8(0).ok()?.into(), 1)
        } else {
            (row.u16(0).ok()?, 2)
        };
        let bytes = row.part(from, length.into()).ok()?.0;
        // Compressed, with a byte for the way.
        match column.column_type.contains("COMPRESSED") && !bytes.is_empty() {
            true => return None,
            false => bytes.to_vec(),
        }
    } else if OLD_TIMES.contains(&column.number) {
        return None;
    } else {
        row.part(0, fixed.unwrap_or(column.length)).ok()?.0.to_vec()
    };
    if column.number == VARCHAR && column.column_type.contains("COMPRESSED") {
        return Some("''".to_owned());
    }
    let mut cell = Vec::new();
    of.cell(&stored, &mut cell).ok()?;
    // A default's length is that of a short cell, or of two bytes.
    let text = match *cell.first()? {
        0..=250 => &cell[1..],
        0xfc => &cell[3..],
        _ => return None,
    };
    Some(sql(text, column))
}

/// A literal of these bytes.
fn sql(text: &[u8], column: &Column) -> String {
    let hexadecimal = || text.iter().map(|b| format!("{b:02x}")).collect::<String>();
    match column.charset() {
        None if column.number == BIT => format!("x'{}'", hexadecimal()),
        None if text
            .iter()
            .all(|b| (b' '..0x7f).contains(b) && !b"'\\".contains(b)) =>
        {
            format!("'{}'", String::from_utf8_lossy(text))
        }
        None => format!("x'{}'", hexadecimal()),
        // The characters of these sets need no other bytes than ASCII for what is ASCII.
        Some(set) if !matches!(set, "ucs2" | "utf16" | "utf16le" | "utf32") && text.is_ascii() => {
            quoted(&String::from_utf8_lossy(text))
        }
        Some(set) => format!("_{set} x'{}'", hexadecimal()),
    }
}

/// Text in quotes.
pub fn quoted(text: &str) -> String {
    format!(
        "'{}'",
        text.replace('\\', "\\\\")
            .replace('\'', "''")
            .replace('\0', "\\0")
    )
}
