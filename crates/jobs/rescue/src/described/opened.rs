//! A file that is open for reading, with what it is, also where its first page is damaged.

use crate::disk::Disk;
use base::Cancel;
use innodb::page::{fil, index, kind};
use innodb::read::mariadb::{self, Definition};
use innodb::read::types::Server;
use innodb::read::{Bytes, Error, Table, Tablespace, Window, guess, instant};
use std::fs::File;
use std::path::Path;

/// Where the index of rows begins in a file of MySQL since 8.0, behind its dictionary information.
const ROOT_OF_MYSQL: u32 = 4;

/// An open file.
pub struct Opened {
    file: Disk,
    /// Why its first page is not used.
    pub damaged: Option<String>,
    mysql: bool,
}

impl Opened {
    /// Opens it; the error says why its pages cannot be read at all.
    pub fn new(path: &Path, cancel: &Cancel) -> Result<Opened, Error> {
        let file = Disk::new(File::open(path)?, cancel);
        let damaged = match Tablespace::open(&file) {
            Ok(_) => None,
            Err(Error::Damaged { what, .. }) => Some(what),
            Err(Error::Unsupported(_)) if !is_first_page(&file)? => {
                Some("it is not the first page of a tablespace".to_owned())
            }
            Err(e) => return Err(e),
        };
        let mut opened = Opened {
            file,
            damaged,
            mysql: false,
        };
        opened.mysql = opened.space()?.server() == Some(Server::MySql);
        Ok(opened)
    }

    /// Its pages.
    pub fn space(&self) -> Result<Tablespace<'_>, Error> {
        match self.damaged {
            None => Tablespace::open(&self.file),
            Some(_) => guess::open(&self.file),
        }
    }

    /// Blocks of it that the disk did not give.
    pub fn unreadable(&self) -> u64 {
        self.file.unreadable()
    }

    /// Whether it is of MySQL since 8.0.
    pub fn is_mysql(&self) -> bool {
        self.mysql
    }
}

/// Whether the file begins as every tablespace does, so that its flags can be believed: the page's number and kind, and
/// the tablespace's number at both places where it is.
fn is_first_page(file: &Disk) -> Result<bool, Error> {
    let mut head = [0; 64];
    if file.length()? < head.len() as u64 {
        return Ok(false);
    }
    file.read_at(0, &mut head)?;
    let number = innodb::page::u32_at(&head, fil::NUMBER);
    let of = innodb::page::u16_at(&head, fil::TYPE);
    Ok(number == 0
        && of == kind::FSP_HEADER
        && head[fil::SPACE..fil::BODY] == head[fil::BODY..fil::BODY + 4])
}

fn is_of_index(page: &[u8]) -> bool {
    matches!(
        innodb::page::u16_at(page, fil::TYPE),
        kind::INDEX | kind::INSTANT
    )
}

/// The table of a file whose rows lie as a definition says. The second part says why it is not known what an instant ALTER
/// left.
pub fn defined(
    space: &Tablespace<'_>,
    definition: &Definition,
) -> Result<(Table, Option<Error>), Error> {
    let root = match space.server() {
        Some(Server::MySql) => ROOT_OF_MYSQL,
        _ => mariadb::ROOT,
    };
    let mut window = Window::default();
    // REDUNDANT or not: what the root says, or any page of an index.
    let mut of_root = None;
    for number in std::iter::once(root).chain(root + 1..space.pages()) {
        match space.page(&mut window, number) {
            Ok(page) if is_of_index(page) => {
                of_root = Some(index::is_redundant(page));
                break;
            }
            Err(Error::Io(e)) => return Err(e.into()),
            _ => {}
        }
    }
    let redundant = match of_root {
        Some(redundant) => redundant,
        None if space.is_encrypted()? => return Err(Error::encrypted()),
        None => {
            let what = "neither it nor any other page of an index is whole";
            return Err(Error::damaged(root, what));
        }
    };
    let mut table = mariadb::layout(definition, root, redundant)?;
    if space.server() == Some(Server::MySql) {
        table.server = Server::MySql;
        return Ok((table, None));
    }
    match instant::apply(space, &mut table) {
        Ok(()) => Ok((table, None)),
        Err(Error::Io(e)) => Err(e.into()),
        Err(e) => Ok((table, Some(e))),
    }
}
