//! The file that `FLUSH TABLES … FOR EXPORT` writes beside a tablespace: which
//! columns and indexes the table has, as InnoDB sees them.
//!
//! The shape follows what servers write (MySQL's version 8, MariaDB's version
//! 1; row0quiesce.cc of both): numbers big endian, names with their length,
//! which counts the zero byte at their end.

use std::ops::Range;

/// Why a file is not such a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not a version that is known.
    #[error("version {0} of the description of a tablespace is not known")]
    Version(u32),
    /// It ends too early, or has lengths that cannot be.
    #[error("the description of the tablespace is damaged near byte {0}")]
    Damaged(usize),
    /// More than this crate reads.
    #[error("the table {0}")]
    Unsupported(&'static str),
}

/// A table as the server exported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// `schema/table`, as InnoDB writes names.
    pub table: String,
    /// Next number of its AUTO_INCREMENT.
    pub auto_increment: u64,
    /// Bytes of a page.
    pub page_size: u32,
    /// InnoDB's flags of the table.
    pub flags: u32,
    /// Columns, those of the system last.
    pub columns: Vec<Column>,
    /// Indexes of the table, the clustered one first; not the one of the dictionary.
    pub indexes: Vec<Index>,
    /// MySQL: the index that holds the dictionary's description of the table.
    pub dictionary: Option<Index>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// InnoDB's main type (`DATA_…`, data0type.h).
    pub main: u32,
    /// Type of the server in the low byte, then flags, then the collation.
    pub precise: u32,
    /// Bytes at most; 0 where the type says enough.
    pub length: u32,
    /// Bytes of a character, least and most.
    pub character: Range<u8>,
}

/// Flags of [`Column::precise`].
pub mod precise {
    /// Never NULL.
    pub const NOT_NULL: u32 = 0x100;
    /// Compared byte by byte.
    pub const BINARY: u32 = 0x400;
}

impl Column {
    /// Whether it may be NULL.
    pub fn is_nullable(&self) -> bool {
        self.precise & precise::NOT_NULL == 0
    }

    /// Number of its collation, in the server's list.
    pub fn collation(&self) -> u32 {
        (self.precise >> 16) & 0x7fff
    }
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Number of its root page.
    pub root: u32,
    /// InnoDB's flags (`DICT_…`, dict0mem.h).
    pub kind: u32,
    /// Fields that tell records apart.
    pub unique: usize,
    /// Fields that the user named.
    pub defined: usize,
    /// Fields in the order in which records hold them.
    pub fields: Vec<Field>,
}

/// Flags of [`Index::kind`].
pub mod index_kind {
    /// Holds the rows.
    pub const CLUSTERED: u32 = 1;
    /// No two rows may be equal in it.
    pub const UNIQUE: u32 = 2;
    /// A full text index, an R-tree, on virtual columns, of the dictionary, damaged, or anything later.
    pub const OTHERS: u32 = !3;
}

impl Index {
    /// Whether it holds the rows.
    pub fn is_clustered(&self) -> bool {
        self.kind & index_kind::CLUSTERED != 0
    }

    /// Whether no two rows may be equal in it (but for NULL).
    pub fn is_unique(&self) -> bool {
        self.kind & index_kind::UNIQUE != 0
    }
}

/// A field of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// Bytes of the column that it holds; 0: all.
    pub prefix: u32,
    /// Bytes that it always has; 0: as many as the record says.
    pub fixed: u32,
    /// From the smallest to the largest.
    pub ascending: bool,
}

/// MariaDB's mark of a descending field, in its length.
const DESCENDING: u32 = 1 << 31;

/// More columns than a table can have.
const MOST_COLUMNS: u32 = 1100;

/// More indexes or fields than a table can have.
const MOST_INDEXES: u32 = 80;

impl Exported {
    /// Reads such a file.
    pub fn read(bytes: &[u8]) -> Result<Exported, Error> {
        let mut r = Reader { bytes, at: 0 };
        match r.number()? {
            1 => mariadb(&mut r),
            8 => mysql(&mut r),
            other => Err(Error::Version(other)),
        }
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }
}

