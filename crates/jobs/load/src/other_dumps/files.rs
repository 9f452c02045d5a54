//! The files of a dump, in the order in which they are loaded.

use super::super::Options;
use super::dump_error;
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::directory::{DataKind, Delimited, Detected, Dump, Layout, Object, Schema, detect};
use dumps::script::Script;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes that are read to distinguish a script from other files.
const START: u64 = 4096;

/// All files of a dump.
pub struct InputFiles {
    /// In the order of loading.
    pub list: Vec<InputFile>,
    /// Whether they can be read more than once.
    pub rereadable: bool,
    /// Rows of tables, where the tool that wrote the dump counted them: by schema and table.
    pub counted: BTreeMap<(String, String), u64>,
    /// Files that seem to be missing.
    pub gaps: Vec<String>,
    /// Whether they are those of a directory.
    pub in_directory: bool,
}

/// A file, or standard input.
pub struct InputFile {
    /// Where it is; `None` is standard input.
    pub path: Option<PathBuf>,
    /// The schema for names without one.
    pub schema: Option<String>,
    /// The schema is from --schema, for a script that may not name one; it is used only where it is needed.
    pub schema_given: bool,
    /// What is in it.
    pub content: Content,
    /// The only table that its statements are about, where the name of the file says so.
    pub rows_of: Option<String>,
    /// Whether a semicolon is a delimiter only before a line end, as mydumper writes.
    pub line_ends: bool,
    /// Whether its last statement may lack its delimiter: only in files of tools that record in another way
    /// that a dump is complete.
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
        /// How they are written.
        form: Form,
    },
}

/// How the lines of a file are written.
pub enum Form {
    /// As the layout of the dump says.
    Known(Box<Delimited>),
    /// As the LOAD DATA statement in this file says.
    InStatement(PathBuf),
}

