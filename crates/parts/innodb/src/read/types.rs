//! How a column's values are stored, and the cell that the server sends for them.
//!
//! A [`Type`] comes from the type in words (`COLUMN_TYPE` of `information_schema.columns`, or `column_type_utf8` of the
//! serialized dictionary information) and the column's character set. Its cells are those of the canonical
//! SELECT: the text protocol without character set conversion, in UTC, FLOAT widened to DOUBLE.
//! NULL is the caller's: records say it, not values.

use values::charset::Charset;
use values::declared::Declared;
use values::number::{self, Decimal, Whole};
use values::{address, cell, float, json, time};

pub use values::Broken;

/// Whose types these are: some names mean something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
}

/// Why the values of a column cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The type.
    #[error("type {0}")]
    Type(String),
    /// Its character set.
    #[error("character set {0}")]
    Charset(String),
    /// Members of ENUM or SET whose bytes are not told by the words in this character set: they have to be given ([`members`]).
    #[error("members of {0} in character set {1}")]
    Members(String, String),
}

/// Fields of a fixed length are at most this long; longer ones have their length in the record (`DICT_MAX_FIXED_COL_LEN`).
const FIXED_MOST: usize = 768;
/// Fields that can be longer than this may have a length of two bytes (`DATA_BIG_COL`).
const LENGTH_IN_ONE_BYTE: usize = 255;
/// Digits of DOUBLE ZEROFILL without numbers.
const DOUBLE_DIGITS: u8 = 22;

/// How a column's values are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    form: Form,
    /// Bytes of a value at most.
    most: usize,
    fixed: Option<usize>,
    redundant: Option<usize>,
    big: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Integer {
        bytes: u8,
        unsigned: bool,
        zerofill: u8,
    },
    Decimal(Decimal),
    Float {
        bytes: u8,
        zerofill: u8,
    },
    Date,
    Time(u8),
    DateTime(u8),
    Timestamp(u8),
    OldTime(u8),
    OldDateTime(u8),
    OldTimestamp(u8),
    Year {
        short: bool,
    },
    /// The cells of what is no member and of the members, by number.
    Enum(Vec<Box<[u8]>>),
    Set {
        members: Vec<Box<[u8]>>,
        comma: Box<[u8]>,
    },
    Char(Charset),
    Bytes,
    Json,
    Uuid {
        turned: bool,
    },
    Inet4,
    Inet6,
}

impl Type {
    /// From the type in words, its character set, and the members of ENUM or SET in that set where their bytes differ from
    /// the words.
    pub fn of(
        column_type: &str,
        charset: Option<&str>,
        members: Option<Vec<Vec<u8>>>,
        server: Server,
    ) -> Result<Type, Unsupported> {
        let unsupported = || Unsupported::Type(column_type.to_owned());
        let words = Declared::of(column_type).ok_or_else(unsupported)?;
        if words.compressed {
            return Err(unsupported());
        }
        let set = || match charset {
            Some(name) => Charset::of(&name.to_ascii_lowercase())
                .ok_or_else(|| Unsupported::Charset(name.to_owned())),
            None => Err(Unsupported::Charset("not known".to_owned())),
        };
        let first = words.numbers.first().copied();
        let length = |otherwise| first.map_or(otherwise, |n| n as usize);
        let all = match words.name.as_str() {
            "char" => {
                let set = set()?;
                Type::char(length(1), set)
            }
            "varchar" => {
                let most = first.ok_or_else(unsupported)? as usize;
                Type::long(most * usize::from(set()?.most), Form::Bytes)
            }
            "varbinary" => Type::long(first.ok_or_else(unsupported)? as usize, Form::Bytes),
            "binary" => Type::padded(length(1)),
            "tinytext" | "text" | "mediumtext" | "longtext" => {
                set()?;
                Type::blob(Form::Bytes)
            }
            "tinyblob" | "blob" | "mediumblob" | "longblob" => Type::blob(Form::Bytes),
            "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring"
            | "multipolygon" | "geometrycollection" | "geomcollection" => Type::blob(Form::Bytes),
            "json" => match server {
                Server::MySql => Type::blob(Form::Json),
                Server::MariaDb => Type::blob(Form::Bytes),
            },
            "vector" => match server {
                Server::MySql => Type::blob(Form::Bytes),
                // Four bytes for each number, stored as VARBINARY is.
                Server::MariaDb => {
                    Type::long(4 * first.ok_or_else(unsupported)? as usize, Form::Bytes)
                }
            },
            "uuid" if server == Server::MariaDb => {
                Type::fixed_form(16, Form::Uuid { turned: words.old })
            }
            "inet4" if server == Server::MariaDb => Type::fixed_form(4, Form::Inet4),
            "inet6" if server == Server::MariaDb => Type::fixed_form(16, Form::Inet6),
            "enum" | "set" => Type::listed(&words, column_type, charset, set()?, members)?,
            _ => Type::number(&words)
                .or_else(|| Type::time(&words))
                .ok_or_else(unsupported)?,
        };
        Ok(all)
    }