fn mysql(r: &mut Reader<'_>) -> Result<Exported, Error> {
    let (table, auto_increment, page_size, flags, n) = head(r)?;
    // Columns that were nullable before the first instant ALTER; columns at first, now, in all; dropped ones;
    // versions of rows.
    let [_, first, now, all, dropped, versions] = r.numbers()?;
    let _space_flags = r.number()?;
    let compression = r.byte()?;
    if first != now || now != all || dropped != 0 || versions != 0 {
        return Err(Error::Unsupported("was altered instantly"));
    }
    if compression != 0 {
        return Err(Error::Unsupported("has compressed pages"));
    }
    let mut columns = Vec::new();
    for _ in 0..n {
        columns.push(column(r)?);
        // Versions of rows in which it came and went, its place in them, and a default that is kept apart.
        let [added, _place] = r.numbers()?;
        if added != u32::MAX || r.byte()? != 0 {
            return Err(Error::Unsupported("was altered instantly"));
        }
    }
    let mut indexes = indexes(r, true)?;
    let dictionary = indexes
        .iter()
        .position(|i| i.id == u64::MAX)
        .map(|at| indexes.remove(at));
    finish(
        r,
        Exported {
            table,
            auto_increment,
            page_size,
            flags,
            columns,
            indexes,
            dictionary,
        },
    )
}

fn mariadb(r: &mut Reader<'_>) -> Result<Exported, Error> {
    let (table, auto_increment, page_size, flags, n) = head(r)?;
    let columns = (0..n).map(|_| column(r)).collect::<Result<Vec<_>, _>>()?;
    let indexes = indexes(r, false)?;
    finish(
        r,
        Exported {
            table,
            auto_increment,
            page_size,
            flags,
            columns,
            indexes,
            dictionary: None,
        },
    )
}

fn finish(r: &Reader<'_>, e: Exported) -> Result<Exported, Error> {
    if r.at != r.bytes.len() || !e.indexes.first().is_some_and(Index::is_clustered) {
        return Err(Error::Damaged(r.at));
    }
    Ok(e)
}

fn head(r: &mut Reader<'_>) -> Result<(String, u64, u32, u32, u32), Error> {
    let _host = r.name()?;
    let table = r.name()?;
    let auto_increment = r.long()?;
    let [page_size, flags, n] = r.numbers()?;
    if n > MOST_COLUMNS {
        return Err(Error::Damaged(r.at));
    }
    Ok((table, auto_increment, page_size, flags, n))
}

fn column(r: &mut Reader<'_>) -> Result<Column, Error> {
    // Its number, whether it is in the order of an index, and the longest prefix in one.
    let [precise, main, length, lengths, _number, _ordering, _prefix] = r.numbers()?;
    // mbmin and mbmax in one number, as `min + 5 * max`.
    let (least, most) = (lengths % 5, lengths / 5);
    Ok(Column {
        name: r.name()?,
        main,
        precise,
        length,
        character: least as u8..u8::try_from(most).map_err(|_| Error::Damaged(r.at))?,
    })
}

