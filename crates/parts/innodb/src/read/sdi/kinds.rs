//! How the dictionary's types of columns are stored: bytes in COMPACT and DYNAMIC, and whether they may be long.
//!
//! Needed apart from [`crate::read::types`] because the dictionary keeps no type in words of columns that were dropped
//! instantly, whose values old rows still have. The numbers are `dd::enum_column_types` (sql/dd/types/column.h).

use serde_json::Value;
use values::charset::Charset;
use values::collations;

/// Longer ones are stored with their length (`DICT_MAX_FIXED_COL_LEN`).
const LONGEST_FIXED: u64 = 768;

/// A column's storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Storage {
    pub(super) fixed: Option<usize>,
    pub(super) big: bool,
    /// Whether an index may hold only the first bytes of it.
    pub(super) cut: bool,
    /// Bytes at most, where `cut`; 0: a prefix is always one.
    pub(super) length: u32,
}

/// Of a column as the dictionary has it; `None`: a type that is not known.
pub(super) fn storage(column: &Value) -> Option<Storage> {
    let number = |key: &str| column[key].as_u64().unwrap_or(0);
    let length = number("char_length");
    let elements = column["elements"].as_array().map_or(0, Vec::len);
    // Digits after the point of times: what the text has over the text without.
    let fraction = |without: u64| {
        let digits = length.saturating_sub(without + 1);
        digits.div_ceil(2) as usize
    };
    let charset = collations::charset(number("collation_id") as u32).and_then(Charset::of);
    let fixed = match (number("type"), column["name"].as_str()) {
        (_, Some("DB_TRX_ID" | "DB_ROW_ID")) if is_of_system(column) => 6,
        (_, Some("DB_ROLL_PTR")) if is_of_system(column) => 7,
        (2 | 14, _) => 1,
        (3, _) => 2,
        (10 | 15 | 12, _) => 3,
        (4 | 5 | 8, _) => 4,
        (6 | 9 | 13, _) => 8,
        (18, _) => 4 + fraction(19),
        (19, _) => 5 + fraction(19),
        (20, _) => 3 + fraction(10),
        (17, _) => length.div_ceil(8) as usize,
        (21, _) => {
            let scale = number("numeric_scale");
            let sign = u64::from(column["is_unsigned"] != true);
            let digits = length.checked_sub(sign + u64::from(scale > 0))?;
            decimal(digits.checked_sub(scale)?) + decimal(scale)
        }
        (22, _) => 1 + usize::from(elements > 255),
        (23, _) => match elements.div_ceil(8) {
            n @ 0..=4 => n.max(1),
            _ => 8,
        },
        (29, _) => {
            let charset = charset?;
            if charset.least != charset.most || length > LONGEST_FIXED {
                return Some(text(length));
            }
            return Some(Storage {
                fixed: (length > 0).then_some(length as usize),
                ..text(length)
            });
        }
        (16 | 28, _) => return Some(text(length)),
        (24..=27 | 30..=32, _) => {
            return Some(Storage {
                fixed: None,
                big: true,
                cut: true,
                length: 0,
            });
        }
        _ => return None,
    };
    Some(Storage {
        fixed: Some(fixed),
        big: false,
        cut: false,
        length: 0,
    })
}

fn text(length: u64) -> Storage {
    Storage {
        fixed: None,
        big: length > 255,
        cut: true,
        length: length as u32,
    }
}

/// What the dictionary keeps in base64.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    base64_simd::STANDARD.decode_to_vec(text).ok()
}

/// Whether the engine made the column (`HT_HIDDEN_SE`).
pub(super) fn is_of_system(column: &Value) -> bool {
    column["hidden"] == 2
}

/// Bytes of so many decimal digits: four for nine.
fn decimal(digits: u64) -> usize {
    const REST: [usize; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    (digits / 9 * 4) as usize + REST[(digits % 9) as usize]
}
