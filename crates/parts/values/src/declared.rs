//! A type in words taken apart: `decimal(10,2) unsigned`, `enum('a','b')`.
//!
//! Servers write it in `COLUMN_TYPE` and in the serialized dictionary information, with members of ENUM and SET
//! escaped by backslash and doubled quotes. Nothing is judged here except that every word is known.

/// The parts of a type in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The bare type in lower case.
    pub name: String,
    /// Numbers in brackets after it.
    pub numbers: Vec<u32>,
    /// Members in brackets after it.
    pub members: Option<Vec<String>>,
    /// `unsigned`.
    pub unsigned: bool,
    /// `zerofill`.
    pub zerofill: bool,
    /// The values have a format before MySQL 5.6: `/* mariadb-5.3 */`, `/* 5.5 binary format */`.
    pub old: bool,
    /// MariaDB compresses each value: `/*M!100301 COMPRESSED*/`.
    pub compressed: bool,
}

impl Declared {
    /// Takes a type apart; `None` if there is a word in it that is not known.
    pub fn of(words: &str) -> Option<Declared> {
        let words = words.trim();
        let end = words
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(words.len());
        let mut all = Declared {
            name: words[..end].to_ascii_lowercase(),
            ..Declared::default()
        };
        let mut rest = words[end..].trim_start();
        if let Some(inner) = rest.strip_prefix('(') {
            rest = if inner.trim_start().starts_with('\'') {
                let (members, behind) = members(inner.trim_start())?;
                all.members = Some(members);
                behind
            } else {
                let (numbers, behind) = inner.split_once(')')?;
                for number in numbers.split(',') {
                    all.numbers.push(number.trim().parse().ok()?);
                }
                behind
            };
        }
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                return Some(all);
            }
            if let Some(inner) = rest.strip_prefix("/*") {
                let (comment, behind) = inner.split_once("*/")?;
                all.comment(comment)?;
                rest = behind;
                continue;
            }
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            match rest[..end].to_ascii_lowercase().as_str() {
                "unsigned" => all.unsigned = true,
                "zerofill" => (all.unsigned, all.zerofill) = (true, true),
                "signed" => {}
                "compressed" => all.compressed = true,
                _ => return None,
            }
            rest = &rest[end..];
        }
    }

    fn comment(&mut self, comment: &str) -> Option<()> {
        let comment = comment.trim();
        if matches!(comment, "mariadb-5.3" | "5.5 binary format") {
            self.old = true;
        } else if comment.starts_with("M!") && comment.ends_with(" COMPRESSED") {
            self.compressed = true;
        } else if comment != "mysql-5.6" {
            return None;
        }
        Some(())
    }
}

/// `'a','it''s','back\\slash') rest`: the members, and what follows the bracket.
fn members(list: &str) -> Option<(Vec<String>, &str)> {
    let mut all = Vec::new();
    let mut rest = list;
    loop {
        let mut member = String::new();
        let mut chars = rest.strip_prefix('\'')?.chars();
        loop {
            match chars.next()? {
                '\\' => member.push(match chars.next()? {
                    '0' => '\0',
                    'n' => '\n',
                    'r' => '\r',
                    itself => itself,
                }),
                '\'' => {
                    let behind = chars.as_str();
                    if !behind.starts_with('\'') {
                        rest = behind.trim_start();
                        break;
                    }
                    member.push('\'');
                    chars.next();
                }
                c => member.push(c),
            }
        }
        all.push(member);
        match rest.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None => return Some((all, rest.strip_prefix(')')?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_taken_apart() {
        let all = Declared::of("DECIMAL(10, 2) unsigned zerofill").expect("known");
        assert_eq!(
            (all.name.as_str(), &all.numbers[..]),
            ("decimal", &[10, 2][..])
        );
        assert!(all.unsigned && all.zerofill && !all.old);
        assert!(
            Declared::of("time(3) /* mariadb-5.3 */")
                .expect("known")
                .old
        );
        assert!(
            Declared::of("text /*M!100301 COMPRESSED*/")
                .expect("known")
                .compressed
        );
        let all = Declared::of(r"enum('a','it''s','b\\c\n',''',)')").expect("known");
        assert_eq!(
            all.members.expect("members"),
            ["a", "it's", "b\\c\n", "',)"]
        );
        for unknown in [
            "int(x)",
            "enum('a'",
            "enum('a',)",
            "int mystery",
            "int /* what */",
            "enum('a\\",
        ] {
            assert_eq!(Declared::of(unknown), None, "{unknown}");
        }
    }
}