impl InputFile {
    fn sql(path: &Path, schema: Option<&String>) -> InputFile {
        InputFile {
            path: Some(path.to_owned()),
            schema: schema.cloned(),
            schema_given: false,
            content: Content::Sql,
            rows_of: None,
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

    /// Whether its first line may have the columns' names: in CSV files of other origin, never in those of
    /// `--tab`.
    pub fn may_have_names(&self) -> bool {
        let name = self.path.as_ref().and_then(|p| p.file_name());
        let name = name.map(|n| n.to_string_lossy()).unwrap_or_default();
        let form = matches!(
            &self.content,
            Content::Lines {
                form: Form::Known(_),
                ..
            }
        );
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
        // A file that cannot be read at all has another error than one that is no script.
        if let Err(e) = read {
            return Err(self.error(&dumps::Error::from_read(e)));
        }
        if let Some(what) = dumps::input::not_sql(&start) {
            return Err(self.error(&dumps::Error::Binary { what }));
        }
        Ok(Box::new(std::io::Cursor::new(start).chain(input)))
    }

    /// An error while reading it, with its cause.
    pub fn error(&self, e: &dumps::Error) -> Error {
        dump_error(Path::new(&self.name()), e)
    }
}

/// The files of what the user named.
pub fn of(options: &Options) -> Result<InputFiles> {
    let given = options.schema.as_ref();
    let Some(from) = options.from.path() else {
        let mut file = InputFile::sql(Path::new("-"), given);
        file.path = None;
        file.schema_given = true;
        return Ok(InputFiles {
            list: vec![file],
            rereadable: false,
            counted: BTreeMap::new(),
            gaps: Vec::new(),
            in_directory: false,
        });
    };
    if !from.is_dir() {
        std::fs::metadata(from).map_err(|source| {
            let what = from.display().to_string();
            dump_error(from, &dumps::Error::Io { what, source })
        })?;
        let rereadable = std::fs::metadata(from).is_ok_and(|m| m.is_file());
        let mut file = InputFile::sql(from, given);
        file.schema_given = true;
        return Ok(InputFiles {
            list: vec![file],
            rereadable,
            counted: BTreeMap::new(),
            gaps: Vec::new(),
            in_directory: false,
        });
    }
    match detect(from).map_err(|e| dump_error(from, &e))? {
        Detected::Archive => Err(Error::new(
            Kind::Internal,
            "an archive is not another tool's dump",
        )),
        Detected::Dump(dump) => files_of_directory(from, &dump, given),
    }
}

fn files_of_directory(from: &Path, dump: &Dump, given: Option<&String>) -> Result<InputFiles> {
    let mut list: Vec<InputFile> = dump
        .before
        .iter()
        .map(|p| InputFile::sql(p, None))
        .collect();
    let names: Vec<Option<String>> = dump
        .schemas
        .iter()
        .map(|s| schema_name(from, s, given))
        .collect::<Result<_>>()?;
    let objects = |list: &mut Vec<InputFile>, what: &[Object], schema: Option<&String>| {
        list.extend(what.iter().map(|o| InputFile::sql(&o.ddl, schema)));
    };
    for (s, name) in dump.schemas.iter().zip(&names) {
        list.extend(s.create.iter().map(|p| InputFile::sql(p, None)));
        let name = name.as_ref();
        objects(&mut list, &s.sequences, name);
        list.extend(
            s.tables
                .iter()
                .filter_map(|t| t.ddl.as_ref())
                .map(|p| InputFile::sql(p, name)),
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
                "{}: there is no file {} among its row files; mydumper writes none for a range without rows, and recorded no count: check whether it was lost",
                server::quote::qualified(&key.0, &key.1),
                t.missing
            ))),
            None => {}
        }
        for data in &t.data {
            let content = match &data.kind {
                DataKind::Sql => Content::Sql,
                DataKind::Delimited(form) => Content::Lines {
                    table: table.clone(),
                    form: Form::Known(Box::new(form.clone())),
                },
                DataKind::LoadData(statement) => Content::Lines {
                    table: table.clone(),
                    form: Form::InStatement(statement.clone()),
                },
            };
            list.push(InputFile {
                path: Some(data.path.clone()),
                schema: name.clone(),
                schema_given: false,
                content,
                rows_of: Some(table.clone()),
                line_ends: false,
                open_end: false,
            });
        }
    }
    for (s, name) in dump.schemas.iter().zip(&names) {
        let name = name.as_ref();
        let triggers = s.tables.iter().filter_map(|t| t.triggers.as_ref());
        list.extend(triggers.map(|p| InputFile::sql(p, name)));
        list.extend(s.triggers.iter().map(|p| InputFile::sql(p, name)));
        // A view may call a routine.
        list.extend(s.post.iter().map(|p| InputFile::sql(p, name)));
        objects(&mut list, &s.views, name);
    }
    for file in &mut list {
        // Only mydumper says in its metadata that it was not interrupted.
        file.open_end = dump.layout == Layout::Mydumper;
        file.line_ends = dump.layout == Layout::Mydumper;
    }
    Ok(InputFiles {
        list,
        rereadable: true,
        counted,
        gaps,
        in_directory: true,
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
                "the files in {} do not name the schema they belong to",
                from.display()
            )),
        )
        .hint("name it with --schema NAME")),
    }
}

/// The name in a file's CREATE, where the file name cannot hold it.
fn named_by_statement(path: Option<&Path>, stand_in: &str) -> Result<String> {
    let Some(path) = path else {
        return Err(Error::new(
            Kind::Archive,
            format!(
                "no file gives the name that {} is a placeholder for",
                printable(stand_in)
            ),
        ));
    };
    let file = InputFile::sql(path, None);
    let mut script = Script::new(file.open()?).allow_unterminated(true);
    while let Some(s) = script.next().map_err(|e| file.error(&e))? {
        match dumps::statement::classify(&s.text, s.dialect).kind {
            dumps::statement::Kind::CreateDatabase(name) => return Ok(name),
            dumps::statement::Kind::CreateTable(name) => return Ok(name.name),
            _ => {}
        }
    }
    Err(Error::new(
        Kind::Archive,
        format!("{} creates nothing", file.name()),
    ))
}
