//! Which files a dump consists of, in the order in which they are loaded.

use super::super::Options;
use super::dump_error;
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::directory::{DataKind, Delimited, Detected, Dump, Layout, Object, Schema, detect};
use dumps::script::Script;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// As much is looked at to tell a script from what is none.
const START: u64 = 4096;

/// All files of a dump.
pub struct Parts {
    /// In the order of loading.
    pub list: Vec<Part>,
    /// Whether they can be read more than once.
    pub again: bool,
    /// Rows of tables, where the tool that wrote them has counted: schema and table.
    pub counted: BTreeMap<(String, String), u64>,
    /// What looks as if it were missing.
    pub gaps: Vec<String>,
}

/// A file, or standard input.
pub struct Part {
    /// Where it is; `None` is standard input.
    pub path: Option<PathBuf>,
    /// The schema for names without one.
    pub schema: Option<String>,
    /// It is the user's word for what the script may not say; it counts only where it is needed.
    pub schema_given: bool,
    /// What is in it.
    pub content: Content,
    /// Whether only a line end behind it makes a delimiter of a semicolon, as mydumper writes.
    pub line_ends: bool,
    /// Whether its last statement may lack its delimiter: only in files of
    /// tools that say in another way that a dump is whole.
    pub open_end: bool,
}

/// What a file holds.
pub enum Content {
    /// SQL.
    Sql,
    /// Rows of a table as lines.
    Lines {
        /// The table.
        table: String,
        /// How they are written; `Err` names a file whose LOAD DATA says it.
        form: Result<Box<Delimited>, PathBuf>,
    },
}

impl Part {
    fn sql(path: &Path, schema: Option<&String>) -> Part {
        Part {
            path: Some(path.to_owned()),
            schema: schema.cloned(),
            schema_given: false,
            content: Content::Sql,
            line_ends: false,
            open_end: false,
        }
    }

    /// Its statements.
    pub fn script<R: Read>(&self, reader: R) -> Script<R> {
        let script = Script::new(reader).allow_unterminated(self.open_end);
        if self.line_ends {
            script.with_delimiter(b";\n")
        } else {
            script
        }
    }

    /// Its name for messages.
    pub fn name(&self) -> String {
        match &self.path {
            None => "standard input".to_owned(),
            Some(path) => printable(&path.display().to_string()),
        }
    }

    /// Whether its first line may be the columns' names: in files that people
    /// write, never in those of `--tab`.
    pub fn may_have_names(&self) -> bool {
        let name = self.path.as_ref().and_then(|p| p.file_name());
        let name = name.map(|n| n.to_string_lossy()).unwrap_or_default();
        let form = matches!(&self.content, Content::Lines { form: Ok(_), .. });
        form && !name.contains(".txt") && !name.contains(".dat")
    }

    /// Opens it.
    pub fn open(&self) -> Result<Box<dyn Read + Send>> {
        let input = match &self.path {
            None => dumps::input::stdin(),
            Some(path) => dumps::input::open(path),
        };
        let mut input = input.map_err(|e| self.error(&e))?;
        if !matches!(self.content, Content::Sql) {
            return Ok(Box::new(input));
        }
        let mut start = Vec::new();
        let read = (&mut input).take(START).read_to_end(&mut start);
        // What cannot be read at all is an error of its own.
        if let Err(e) = read {
            return Err(self.error(&dumps::Error::from_read(e)));
        }
        if let Some(what) = dumps::input::not_sql(&start) {
            return Err(self.error(&dumps::Error::Binary { what }));
        }
        Ok(Box::new(std::io::Cursor::new(start).chain(input)))
    }

    /// What an error while reading it means.
    pub fn error(&self, e: &dumps::Error) -> Error {
        dump_error(Path::new(&self.name()), e)
    }
}

/// The parts of what the user named.
pub fn of(options: &Options) -> Result<Parts> {
    let from = &options.from;
    let given = options.schema.as_ref();
    if from.as_os_str() == "-" {
        let mut part = Part::sql(Path::new("-"), given);
        part.path = None;
        part.schema_given = true;
        return Ok(Parts {
            list: vec![part],
            again: false,
            counted: BTreeMap::new(),
            gaps: Vec::new(),
        });
    }
    if !from.is_dir() {
        std::fs::metadata(from).map_err(|source| {
            let what = from.display().to_string();
            dump_error(from, &dumps::Error::Io { what, source })
        })?;
        let again = std::fs::metadata(from).is_ok_and(|m| m.is_file());
        let mut part = Part::sql(from, given);
        part.schema_given = true;
        return Ok(Parts {
            list: vec![part],
            again,
            counted: BTreeMap::new(),
            gaps: Vec::new(),
        });
    }
    match detect(from).map_err(|e| dump_error(from, &e))? {
        Detected::Archive => Err(Error::new(
            Kind::Internal,
            "an archive is not for this road",
        )),
        Detected::Dump(dump) => folder(from, &dump, given),
    }
}

