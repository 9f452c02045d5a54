//! Columns of a `.frm` file: 17 bytes for each, then their names, the members of their ENUM and SET, their comments,
//! and expressions.

use super::bytes::{Part, damaged, utf8};
use super::{Extra, collation};
use crate::read::Error;
use crate::read::types::{Server, Type, Unsupported};

/// Bytes of a column (`FCOMP`).
const COLUMN: usize = 17;
/// What stands before and between names (`NAMES_SEP_CHAR`).
const SEPARATOR: u8 = 0xff;
/// Bytes before the expressions (`FRM_VCOL_NEW_BASE_SIZE`).
const EXPRESSIONS: usize = 16;

/// Flags of a column (`FIELDFLAG_*`).
mod flag {
    pub const SIGNED: u16 = 1;
    pub const ZEROFILL: u16 = 4;
    pub const DECIMALS: u16 = 8;
    pub const NO_DEFAULT: u16 = 0x4000;
    pub const NULLABLE: u16 = 0x8000;
}

/// What the server does with a column by itself (`Field::utype`).
mod by_itself {
    pub const AUTO_INCREMENT: u8 = 15;
    pub const DEFAULT_NOW: u8 = 21;
    pub const UPDATE_NOW: u8 = 22;
    pub const BOTH_NOW: u8 = 23;
    pub const COMPRESSED: u8 = 24;
}

/// Kinds of expressions (`enum_vcol_info_type`).
mod expression {
    pub const VIRTUAL: u8 = 0;
    pub const STORED: u8 = 1;
    pub const DEFAULT: u8 = 2;
    pub const CHECK_COLUMN: u8 = 3;
    pub const CHECK_TABLE: u8 = 4;
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type as `information_schema.columns` has it; members that are not UTF-8 are in it as far as they can be shown.
    pub column_type: String,
    /// Its collation; `None` for types without one.
    pub collation: Option<String>,
    /// Members of ENUM and SET in the bytes of rows.
    pub members: Option<Vec<Vec<u8>>>,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether the server counts it up.
    pub auto_increment: bool,
    /// How it is computed, where it is.
    pub generated: Option<Generated>,
    /// Its value in a row that names none.
    pub default: Default,
    /// Whether an update sets it to the current time.
    pub on_update_now: bool,
    /// Who sees it.
    pub visible: Visible,
    /// Whether changes of it are kept, in a system-versioned table.
    pub versioned: bool,
    /// Its condition.
    pub check: Option<String>,
    /// Its comment.
    pub comment: String,
    /// Whether UUIDs are stored as before MariaDB 10.11.5.
    pub(super) old_uuid: bool,
    /// Where its value begins in a row in memory, from 1.
    pub(super) at: usize,
    /// Bytes of it there, where they depend on the type's length.
    pub(super) length: usize,
    /// Its type by number.
    pub(super) number: u8,
    /// Digits of a second's fraction.
    digits: Option<usize>,
}

/// How a column is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The expression.
    pub expression: String,
    /// Whether rows keep the value.
    pub stored: bool,
}

/// The value of a column that is not named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Default {
    /// There is none, or it is not told.
    None,
    /// An expression, or a literal in SQL; NULL included.
    Sql(String),
}

/// Who sees a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visible {
    /// Everyone.
    Yes,
    /// A statement that names it.
    Named,
    /// A statement that names it; the server made it.
    System,
    /// Nobody.
    No,
}

impl Column {
    /// Its character set.
    pub fn charset(&self) -> Option<&str> {
        self.collation.as_deref().map(collation::charset)
    }

    /// How its values are stored.
    pub fn stored_as(&self) -> Result<Type, Unsupported> {
        let words = if self.old_uuid {
            "uuid /* mariadb-5.3 */"
        } else {
            &self.column_type
        };
        Type::of(words, self.charset(), self.members.clone(), Server::MariaDb)
    }

