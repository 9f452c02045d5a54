//! GTIDs of MySQL: a UUID, since 8.4 perhaps a tag, and a number; and sets of them as lists of intervals.

use crate::Result;
use crate::fields::Fields;
use std::collections::BTreeMap;
use std::fmt;

/// Numbers are below this.
const END: u64 = i64::MAX as u64;
/// Longest tag.
const TAG: usize = 32;

/// Whose numbers they are: a UUID, and a tag or "".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    uuid: [u8; 16],
    tag: String,
}

impl Origin {
    /// Of what stands in an event.
    pub(crate) fn new(uuid: &[u8], tag: &str) -> Option<Origin> {
        Some(Origin {
            uuid: uuid.try_into().ok()?,
            tag: tag.to_owned(),
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.uuid.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        match self.tag.as_str() {
            "" => Ok(()),
            tag => write!(f, ":{tag}"),
        }
    }
}

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = match text.len() {
        32 => text.bytes().collect(),
        36 => {
            let dashes = [8, 13, 18, 23];
            let wrong = |(at, b): (usize, u8)| dashes.contains(&at) != (b == b'-');
            if text.bytes().enumerate().any(wrong) {
                return None;
            }
            text.bytes().filter(|&b| b != b'-').collect()
        }
        _ => return None,
    };
    let mut uuid = [0; 16];
    for (byte, pair) in uuid.iter_mut().zip(digits.chunks(2)) {
        let digit = |b: u8| char::from(b).to_digit(16);
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(uuid)
}

fn is_tag(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    text.len() <= TAG
        && text.bytes().next().is_some_and(letter)
        && text.bytes().all(|b| letter(b) || b.is_ascii_digit())
}

/// The name of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// Whose number it is.
    pub origin: Origin,
    /// The number, from 1.
    pub number: u64,
}

impl Gtid {
    /// Reads `UUID:NUMBER` or `UUID:TAG:NUMBER`.
    pub fn parse(text: &str) -> Option<Gtid> {
        let set = Set::parse(text)?;
        let mut all = set.origins.into_iter();
        let (origin, intervals) = all.next()?;
        match (&intervals[..], all.next()) {
            (&[(number, last)], None) if number == last => Some(Gtid { origin, number }),
            _ => None,
        }
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.origin, self.number)
    }
}

/// A set of transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted, neither empty, touching nor overlapping; both ends belong to it.
    origins: BTreeMap<Origin, Vec<(u64, u64)>>,
}

