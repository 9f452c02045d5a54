//! File names made from object names, after MySQL Shell's rules (dump format,
//! "Name escaping"), so that no name can leave the directory or clash in it.
//!
//! Reading never computes a name: the `basenames` maps in the metadata say
//! which file belongs to what. That is why [`Basenames`] is free to give an
//! ordinal to more names than MySQL Shell would: names that differ only in
//! case (for file systems that ignore it), names whose file would be another
//! object's (`t` with triggers, and a table `t.triggers`), a schema `penstock`,
//! and names too long in bytes rather than characters.

use std::collections::HashSet;
use std::fmt::Write;

/// Longest basename in characters, as MySQL Shell has it.
const MAX_CHARS: usize = 225;

/// Longest basename in bytes: leaves room in 255 for an ordinal, a chunk
/// number and `.tsv.zst.idx.dumping`.
const MAX_BYTES: usize = 208;

/// An object name as part of a file name: ASCII other than letters, digits
/// and `_-.~` becomes `%` and two upper-case hexadecimal digits.
pub fn encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || "_-.~".contains(c) || !c.is_ascii() {
            out.push(c);
        } else {
            let _ = write!(out, "%{:02X}", c as u32);
        }
    }
    out
}

/// The name behind an encoded part of a file name, for people; text that is
/// not a valid encoding is given back as it is.
pub fn decode(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let digits = bytes.get(i + 1..i + 3).filter(|_| bytes[i] == b'%');
        let value = digits
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 16).ok());
        out.push(value.unwrap_or(bytes[i]));
        i += if value.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap_or_else(|_| part.to_owned())
}

/// Gives out basenames, each only once.
#[derive(Clone, Debug, Default)]
pub struct Basenames {
    /// In lower case.
    taken: HashSet<String>,
}

impl Basenames {
    /// Nothing given out yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The basename of a schema.
    pub fn schema(&mut self, schema: &str) -> String {
        self.take(encode(schema), &[".events", ".routines", ".libraries"])
    }

    /// The basename of a table or view.
    pub fn table(&mut self, schema: &str, table: &str) -> String {
        let full = format!("{}@{}", encode(schema), encode(table));
        self.take(full, &[".triggers", ".pre"])
    }

    /// The basename of a partition (or subpartition) of a table.
    pub fn partition(&mut self, schema: &str, table: &str, partition: &str) -> String {
        let full = [schema, table, partition].map(encode).join("@");
        self.take(full, &[])
    }

    fn take(&mut self, full: String, clashing: &[&str]) -> String {
        let base = shorten(&full);
        let lower = base.to_lowercase();
        let clashes = base.len() < full.len()
            || clashing.iter().any(|s| lower.ends_with(s))
            || reserved(&lower);
        if !clashes && self.taken.insert(lower) {
            return base.to_owned();
        }
        let mut ordinal = 0u64;
        loop {
            let name = format!("{base}{ordinal}");
            if self.taken.insert(name.to_lowercase()) {
                return name;
            }
            ordinal += 1;
        }
    }
}

/// Cuts a basename that is too long, never inside a `%XX`.
fn shorten(full: &str) -> &str {
    let chars = full.char_indices().nth(MAX_CHARS).map(|(at, _)| at);
    let mut end = chars.unwrap_or(full.len());
    if end > MAX_BYTES && chars.is_some() || full.len() > MAX_BYTES {
        end = full.floor_char_boundary(end.min(MAX_BYTES));
    }
    if end == full.len() {
        return full;
    }
    if let Some(percent) = full[..end].rfind('%').filter(|p| p + 3 > end) {
        end = percent;
    }
    &full[..end]
}

/// Names that mean something else: our own manifest's, and the devices of
/// systems on which an archive may be unpacked.
fn reserved(lower: &str) -> bool {
    let stem = lower.split('.').next().unwrap_or(lower);
    let device = |prefix: &str| {
        let digit = stem.strip_prefix(prefix).map(str::as_bytes);
        matches!(digit, Some([b'1'..=b'9']))
    };
    lower == "penstock"
        || matches!(stem, "con" | "prn" | "aux" | "nul")
        || device("com")
        || device("lpt")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_as_the_format_says() {
        assert_eq!(encode("a@b"), "a%40b");
        assert_eq!(encode("a b\n"), "a%20b%0A");
        assert_eq!(encode("Az09_-.~"), "Az09_-.~");
        assert_eq!(encode("../é🙂/\\`\0\x7f"), "..%2Fé🙂%2F%5C%60%00%7F");
        assert_eq!(decode("a%40b%zz%4"), "a@b%zz%4");
    }

    #[test]
    fn long_names_are_cut_and_numbered() {
        let mut names = Basenames::new();
        let (a, b) = ("a".repeat(120), "b".repeat(120));
        let first = names.table(&a, &b);
        let second = names.table(&a, &format!("{b}x"));
        assert!(first.ends_with("b0") && second.ends_with("b1"));
        assert_eq!(first.len(), MAX_BYTES + 1);
        let wide = names.table(&"水".repeat(64), &"車".repeat(64));
        assert!(wide.len() <= MAX_BYTES + 1);
        let escaped = names.table(&"@".repeat(64), &" ".repeat(64));
        assert!(escaped.len() <= MAX_BYTES + 1);
        let cut = escaped.strip_suffix('0').unwrap();
        assert_eq!(cut.rfind('%'), Some(cut.len() - 3));
    }

    #[test]
    fn names_that_would_clash_get_an_ordinal() {
        let mut names = Basenames::new();
        assert_eq!(names.table("s", "T"), "s@T");
        assert_eq!(names.table("s", "t"), "s@t0");
        assert_eq!(names.table("s", "t0"), "s@t00");
        assert_eq!(names.table("s", "t.triggers"), "s@t.triggers0");
        assert_eq!(names.table("s", "v.pre"), "s@v.pre0");
        assert_eq!(names.schema("s.events"), "s.events0");
        assert_eq!(names.schema("penstock"), "penstock0");
        assert_eq!(names.schema("CON"), "CON0");
        assert_eq!(names.schema(".."), "..");
        assert_eq!(names.partition("s", "T", "p"), "s@T@p");
    }

    proptest! {
        #[test]
        fn encoding_is_reversible_and_flat(name in "\\PC{0,20}|[\\x00-\\x7f]{0,20}") {
            let encoded = encode(&name);
            prop_assert_eq!(decode(&encoded), name);
            prop_assert!(!encoded.contains(['/', '\\', '@', '\0', '\n']));
        }

        #[test]
        fn no_two_are_equal(names in proptest::collection::vec("[aA@.%]{1,3}|.{60,70}", 0..40)) {
            let mut given = Basenames::new();
            let mut seen = HashSet::new();
            for name in &names {
                let base = given.table("s", name);
                prop_assert!(seen.insert(base.to_lowercase()), "{}", base);
                let longest = format!("{base}@@4000000000.tsv.zst.idx");
                prop_assert!(store::valid_name(&longest));
            }
        }
    }
}