    /// Digits of a second's fraction.
    pub(super) fn now(&self) -> String {
        match self.digits {
            Some(digits @ 1..) => format!("current_timestamp({digits})"),
            _ => "current_timestamp()".to_owned(),
        }
    }
}

/// Columns, and the conditions of the table.
pub struct Read {
    pub columns: Vec<Column>,
    pub checks: Vec<(String, String)>,
}

/// Reads them; `form` is what stands before them.
pub fn read(
    from: Part<'_>,
    form: Part<'_>,
    extra: &Extra<'_>,
    version: u32,
) -> Result<Read, Error> {
    let count = usize::from(form.u16(258)?);
    let entries = from.part(0, count * COLUMN)?;
    let mut rest = from.from(count * COLUMN)?;
    let mut names = Part(rest.take(form.u16(268)?.into())?);
    let mut members = Part(rest.take(form.u16(274)?.into())?);
    let mut comments = Part(rest.take(form.u16(284)?.into())?);
    let lists = lists(&mut members, form.u16(270)?)?;
    names.take_until(SEPARATOR)?;
    let mut columns = Vec::with_capacity(count);
    for n in 0..count {
        let entry = entries.part(n * COLUMN, COLUMN)?;
        let flags = extra.column_flags.get(n).copied().unwrap_or(0);
        let comment = comments.take(entry.u16(15)?.into())?;
        let plugin = extra.types.iter().find(|(column, _)| *column == n);
        let members = match entry.u8(12)? {
            0 => None,
            id => Some(
                lists
                    .get(usize::from(id) - 1)
                    .ok_or_else(|| damaged("members that are not there"))?,
            ),
        };
        let mut column = column(
            entry,
            plugin.map(|(_, name)| name.as_str()),
            members,
            version,
        )?;
        column.name = utf8(names.take_until(SEPARATOR)?);
        column.comment = utf8(comment);
        column.visible = match flags & 7 {
            0 => Visible::Yes,
            1 => Visible::Named,
            2 => Visible::System,
            _ => Visible::No,
        };
        column.versioned = flags & 8 == 0;
        columns.push(column);
    }
    let checks = expressions(rest, &mut columns)?;
    Ok(Read { columns, checks })
}

/// The lists of members: each begins with the byte that separates, and ends with a zero.
fn lists<'f>(from: &mut Part<'f>, count: u16) -> Result<Vec<Vec<&'f [u8]>>, Error> {
    let mut all = Vec::new();
    for _ in 0..count {
        let separator = from.take_u8()?;
        let mut list = Vec::new();
        while from.u8(0)? != 0 || separator == 0 {
            list.push(from.take_until(separator)?);
        }
        from.take(1)?;
        all.push(list);
    }
    Ok(all)
}