fn indexes(r: &mut Reader<'_>, with_order: bool) -> Result<Vec<Index>, Error> {
    let n = r.number()?;
    if n > MOST_INDEXES {
        return Err(Error::Damaged(r.at));
    }
    let mut all = Vec::new();
    for _ in 0..n {
        let id = r.long()?;
        let [
            _space,
            root,
            kind,
            _transaction,
            defined,
            unique,
            _nullable,
            fields,
        ] = r.numbers()?;
        let name = r.name()?;
        if fields > MOST_COLUMNS || unique > fields || defined > fields {
            return Err(Error::Damaged(r.at));
        }
        let field = |r: &mut Reader<'_>| {
            let [prefix, fixed] = r.numbers()?;
            let ascending = if with_order {
                r.number()? != 0
            } else {
                fixed & DESCENDING == 0
            };
            Ok(Field {
                name: r.name()?,
                prefix,
                fixed: fixed & !DESCENDING,
                ascending,
            })
        };
        all.push(Index {
            id,
            name,
            root,
            kind,
            unique: unique as usize,
            defined: defined as usize,
            fields: (0..fields)
                .map(|_| field(r))
                .collect::<Result<Vec<_>, Error>>()?,
        });
    }
    Ok(all)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Error> {
        let taken = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.get(..n))
            .ok_or(Error::Damaged(self.at))?;
        self.at += n;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u32, Error> {
        let [n] = self.numbers()?;
        Ok(n)
    }

    fn numbers<const N: usize>(&mut self) -> Result<[u32; N], Error> {
        let mut all = [0; N];
        for n in &mut all {
            *n = crate::page::u32_at(self.take(4)?, 0);
        }
        Ok(all)
    }

    fn long(&mut self) -> Result<u64, Error> {
        Ok(crate::page::u64_at(self.take(8)?, 0))
    }

    fn name(&mut self) -> Result<String, Error> {
        let at = self.at;
        let n = self.number()? as usize;
        let bytes = self.take(n)?;
        let text = bytes.strip_suffix(b"\0").ok_or(Error::Damaged(at))?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `b (id INT AUTO_INCREMENT PRIMARY KEY, a INT, t LONGTEXT, v VARCHAR(300) CHARACTER SET latin1, u INT UNIQUE,
    /// KEY (a), KEY (v(20), a DESC), KEY (u, v))`, exported by each.
    const BOTH: [&[u8]; 2] = [
        include_bytes!("../fixtures/mysql-9.7.cfg"),
        include_bytes!("../fixtures/mariadb-10.11.cfg"),
    ];

    #[test]
    fn what_servers_write_is_read() {
        for bytes in BOTH {
            let e = Exported::read(bytes).expect("a description");
            assert_eq!((e.table.as_str(), e.page_size), ("x/b", 16_384));
            let names: Vec<_> = e.columns.iter().map(|c| c.name.as_str()).collect();
            assert_eq!(names[..5], ["id", "a", "t", "v", "u"]);
            let names: Vec<_> = e.indexes.iter().map(|i| i.name.as_str()).collect();
            assert_eq!(names, ["PRIMARY", "u", "a", "v", "u_2"]);
            let primary = &e.indexes[0];
            assert!(primary.is_clustered() && primary.is_unique() && primary.unique == 1);
            assert!(e.indexes[1].is_unique() && !e.indexes[2].is_unique());
            let of = |f: &Field| (f.name.clone(), f.prefix, f.fixed, f.ascending);
            let v: Vec<_> = e.indexes[3].fields.iter().map(of).collect();
            assert_eq!(
                v,
                [
                    ("v".into(), 20, 0, true),
                    ("a".into(), 0, 4, false),
                    ("id".into(), 0, 4, true)
                ]
            );
            let v = e.column("v").expect("a column");
            assert_eq!((v.collation(), v.is_nullable(), v.length), (8, true, 300));
            assert!(!e.column("id").expect("a column").is_nullable());
        }
    }

    #[test]
    fn damage_is_said_and_never_the_end() {
        for bytes in BOTH {
            for n in 0..bytes.len() {
                assert!(Exported::read(&bytes[..n]).is_err(), "{n} bytes");
                let mut damaged = bytes.to_vec();
                for flip in [0x01, 0x80, 0xff] {
                    damaged[n] ^= flip;
                    if let Ok(e) = Exported::read(&damaged) {
                        for i in &e.indexes {
                            let _ = crate::Layout::of(&e, i);
                        }
                    }
                    damaged[n] = bytes[n];
                }
            }
            let longer = [bytes, b"x"].concat();
            assert!(matches!(Exported::read(&longer), Err(Error::Damaged(_))));
        }
        assert_eq!(Exported::read(&[0, 0, 0, 7]), Err(Error::Version(7)));
    }
}