    /// Bytes of a value in records of COMPACT and DYNAMIC; `None` where the record says.
    pub fn fixed(&self) -> Option<usize> {
        self.fixed
    }

    /// Bytes of a value, also of NULL, in records of REDUNDANT; `None` where it depends on the value.
    pub fn fixed_redundant(&self) -> Option<usize> {
        self.redundant
    }

    /// Whether its length may take two bytes in the record, and the value may be off-page: more than 255 bytes long, or a BLOB.
    pub fn is_big(&self) -> bool {
        self.big
    }

    /// How its whole numbers are written, where it has such without ZEROFILL.
    pub(super) fn whole(&self) -> Option<Whole> {
        match self.form {
            Form::Integer {
                bytes,
                unsigned,
                zerofill: 0,
            } => Some(Whole::new(bytes, unsigned)),
            _ => None,
        }
    }

    /// Appends a value that is not NULL as one length-encoded cell of the text protocol.
    #[inline]
    pub fn cell(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        match &self.form {
            Form::Integer {
                bytes,
                unsigned,
                zerofill,
            } => number::integer(stored, *bytes, *unsigned, *zerofill, out),
            Form::Decimal(decimal) => decimal.cell(stored, out),
            Form::Char(set) => {
                self.no_longer(stored)?;
                cell::put(set.without_padding(stored), out);
                Ok(())
            }
            Form::Bytes => {
                self.no_longer(stored)?;
                cell::put(stored, out);
                Ok(())
            }
            Form::DateTime(digits) => time::date_time(stored, *digits, out),
            Form::Timestamp(digits) => time::timestamp(stored, *digits, out),
            Form::Date => time::date(stored, out),
            Form::Time(digits) => time::time(stored, *digits, out),
            _ => self.rare_cell(stored, out),
        }
    }

    fn rare_cell(&self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
        match &self.form {
            Form::Float { bytes, zerofill } => {
                if stored.len() != usize::from(*bytes) {
                    return Err(Broken("number of this length"));
                }
                float::put(stored, *zerofill, out)
            }
            Form::Year { short } => time::year(stored, *short, out),
            Form::OldTime(digits) => time::old_time(stored, *digits, out),
            Form::OldDateTime(digits) => time::old_date_time(stored, *digits, out),
            Form::OldTimestamp(digits) => time::old_timestamp(stored, *digits, out),
            Form::Enum(cells) => {
                let n = self.number_of(stored)?;
                let cell = usize::try_from(n).ok().and_then(|n| cells.get(n));
                out.extend_from_slice(cell.ok_or(Broken("member of the ENUM"))?);
                Ok(())
            }
            Form::Set { members, comma } => set(self.number_of(stored)?, members, comma, out),
            Form::Json => json::put(stored, out),
            Form::Uuid { turned } => address::uuid(stored, *turned, out),
            Form::Inet4 => address::inet4(stored, out),
            Form::Inet6 => address::inet6(stored, out),
            _ => Err(Broken("value of this type")),
        }
    }