fn folder(from: &Path, dump: &Dump, given: Option<&String>) -> Result<Parts> {
    let mut list: Vec<Part> = dump.before.iter().map(|p| Part::sql(p, None)).collect();
    let names: Vec<Option<String>> = dump
        .schemas
        .iter()
        .map(|s| schema_name(from, s, given))
        .collect::<Result<_>>()?;
    let objects = |list: &mut Vec<Part>, what: &[Object], schema: Option<&String>| {
        list.extend(what.iter().map(|o| Part::sql(&o.ddl, schema)));
    };
    for (s, name) in dump.schemas.iter().zip(&names) {
        list.extend(s.create.iter().map(|p| Part::sql(p, None)));
        let name = name.as_ref();
        objects(&mut list, &s.sequences, name);
        list.extend(
            s.tables
                .iter()
                .filter_map(|t| t.ddl.as_ref())
                .map(|p| Part::sql(p, name)),
        );
    }
    // The biggest tables first: what is left at the end is small.
    let mut tables: Vec<_> = dump
        .schemas
        .iter()
        .zip(&names)
        .flat_map(|(s, name)| s.tables.iter().map(move |t| (name, t)))
        .collect();
    let (mut counted, mut gaps) = (BTreeMap::new(), Vec::new());
    tables.sort_by_key(|(_, t)| std::cmp::Reverse(t.data.iter().map(|d| d.bytes).sum::<u64>()));
    for (name, t) in tables {
        let table = if t.placeholder {
            named_by_statement(t.ddl.as_deref(), &t.name)?
        } else {
            t.name.clone()
        };
        let key = (name.clone().unwrap_or_default(), table.clone());
        match t.rows {
            Some(rows) => {
                counted.insert(key, rows);
            }
            None if !t.missing.is_empty() => gaps.push(printable(&format!(
                "{}: there is no file {} among its files of rows; mydumper writes none for a range without rows, and has not counted: look whether it was lost",
                server::quote::qualified(&key.0, &key.1),
                t.missing
            ))),
            None => {}
        }
        for file in &t.data {
            let content = match &file.kind {
                DataKind::Sql => Content::Sql,
                DataKind::Delimited(form) => Content::Lines {
                    table: table.clone(),
                    form: Ok(Box::new(form.clone())),
                },
                DataKind::LoadData(statement) => Content::Lines {
                    table: table.clone(),
                    form: Err(statement.clone()),
                },
            };
            list.push(Part {
                path: Some(file.path.clone()),
                schema: name.clone(),
                schema_given: false,
                content,
                line_ends: false,
                open_end: false,
            });
        }
    }
    for (s, name) in dump.schemas.iter().zip(&names) {
        let name = name.as_ref();
        let triggers = s.tables.iter().filter_map(|t| t.triggers.as_ref());
        list.extend(triggers.map(|p| Part::sql(p, name)));
        list.extend(s.triggers.iter().map(|p| Part::sql(p, name)));
        // A view may call a routine.
        list.extend(s.post.iter().map(|p| Part::sql(p, name)));
        objects(&mut list, &s.views, name);
    }
    for part in &mut list {
        // Only mydumper says in its metadata that it was not interrupted.
        part.open_end = dump.layout == Layout::Mydumper;
        part.line_ends = dump.layout == Layout::Mydumper;
    }
    Ok(Parts {
        list,
        again: true,
        counted,
        gaps,
    })
}

fn schema_name(from: &Path, s: &Schema, given: Option<&String>) -> Result<Option<String>> {
    match (&s.name, s.placeholder) {
        (Some(name), false) => Ok(Some(name.clone())),
        (Some(name), true) => named_by_statement(s.create.as_deref(), name).map(Some),
        (None, _) if given.is_some() => Ok(given.cloned()),
        (None, _) => Err(Error::new(
            Kind::Usage,
            printable(&format!(
                "the files in {} do not say to which schema they belong",
                from.display()
            )),
        )
        .hint("name it with --schema NAME")),
    }
}

/// The name that a file's CREATE gives what its file name cannot.
fn named_by_statement(file: Option<&Path>, stand_in: &str) -> Result<String> {
    let Some(file) = file else {
        return Err(Error::new(
            Kind::Archive,
            format!("no file says which name {} stands for", printable(stand_in)),
        ));
    };
    let part = Part::sql(file, None);
    let mut script = Script::new(part.open()?).allow_unterminated(true);
    while let Some(s) = script.next().map_err(|e| part.error(&e))? {
        match dumps::statement::classify(&s.text, s.dialect).kind {
            dumps::statement::Kind::CreateDatabase(name) => return Ok(name),
            dumps::statement::Kind::CreateTable(name) => return Ok(name.name),
            _ => {}
        }
    }
    Err(Error::new(
        Kind::Archive,
        format!("{} creates nothing", part.name()),
    ))
}