fn column(
    entry: Part<'_>,
    plugin: Option<&str>,
    list: Option<&Vec<&[u8]>>,
    version: u32,
) -> Result<Column, Error> {
    let length = usize::from(entry.u16(3)?);
    let flags = entry.u16(8)?;
    let by_itself = entry.u8(10)?;
    let number = entry.u8(13)?;
    let id = u16::from(entry.u8(11)?) << 8 | u16::from(entry.u8(14)?);
    let collation = match collation::name(id) {
        Some(name) => name,
        // Of other types, the number is none.
        None if !matches!(number, 15 | 247..=254) => "binary".to_owned(),
        None => return Err(Error::Unsupported(format!("collation number {id}"))),
    };
    let is_binary = collation == "binary";
    let characters =
        |bytes: usize| match values::charset::Charset::of(collation::charset(&collation)) {
            Some(set) => bytes / usize::from(set.most),
            None => bytes,
        };
    let decimals = usize::from(flags >> flag::DECIMALS & 63);
    let signed = flags & flag::SIGNED != 0;
    let signs = match (flags & flag::ZEROFILL != 0, signed) {
        (true, _) => " unsigned zerofill",
        (false, false) => " unsigned",
        (false, true) => "",
    };
    // FLOAT and DOUBLE without numbers have the most that fits here.
    let float = |name: &str| match decimals {
        31.. => format!("{name}{signs}"),
        _ => format!("{name}({length},{decimals}){signs}"),
    };
    // A time's length grows by a point and the digits.
    let mut digits = None;
    let mut time = |name: &str, plain: usize, old: bool| {
        let fraction = length.saturating_sub(plain + 1);
        digits = Some(fraction);
        let words = if fraction > 0 {
            format!("{name}({fraction})")
        } else {
            name.to_owned()
        };
        if old {
            format!("{words} /* mariadb-5.3 */")
        } else {
            words
        }
    };
    let text = |of_text: &str, of_bytes: &str| {
        if is_binary {
            of_bytes.to_owned()
        } else {
            of_text.to_owned()
        }
    };
    let mut members = None;
    let mut words = match (plugin, number) {
        (Some("vector"), _) => format!("vector({})", length / 4),
        (Some(name @ ("uuid" | "inet4" | "inet6")), _) => name.to_owned(),
        (Some(name), _) if !name.is_empty() && name != "mysql_json" => name.to_owned(),
        (_, 1) => format!("tinyint({length}){signs}"),
        (_, 2) => format!("smallint({length}){signs}"),
        (_, 9) => format!("mediumint({length}){signs}"),
        (_, 3) => format!("int({length}){signs}"),
        (_, 8) => format!("bigint({length}){signs}"),
        (_, 4) => float("float"),
        (_, 5) => float("double"),
        (_, 246) => {
            let digits = length.saturating_sub(usize::from(decimals > 0) + usize::from(signed));
            format!("decimal({digits},{decimals}){signs}")
        }
        (_, 13) => format!("year({length})"),
        (_, 14) => "date".to_owned(),
        (_, 7) => time("timestamp", 19, true),
        (_, 17) => time("timestamp", 19, false),
        (_, 12) => time("datetime", 19, true),
        (_, 18) => time("datetime", 19, false),
        (_, 11) => time("time", 10, true),
        (_, 19) => time("time", 10, false),
        (_, 16) => format!("bit({length})"),
        (_, 15) => {
            // With a byte for the way of compression.
            let most = length - usize::from(by_itself == by_itself::COMPRESSED && length > 0);
            text(
                &format!("varchar({})", characters(most)),
                &format!("varbinary({most})"),
            )
        }
        (_, 254) => text(
            &format!("char({})", characters(length)),
            &format!("binary({length})"),
        ),
        (_, 249) => text("tinytext", "tinyblob"),
        (_, 252) => text("text", "blob"),
        (_, 250) => text("mediumtext", "mediumblob"),
        (_, 251) => text("longtext", "longblob"),
        (_, 255) => {
            const SHAPES: [&str; 8] = [
                "geometry",
                "point",
                "linestring",
                "polygon",
                "multipoint",
                "multilinestring",
                "multipolygon",
                "geometrycollection",
            ];
            let shape = SHAPES.get(usize::from(entry.u8(14)?));
            (*shape.ok_or_else(|| damaged("a geometry of no kind"))?).to_owned()
        }
        (_, 247 | 248) => {
            let list = list.ok_or_else(|| damaged("no members"))?;
            let (words, bytes) = listed(list, collation::charset(&collation))?;
            members = Some(bytes);
            format!("{}({words})", if number == 247 { "enum" } else { "set" })
        }
        (_, number) => {
            return Err(Error::Unsupported(format!(
                "a column of type number {number}"
            )));
        }
    };
    if by_itself == by_itself::COMPRESSED {
        words += " /*M!100301 COMPRESSED*/";
    }
    let is_text = matches!(number, 15 | 247..=252 | 254) && plugin.is_none_or(str::is_empty);
    let mut default = Default::None;
    if matches!(by_itself, by_itself::DEFAULT_NOW | by_itself::BOTH_NOW) {
        default = Default::Sql(String::new());
    }
    let mut column = Column {
        name: String::new(),
        collation: (is_text && (!is_binary || matches!(number, 247 | 248))).then_some(collation),
        members,
        nullable: flags & flag::NULLABLE != 0,
        auto_increment: by_itself == by_itself::AUTO_INCREMENT,
        generated: None,
        default,
        on_update_now: matches!(by_itself, by_itself::UPDATE_NOW | by_itself::BOTH_NOW),
        visible: Visible::Yes,
        versioned: true,
        check: None,
        comment: String::new(),
        old_uuid: words == "uuid" && !is_new_uuid(version),
        at: if flags & flag::NO_DEFAULT != 0 {
            0
        } else {
            entry.u24(5)? as usize
        },
        length,
        number,
        digits,
        column_type: words,
    };
    if column.default != Default::None {
        column.default = Default::Sql(column.now());
    }
    Ok(column)
}