    #[inline]
    fn no_longer(&self, stored: &[u8]) -> Result<(), Broken> {
        if stored.len() > self.most || self.fixed.is_some_and(|fixed| stored.len() != fixed) {
            return Err(Broken("value of this length"));
        }
        Ok(())
    }

    fn number_of(&self, stored: &[u8]) -> Result<u64, Broken> {
        if stored.len() != self.most {
            return Err(Broken("member of this length"));
        }
        Ok(number::big_endian(stored))
    }

    fn fixed_form(bytes: usize, form: Form) -> Type {
        Type {
            form,
            most: bytes,
            fixed: Some(bytes),
            redundant: Some(bytes),
            big: false,
        }
    }

    /// A value of at most so many bytes.
    fn long(most: usize, form: Form) -> Type {
        Type {
            form,
            most,
            fixed: None,
            redundant: None,
            big: most > LENGTH_IN_ONE_BYTE,
        }
    }

    fn blob(form: Form) -> Type {
        Type {
            big: true,
            ..Type::long(u32::MAX as usize, form)
        }
    }

    /// Always so many bytes: BINARY and BIT. Of none there is a length in the record.
    fn padded(bytes: usize) -> Type {
        let fixed = (1..=FIXED_MOST).contains(&bytes).then_some(bytes);
        Type {
            fixed,
            redundant: fixed,
            ..Type::long(bytes, Form::Bytes)
        }
    }

    /// CHAR of so many characters. Where these differ in length, COMPACT leaves spaces out, and has the length in the record.
    fn char(characters: usize, set: Charset) -> Type {
        let all = Type::padded(characters * usize::from(set.most));
        Type {
            fixed: all.fixed.filter(|_| set.least == set.most),
            form: Form::Char(set),
            ..all
        }
    }

    fn number(words: &Declared) -> Option<Type> {
        let integer = |bytes, width| {
            let zerofill = match (words.zerofill, words.numbers.as_slice()) {
                (false, _) => 0,
                (true, []) => width,
                (true, [width, ..]) => u8::try_from(*width).ok()?,
            };
            let form = Form::Integer {
                bytes,
                unsigned: words.unsigned,
                zerofill,
            };
            Some(Type::fixed_form(bytes.into(), form))
        };
        match words.name.as_str() {
            "tinyint" => integer(1, 3),
            "smallint" => integer(2, 5),
            "mediumint" => integer(3, 8),
            "int" | "integer" => integer(4, 10),
            "bigint" => integer(8, 20),
            "decimal" | "numeric" => {
                let (digits, scale) = match *words.numbers.as_slice() {
                    [] => (10, 0),
                    [digits] => (digits, 0),
                    [digits, scale] => (digits, scale),
                    _ => return None,
                };
                let (digits, scale) = (u8::try_from(digits).ok()?, u8::try_from(scale).ok()?);
                let decimal = Decimal::new(digits, scale, words.zerofill)?;
                Some(Type::fixed_form(decimal.bytes(), Form::Decimal(decimal)))
            }
            "float" => Some(Type::fixed_form(
                4,
                Form::Float {
                    bytes: 4,
                    zerofill: 0,
                },
            )),
            "double" | "real" => {
                // With numbers, the canonical SELECT multiplies it, and ZEROFILL is lost.
                let zeros = words.zerofill && words.numbers.is_empty();
                let zerofill = if zeros { DOUBLE_DIGITS } else { 0 };
                Some(Type::fixed_form(8, Form::Float { bytes: 8, zerofill }))
            }
            "bit" => match words.numbers.first().copied().unwrap_or(1) {
                bits @ 1..=64 => Some(Type::padded(bits.div_ceil(8) as usize)),
                _ => None,
            },
            _ => None,
        }
    }