impl Set {
    /// Reads what the server prints in `gtid_executed`; blanks and line ends count for nothing.
    pub fn parse(text: &str) -> Option<Set> {
        let mut set = Set::default();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let mut words = part.split(':').map(str::trim);
            let uuid = parse_uuid(words.next()?)?;
            let mut tag = String::new();
            let mut numbers = 0;
            for word in words {
                if is_tag(word) {
                    tag = word.to_ascii_lowercase();
                    continue;
                }
                let (first, last) = word.split_once('-').unwrap_or((word, word));
                let number = |text: &str| {
                    let text = text.trim();
                    let plain = text.bytes().all(|b| b.is_ascii_digit());
                    plain.then(|| text.parse::<u64>().ok()).flatten()
                };
                let (first, last) = (number(first)?, number(last)?);
                if first == 0 || last >= END {
                    return None;
                }
                numbers += 1;
                // The server reads an interval that runs backwards as an empty one.
                if first <= last {
                    let origin = Origin {
                        uuid,
                        tag: tag.clone(),
                    };
                    set.add_interval(origin, first, last);
                }
            }
            if numbers == 0 {
                return None;
            }
        }
        Some(set)
    }

    /// Reads the body of a PREVIOUS_GTIDS event.
    pub fn decode(body: &[u8]) -> Result<Set> {
        let mut fields = Fields::new(body, "Previous_gtids event");
        let head = fields.u64()?;
        // With tags both the first and the last byte hold the format, and the count stands between them.
        let tagged = head >> 56 == 1;
        let count = match tagged {
            true => head << 8 >> 16,
            false => head,
        };
        let mut set = Set::default();
        for _ in 0..count {
            let uuid = fields.take(16)?;
            let tag = match tagged {
                true => {
                    let length = fields.varint()?;
                    let length = usize::try_from(length).unwrap_or(usize::MAX);
                    String::from_utf8_lossy(fields.take(length)?).into_owned()
                }
                false => String::new(),
            };
            let origin = Origin::new(uuid, &tag).ok_or_else(|| fields.wrong("no UUID"))?;
            let intervals = fields.u64()?;
            for _ in 0..intervals {
                let (first, end) = (fields.u64()?, fields.u64()?);
                if first == 0 || end <= first {
                    return Err(fields.wrong("an interval that ends before it begins"));
                }
                if end > END {
                    return Err(fields.wrong("a number that no transaction has"));
                }
                set.add_interval(origin.clone(), first, end - 1);
            }
        }
        Ok(set)
    }

    /// The bytes that PREVIOUS_GTIDS holds; with tags only if there is one.
    #[cfg(test)]
    fn encode(&self) -> Vec<u8> {
        let tagged = self.origins.keys().any(|o| !o.tag.is_empty());
        let count = self.origins.len() as u64;
        let head = match tagged {
            true => count << 8 | 1 << 56 | 1,
            false => count,
        };
        let mut out = head.to_le_bytes().to_vec();
        for (origin, intervals) in &self.origins {
            out.extend_from_slice(&origin.uuid);
            if tagged {
                // At most 32 letters: one byte, shifted, is the length.
                out.push((origin.tag.len() as u8) << 1);
                out.extend_from_slice(origin.tag.as_bytes());
            }
            out.extend_from_slice(&(intervals.len() as u64).to_le_bytes());
            for (first, last) in intervals {
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&(last + 1).to_le_bytes());
            }
        }
        out
    }

    fn add_interval(&mut self, origin: Origin, first: u64, last: u64) {
        let intervals = self.origins.entry(origin).or_default();
        // Nearly always the next number of the last interval.
        if let Some(end) = intervals.last_mut()
            && end.1 + 1 == first
        {
            end.1 = last;
            return;
        }
        let begin = intervals.partition_point(|i| i.1 + 1 < first);
        let end = intervals.partition_point(|i| i.0 <= last.saturating_add(1));
        let joined = match begin < end {
            true => (
                first.min(intervals[begin].0),
                last.max(intervals[end - 1].1),
            ),
            false => (first, last),
        };
        intervals.splice(begin..end.max(begin), [joined]);
    }

    /// Adds a transaction.
    pub fn add(&mut self, gtid: &Gtid) {
        if !self.contains(gtid) {
            self.add_interval(gtid.origin.clone(), gtid.number, gtid.number);
        }
    }

    /// Adds all of another set.
    pub fn add_all(&mut self, other: &Set) {
        for (origin, intervals) in &other.origins {
            for (first, last) in intervals {
                self.add_interval(origin.clone(), *first, *last);
            }
        }
    }

    /// Whether the transaction is in it.
    pub fn contains(&self, gtid: &Gtid) -> bool {
        let Some(intervals) = self.origins.get(&gtid.origin) else {
            return false;
        };
        let at = intervals.partition_point(|i| i.1 < gtid.number);
        intervals.get(at).is_some_and(|i| i.0 <= gtid.number)
    }

    /// Whether every transaction of this set is in the other.
    pub fn is_within(&self, other: &Set) -> bool {
        self.without(other).is_empty()
    }

    /// What is in this set and not in the other.
    pub fn without(&self, other: &Set) -> Set {
        let mut left = Set::default();
        for (origin, intervals) in &self.origins {
            let taken = other.origins.get(origin).map_or(&[][..], |t| t);
            for &(first, last) in intervals {
                let mut from = first;
                for &(begin, end) in taken {
                    if end < from || begin > last {
                        continue;
                    }
                    if begin > from {
                        left.add_interval(origin.clone(), from, begin - 1);
                    }
                    from = end + 1;
                }
                if from <= last {
                    left.add_interval(origin.clone(), from, last);
                }
            }
        }
        left
    }

    /// How many transactions there are.
    #[cfg(test)]
    fn count(&self) -> u64 {
        let all = self.origins.values().flatten();
        all.map(|(first, last)| last - first + 1).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }
}