/// Whether a server of this version stores UUIDs of the versions 6 and above as they are (MDEV-29959).
fn is_new_uuid(version: u32) -> bool {
    const SINCE: [u32; 5] = [100_908, 101_006, 101_105, 110_003, 110_102];
    let of_series = SINCE.iter().find(|since| *since / 100 == version / 100);
    of_series.is_some_and(|since| version >= *since) || version >= 110_200
}

/// Members in words, and in bytes.
fn listed(list: &[&[u8]], charset: &str) -> Result<(String, Vec<Vec<u8>>), Error> {
    let set = values::charset::Charset::of(charset);
    let wide = set.is_some_and(|set| set.least > 1);
    let mut words = String::new();
    let mut members = Vec::new();
    for member in list {
        let bytes = if wide {
            unhex(member)?
        } else {
            member.to_vec()
        };
        let shown = match set {
            Some(set) => set.decode(&bytes),
            None => String::from_utf8_lossy(&bytes).into_owned(),
        };
        if !words.is_empty() {
            words.push(',');
        }
        words.push('\'');
        for c in shown.chars() {
            match c {
                '\'' => words += "''",
                '\\' => words += "\\\\",
                '\0' => words += "\\0",
                '\n' => words += "\\n",
                '\r' => words += "\\r",
                c => words.push(c),
            }
        }
        words.push('\'');
        members.push(bytes);
    }
    Ok((words, members))
}

/// Members of character sets whose characters are two bytes and more are written in hexadecimal digits.
fn unhex(digits: &[u8]) -> Result<Vec<u8>, Error> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|n| n as u8);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [a, b] => Some(digit(*a)? << 4 | digit(*b)?),
        _ => None,
    });
    pairs
        .collect::<Option<_>>()
        .ok_or_else(|| damaged("members that are not hexadecimal"))
}

/// Expressions; the conditions of the table.
fn expressions(mut from: Part<'_>, columns: &mut [Column]) -> Result<Vec<(String, String)>, Error> {
    let mut checks = Vec::new();
    if from.0.is_empty() {
        return Ok(checks);
    }
    from.take(EXPRESSIONS)?;
    while !from.0.is_empty() {
        let kind = from.take_u8()?;
        let of = usize::from(from.take_u16()?);
        let length = from.take_u16()?;
        let name = from.take_u8()?;
        let name = utf8(from.take(name.into())?);
        let words = utf8(from.take(length.into())?);
        if kind == expression::CHECK_TABLE {
            checks.push((name, words));
            continue;
        }
        let column = columns.get_mut(of);
        let column =
            column.ok_or_else(|| damaged("an expression of a column that is not there"))?;
        match kind {
            expression::VIRTUAL | expression::STORED => {
                column.generated = Some(Generated {
                    expression: words,
                    stored: kind == expression::STORED,
                });
            }
            expression::DEFAULT => column.default = Default::Sql(words),
            expression::CHECK_COLUMN => column.check = Some(words),
            _ => return Err(damaged("an expression of an unknown kind")),
        }
    }
    Ok(checks)
}