    fn time(words: &Declared) -> Option<Type> {
        let number = words.numbers.first().copied().unwrap_or(0);
        let digits = u8::try_from(number).ok().filter(|n| *n <= 6);
        let fraction = |digits| time::fraction_bytes(digits);
        let (bytes, form) = match (words.name.as_str(), words.old) {
            ("date", _) => (3, Form::Date),
            ("year", _) => (1, Form::Year { short: number == 2 }),
            ("time", false) => (3 + fraction(digits?), Form::Time(digits?)),
            ("datetime", false) => (5 + fraction(digits?), Form::DateTime(digits?)),
            ("timestamp", false) => (4 + fraction(digits?), Form::Timestamp(digits?)),
            ("time", true) => (time::old_bytes(false, digits?), Form::OldTime(digits?)),
            ("datetime", true) => (time::old_bytes(true, digits?), Form::OldDateTime(digits?)),
            ("timestamp", true) => (4 + fraction(digits?), Form::OldTimestamp(digits?)),
            _ => return None,
        };
        Some(Type::fixed_form(bytes, form))
    }

    /// ENUM and SET.
    fn listed(
        words: &Declared,
        column_type: &str,
        charset: Option<&str>,
        set: Charset,
        encoded: Option<Vec<Vec<u8>>>,
    ) -> Result<Type, Unsupported> {
        let unsupported = || Unsupported::Type(column_type.to_owned());
        let encode = |text: &str| {
            set.encode(text).ok_or_else(|| {
                let charset = charset.unwrap_or_default().to_owned();
                Unsupported::Members(column_type.to_owned(), charset)
            })
        };
        let members = match (encoded, &words.members) {
            (Some(encoded), _) => encoded,
            (None, Some(members)) => members
                .iter()
                .map(|m| encode(m))
                .collect::<Result<_, _>>()?,
            (None, None) => return Err(unsupported()),
        };
        if words.name == "set" {
            let bytes = match members.len().div_ceil(8) {
                n @ 1..=4 => n,
                5..=8 => 8,
                _ => return Err(unsupported()),
            };
            let form = Form::Set {
                members: members.into_iter().map(Vec::into_boxed_slice).collect(),
                comma: encode(",")?.into_boxed_slice(),
            };
            return Ok(Type::fixed_form(bytes, form));
        }
        if members.is_empty() || members.len() > 0xffff {
            return Err(unsupported());
        }
        // The canonical SELECT writes what is no member as '0', unless that may be one; then it is empty.
        let none = encode(if column_type.contains("'0'") { "" } else { "0" })?;
        let bytes = if members.len() < 256 { 1 } else { 2 };
        let cells = std::iter::once(none).chain(members).map(|member| {
            let mut all = Vec::new();
            cell::put(&member, &mut all);
            all.into_boxed_slice()
        });
        Ok(Type::fixed_form(bytes, Form::Enum(cells.collect())))
    }
}

/// The members of an ENUM or SET in words, whose bytes [`Type::of`] wants to be given if it says [`Unsupported::Members`].
pub fn members(column_type: &str) -> Option<Vec<String>> {
    Declared::of(column_type)?.members
}

/// The members of a SET, in their order, with commas between them.
fn set(bits: u64, members: &[Box<[u8]>], comma: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
    if members.len() < 64 && bits >> members.len() != 0 {
        return Err(Broken("member of the SET"));
    }
    let chosen = || {
        members
            .iter()
            .enumerate()
            .filter(|(n, _)| bits >> n & 1 == 1)
    };
    let text: usize = chosen().map(|(_, member)| member.len()).sum();
    let commas = chosen().count().saturating_sub(1) * comma.len();
    cell::length(text + commas, out);
    for (n, (_, member)) in chosen().enumerate() {
        if n > 0 {
            out.extend_from_slice(comma);
        }
        out.extend_from_slice(member);
    }
    Ok(())
}
