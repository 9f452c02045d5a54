//! General tablespaces of MySQL: InnoDB files that several tables share, made by CREATE TABLESPACE. No statement of the
//! server shows how one was made; information_schema has what it consists of.

use crate::ask::ask;
use crate::{Result, quote};
use std::collections::BTreeSet;
use wire::Conn;

/// A general tablespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tablespace {
    /// Its name.
    pub name: String,
    /// Its file as the server names it: `./x.ibd` in the data directory, or an absolute path.
    pub file: String,
    /// Bytes of a compressed page; `None`: pages are not compressed.
    pub block_size: Option<u64>,
    /// Bytes by which the file grows; `None`: as the server likes.
    pub autoextend_size: Option<u64>,
    /// Whether it is encrypted.
    pub encrypted: bool,
}

/// Reads those of these names, in their order; one that the server does not have is left out. The account needs PROCESS.
pub fn read(conn: &mut Conn, names: &BTreeSet<String>) -> Result<Vec<Tablespace>> {
    let what = "general tablespaces";
    let list: Vec<String> = names.iter().map(|n| quote::text(n)).collect();
    let sql = format!(
        "SELECT t.*, f.FILE_NAME FROM information_schema.INNODB_TABLESPACES t \
         JOIN information_schema.FILES f ON f.FILE_ID = t.SPACE \
         WHERE t.SPACE_TYPE = 'General' AND t.NAME IN ({}) ORDER BY t.NAME",
        list.join(", ")
    );
    let answer = ask(conn, what, &sql)?;
    let (name, file) = (answer.need(&["NAME"])?, answer.need(&["FILE_NAME"])?);
    let zip = answer.need(&["ZIP_PAGE_SIZE"])?;
    // The last two came with 8.0.
    let (grow, encrypted) = (
        answer.find(&["AUTOEXTEND_SIZE"]),
        answer.find(&["ENCRYPTION"]),
    );
    let some = |n: Option<u64>| n.filter(|n| *n > 0);
    let rows = answer.rows.iter();
    Ok(rows
        .map(|row| Tablespace {
            name: row.text_or_empty(name),
            file: row.text_or_empty(file),
            block_size: some(row.number(zip)),
            autoextend_size: some(grow.and_then(|at| row.number(at))),
            encrypted: encrypted.is_some_and(|at| row.text_or_empty(at) == "Y"),
        })
        .collect())
}

/// Names of the general tablespaces that a server has.
pub fn names(conn: &mut Conn) -> Result<BTreeSet<String>> {
    let sql = "SELECT NAME FROM information_schema.INNODB_TABLESPACES WHERE SPACE_TYPE = 'General'";
    let answer = ask(conn, "general tablespaces", sql)?;
    Ok(answer.rows.iter().map(|r| r.text_or_empty(0)).collect())
}

impl Tablespace {
    /// The name of its file alone: where a load puts it in the data directory.
    pub fn file_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or_default()
    }

    /// Whether its file lies elsewhere than in the data directory itself.
    pub fn is_elsewhere(&self) -> bool {
        self.file.trim_start_matches("./") != self.file_name()
    }

    /// The statement that makes it, with its file in the data directory.
    pub fn create(&self) -> String {
        let mut sql = format!(
            "CREATE TABLESPACE {} ADD DATAFILE {}",
            quote::ident(&self.name),
            quote::text(self.file_name())
        );
        for (option, bytes) in [
            ("FILE_BLOCK_SIZE", self.block_size),
            ("AUTOEXTEND_SIZE", self.autoextend_size),
        ] {
            if let Some(bytes) = bytes {
                sql += &format!(" {option} = {bytes}");
            }
        }
        if self.encrypted {
            sql += " ENCRYPTION = 'Y'";
        }
        sql + " ENGINE = InnoDB"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_put_into_the_data_directory() {
        let mut space = Tablespace {
            name: "a`b".to_owned(),
            file: "./x.ibd".to_owned(),
            ..Tablespace::default()
        };
        assert!(!space.is_elsewhere());
        assert_eq!(
            space.create(),
            "CREATE TABLESPACE `a``b` ADD DATAFILE 'x.ibd' ENGINE = InnoDB"
        );
        space.file = "/fast/x.ibd".to_owned();
        space.block_size = Some(8192);
        space.autoextend_size = Some(4 << 20);
        space.encrypted = true;
        assert!(space.is_elsewhere());
        assert_eq!(
            space.create(),
            "CREATE TABLESPACE `a``b` ADD DATAFILE 'x.ibd' FILE_BLOCK_SIZE = 8192 AUTOEXTEND_SIZE = 4194304 \
             ENCRYPTION = 'Y' ENGINE = InnoDB"
        );
    }
}
