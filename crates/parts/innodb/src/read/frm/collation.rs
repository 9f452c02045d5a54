//! Collations of MariaDB by number: their names and character sets.
//!
//! `collations.txt` is `COLLATION_CHARACTER_SET_APPLICABILITY` of MariaDB 10.11 below 2048. From there on numbers are put
//! together: 256 for each Unicode set, 8 for each language, and one for each of its variants.

use std::collections::HashMap;
use std::sync::LazyLock;

static NAMES: LazyLock<HashMap<u16, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("collations.txt").lines();
    let all = lines.filter_map(|line| line.split_once(' '));
    all.filter_map(|(id, name)| Some((id.parse().ok()?, name)))
        .collect()
});

const FIRST: u16 = 2048;
const SETS: [&str; 5] = ["utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32"];
const LANGUAGES: [&str; 23] = [
    "",
    "icelandic_",
    "latvian_",
    "romanian_",
    "slovenian_",
    "polish_",
    "estonian_",
    "spanish_",
    "swedish_",
    "turkish_",
    "czech_",
    "danish_",
    "lithuanian_",
    "slovak_",
    "spanish2_",
    "roman_",
    "persian_",
    "esperanto_",
    "hungarian_",
    "sinhala_",
    "german2_",
    "vietnamese_",
    "croatian_",
];
const VARIANTS: [&str; 8] = [
    "ai_ci",
    "ai_cs",
    "as_ci",
    "as_cs",
    "nopad_ai_ci",
    "nopad_ai_cs",
    "nopad_as_ci",
    "nopad_as_cs",
];

/// A collation's name.
pub fn name(id: u16) -> Option<String> {
    if id < FIRST {
        return NAMES.get(&id).map(|name| (*name).to_owned());
    }
    let id = usize::from(id - FIRST);
    let (set, language, variant) = (
        SETS.get(id >> 8)?,
        LANGUAGES.get(id >> 3 & 31)?,
        VARIANTS[id & 7],
    );
    Some(format!("{set}_uca1400_{language}{variant}"))
}

/// The character set of a collation: what its name begins with.
pub fn charset(collation: &str) -> &str {
    collation.split('_').next().unwrap_or(collation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        let of = |id| name(id);
        assert_eq!(of(8).as_deref(), Some("latin1_swedish_ci"));
        assert_eq!(of(63).as_deref(), Some("binary"));
        assert_eq!(of(2048).as_deref(), Some("utf8mb3_uca1400_ai_ci"));
        assert_eq!(of(2055).as_deref(), Some("utf8mb3_uca1400_nopad_as_cs"));
        assert_eq!(
            of(2304 + 8).as_deref(),
            Some("utf8mb4_uca1400_icelandic_ai_ci")
        );
        assert_eq!((of(0), of(2047), of(60_000)), (None, None, None));
        assert_eq!(charset("utf8mb4_bin"), "utf8mb4");
    }
}
