//! `warm save --pages`: the list of the pages in a server's buffer pool, with what shows whose files they are of.

use super::file::{Header, HotPages, Space};
use super::marks;
use crate::dictionary::{self, Part};
use crate::save::Options;
use crate::{datadir, list};
use base::units::printable;
use base::{Error, Kind, Result};
use run::{Run, failure};
use server::{Catalog, session};
use std::collections::HashMap;
use std::time::Instant;

/// The result.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The file, absolute.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// What it says of itself.
    pub header: Header,
    /// Tablespaces with hot pages.
    pub spaces: u64,
    /// Hot pages that are in the file.
    pub pages: u64,
    /// Seconds it took.
    pub seconds: f64,
    /// Tablespaces that could not be read.
    pub exceptions: Vec<String>,
}

/// Saves.
pub fn run(run: &Run, options: &Options) -> Result<Summary> {
    let start = Instant::now();
    let (mut conn, id) = run::connect::open(run, &options.source)?;
    if !id.is_mariadb() && !id.mysql_at_least(8, 0, 0) {
        return Err(Error::new(
            Kind::Target,
            format!("hot pages are saved of MySQL 8.0 and later and of MariaDB, and this is {id}"),
        ));
    }
    run::connect::prepared(session::for_catalog(&mut conn, &id))?;
    let datadir = datadir::of(&id, options.datadir.as_deref())?;
    let phase = run.phase("list of pages", 1);
    // Which names of a selection there are.
    Catalog::read(&mut conn, &id, &options.filter)
        .map_err(|e| failure::server("cannot read the catalog", e))?;
    rows::selection::check_matched(&options.filter)?;
    let listed = list::read(
        run,
        &mut conn,
        &id,
        &options.source,
        options.list.as_deref(),
        &options.state,
        &datadir,
    )?;
    let parts = dictionary::read(&mut conn, &id, &datadir)?;
    let parts = parts
        .into_iter()
        .filter(|p| options.filter.table(&p.schema, &p.table));
    let mut by_space: HashMap<u32, Part> = HashMap::new();
    for part in parts.filter(|p| p.space != 0) {
        let known = by_space.entry(part.space).or_insert_with(|| part.clone());
        // Of a tablespace of several tables the first by name.
        if name(&part) < name(known) {
            *known = part;
        }
    }
    let mut set = HotPages {
        header: Header {
            warm_pages: 0,
            at: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            server: id.to_string(),
            page_size: id.innodb_page_size,
            listed: listed.pages,
        },
        spaces: Vec::new(),
    };
    let mut exceptions = Vec::new();
    for (space, hot) in &listed.spaces {
        run.check()?;
        let Some(part) = by_space.get(space) else {
            continue;
        };
        let size = id.innodb_page_size;
        let read = marks::pages(&part.path, size)
            .and_then(|pages| Ok((pages, marks::take(&part.path, size)?)));
        let (pages, marks) = match read {
            Ok(read) => read,
            Err(e) => {
                let shown = part.path.display();
                exceptions.push(printable(&format!("{}: {shown}: {e}", name(part))));
                continue;
            }
        };
        let mut hot: Vec<(u32, u16)> = hot.iter().map(|(page, heat)| (*page, *heat)).collect();
        hot.sort_unstable();
        set.spaces.push(Space {
            space: *space,
            name: name(part),
            pages,
            marks,
            hot,
        });
    }
    drop(phase);
    set.spaces.sort_by_key(|s| s.space);
    exceptions.sort();
    let bytes = set.write(&options.to)?;
    let path = std::path::absolute(&options.to).unwrap_or_else(|_| options.to.clone());
    Ok(Summary {
        path: path.display().to_string(),
        bytes,
        spaces: set.spaces.len() as u64,
        pages: set.hot(),
        header: set.header,
        seconds: start.elapsed().as_secs_f64(),
        exceptions,
    })
}

/// How a tablespace is named in the file.
pub(super) fn name(part: &Part) -> String {
    match &part.partition {
        Some(partition) => format!("{}/{} partition {partition}", part.schema, part.table),
        None => format!("{}/{}", part.schema, part.table),
    }
}
