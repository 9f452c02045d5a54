//! Names in the place of a server's binary logs.
//!
//! ```text
//! 0001.json                                a timeline
//! 0001@binlog.000003@000000000000.seg      a segment: the bytes of that file from that offset on
//! 0001@binlog.000003.json                  the heads of all segments of a file that has ended
//! ```

/// What a name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A timeline.
    Timeline(u32),
    /// A segment.
    Segment {
        /// Number of its timeline.
        timeline: u32,
        /// File of the log.
        file: String,
        /// Offset of its first byte.
        start: u64,
    },
    /// The heads of a file's segments.
    Heads {
        /// Number of its timeline.
        timeline: u32,
        /// File of the log.
        file: String,
    },
}

impl Name {
    /// Reads a name; `None` if it is none of ours.
    pub fn parse(text: &str) -> Option<Name> {
        let number = |text: &str| {
            let plain = text.len() >= 4 && text.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| text.parse::<u32>().ok()).flatten()
        };
        if let Some(rest) = text.strip_suffix(".seg") {
            let mut parts = rest.split('@');
            let timeline = number(parts.next()?)?;
            let file = decode(parts.next()?)?;
            let start = parts.next()?.parse().ok()?;
            let name = Name::Segment {
                timeline,
                file,
                start,
            };
            return (parts.next().is_none() && name.to_string() == text).then_some(name);
        }
        let rest = text.strip_suffix(".json")?;
        match rest.split_once('@') {
            None => number(rest).map(Name::Timeline),
            Some((timeline, file)) => Some(Name::Heads {
                timeline: number(timeline)?,
                file: decode(file)?,
            }),
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Timeline(timeline) => write!(f, "{timeline:04}.json"),
            Name::Segment {
                timeline,
                file,
                start,
            } => write!(f, "{timeline:04}@{}@{start:012}.seg", encode(file)),
            Name::Heads { timeline, file } => write!(f, "{timeline:04}@{}.json", encode(file)),
        }
    }
}

/// The server chooses the names of its files; ours hold nothing that could mean a path or one of our separators.
fn encode(file: &str) -> String {
    let mut out = String::new();
    for byte in file.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn decode(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                out.push((high * 16 + low) as u8);
            }
            other => out.push(other),
        }
    }
    String::from_utf8(out).ok()
}

/// Sorts the files of a log in their order: by number, because `binlog.1000000` comes after `binlog.999999`.
pub fn order(file: &str) -> (u64, &str) {
    let number = file.rsplit_once('.').and_then(|(_, n)| n.parse().ok());
    (number.unwrap_or(0), file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for file in ["binlog.000001", "db 1@x/ü-bin.1000000", "%"] {
            for name in [
                Name::Segment {
                    timeline: 1,
                    file: file.to_owned(),
                    start: 4711,
                },
                Name::Heads {
                    timeline: 12345,
                    file: file.to_owned(),
                },
            ] {
                let text = name.to_string();
                assert!(store::valid_name(&text), "{text}");
                assert_eq!(Name::parse(&text), Some(name));
            }
        }
        assert_eq!(Name::parse("0007.json"), Some(Name::Timeline(7)));
        for other in [
            "7.json",
            "x.json",
            "0001@b@1.seg",
            "0001@b.seg",
            "a.seg",
            "0001@b@000000000001@.seg",
        ] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
        assert!(order("b.999999") < order("b.1000000"));
    }
}