impl fmt::Display for Set {
    /// One UUID after the other, its tags behind it, as the server prints it but for the line ends.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&Origin> = None;
        for (origin, intervals) in &self.origins {
            match before.filter(|b| b.uuid == origin.uuid) {
                Some(_) => write!(f, ":{}", origin.tag)?,
                None => {
                    if before.is_some() {
                        f.write_str(",")?;
                    }
                    origin.fmt(f)?;
                }
            }
            for (first, last) in intervals {
                match first == last {
                    true => write!(f, ":{first}")?,
                    false => write!(f, ":{first}-{last}")?,
                }
            }
            before = Some(origin);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const B: &str = "4e11fa47-71ca-11e1-9e33-c80aa9429562";

    fn set(text: &str) -> Set {
        Set::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn sets_as_text() {
        for (text, shown) in [
            (format!("{A}:1-5:7"), format!("{A}:1-5:7")),
            (format!("{A}:7:1-5:6"), format!("{A}:1-7")),
            (format!("{B}:1,\n{A}:2"), format!("{A}:2,{B}:1")),
            (
                format!("{A}:1:tag:4-5:other:1"),
                format!("{A}:1:other:1:tag:4-5"),
            ),
            (A.to_uppercase() + ":3", format!("{A}:3")),
            (String::new(), String::new()),
        ] {
            assert_eq!(set(&text).to_string(), shown);
        }
        for bad in [
            A,
            "x:1",
            &format!("{A}:0"),
            &format!("{A}:1-"),
            &format!("{A}:-1"),
        ] {
            assert_eq!(Set::parse(bad), None, "{bad}");
        }
        assert_eq!(
            Gtid::parse(&format!("{A}:t:3")).unwrap().to_string(),
            format!("{A}:t:3")
        );
        assert_eq!(Gtid::parse(&format!("{A}:3-4")), None);
    }

    #[test]
    fn differences() {
        let all = set(&format!("{A}:1-100,{B}:5"));
        let some = set(&format!("{A}:1-10:50:99-100"));
        assert_eq!(
            all.without(&some).to_string(),
            format!("{A}:11-49:51-98,{B}:5")
        );
        assert!(some.is_within(&all) && !all.is_within(&some));
        assert_eq!(all.count(), 101);
    }

    proptest! {
        #[test]
        fn a_set_is_what_a_set_of_numbers_is(
            numbers in proptest::collection::vec(1..60u64, 0..60),
            others in proptest::collection::vec(1..60u64, 0..60),
            tag in prop_oneof![Just(""), Just("t")],
        ) {
            use std::collections::BTreeSet;
            let origin = Origin::new(&[7; 16], tag).unwrap();
            let make = |numbers: &[u64]| {
                let mut set = Set::default();
                for &number in numbers {
                    set.add(&Gtid { origin: origin.clone(), number });
                }
                set
            };
            let (a, b) = (make(&numbers), make(&others));
            let (na, nb): (BTreeSet<_>, BTreeSet<_>) =
                (numbers.iter().copied().collect(), others.iter().copied().collect());
            let left: Vec<u64> = na.difference(&nb).copied().collect();
            prop_assert_eq!(a.without(&b), make(&left));
            prop_assert_eq!(a.is_within(&b), na.is_subset(&nb));
            prop_assert_eq!(a.count(), na.len() as u64);
            prop_assert_eq!(Set::parse(&a.to_string()), Some(a.clone()));
            prop_assert_eq!(Set::decode(&a.encode()).unwrap(), a);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Set::decode(&bytes);
            let _ = super::super::mariadb::Position::decode(&bytes);
        }
    }

    #[test]
    fn numbers_that_no_transaction_has_are_refused() {
        let body = |end: u64| {
            let mut body = 1u64.to_le_bytes().to_vec();
            body.extend_from_slice(&[7; 16]);
            for n in [1, 5, end] {
                body.extend_from_slice(&u64::to_le_bytes(n));
            }
            body
        };
        let set = Set::decode(&body(END)).expect("a set");
        assert_eq!(Set::parse(&set.to_string()), Some(set));
        assert!(Set::decode(&body(END + 1)).is_err());
        assert!(Set::decode(&body(u64::MAX)).is_err());
    }
}
