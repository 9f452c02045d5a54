//! Files of lines: cut at line ends, or loaded as one batch where only the server can find the line ends.

use super::super::BATCH;
use super::super::batch::{Batch, Content as Rows};
use super::super::files::{Content, Form, InputFile};
use super::super::header_row;
use super::super::settings::RowSettings;
use super::Replay;
use base::units::printable;
use base::{Error, Kind, Result};
use dumps::directory::Delimited;
use dumps::script::Script;
use dumps::statement::Name;
use run::Stop;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

impl Replay<'_, '_> {
    /// Queues the rows of a file of lines.
    pub(super) fn file_of_lines(
        &mut self,
        file: &InputFile,
        n: usize,
        table: &str,
        form: &Form,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let (schema, table) = match &file.schema {
            Some(schema) => {
                let (schema, table) = self.chosen.table(schema, table);
                self.create_schema(&schema)?;
                (Some(schema), table)
            }
            None => (None, table.to_owned()),
        };
        let name = Name {
            schema,
            name: table,
        };
        let table = self.target_table(&name, stop)?;
        let mut form = match form {
            Form::Known(form) => form.as_ref().clone(),
            Form::InStatement(path) => form_in_statement(path)?,
        };
        if file.may_have_names() {
            let names = table.names();
            let header = header_row::read(&mut file.open()?, &form, &names).map_err(|e| {
                Error::new(Kind::Storage, format!("cannot read {}: {e}", file.name()))
            })?;
            if header.names.is_some() {
                self.note(&format!(
                    "{}: the first line has the columns' names and was skipped",
                    file.name()
                ));
                form.columns = header.names;
                form.ignore = 1;
            }
            if header.crlf {
                form.lines = b"\r\n".to_vec();
            }
        }
        let mut reader = file.open()?;
        // A file can be cut only where every newline without an escape ends a line.
        let cuttable = form.lines == b"\n" && form.escaped == b"\\" && form.enclosed.is_empty();
        if !cuttable {
            let Some(path) = &file.path else {
                return Err(Error::new(Kind::Internal, "lines without a file"));
            };
            let sql = table.statement_for_lines(&form)?;
            let batch = Batch {
                id: format!("{n}@0"),
                place: file.name(),
                settings: settings_of_lines(),
                content: Rows::File(sql, path.clone()),
                bytes: std::fs::metadata(path).map_or(0, |m| m.len()),
                journal: self.journal_for(&table),
                table,
            };
            return self.queue.add(batch, stop);
        }
        let (mut offset, mut rest) = (0_u64, Vec::new());
        loop {
            stop.check()?;
            let mut piece = std::mem::take(&mut rest);
            let most = (BATCH as u64)
                .saturating_sub(piece.len() as u64)
                .max(1 << 20);
            let got = (&mut reader)
                .take(most)
                .read_to_end(&mut piece)
                .map_err(|e| {
                    Error::new(
                        Kind::Archive,
                        printable(&format!("cannot read {}: {e}", file.name())),
                    )
                })?;
            let last = got == 0;
            if !last {
                match last_line_end(&piece) {
                    Some(end) => rest = piece.split_off(end),
                    None => {
                        rest = piece;
                        continue;
                    }
                }
            }
            if piece.is_empty() {
                return Ok(());
            }
            let bytes = piece.len() as u64;
            let batch = Batch {
                id: format!("{n}@{offset}"),
                place: format!("{} from byte {offset}", file.name()),
                settings: settings_of_lines(),
                content: Rows::Lines(table.statement_for_lines(&form)?, piece),
                bytes,
                journal: self.journal_for(&table),
                table: Arc::clone(&table),
            };
            self.queue.add(batch, stop)?;
            offset += bytes;
            form.ignore = 0;
            if last {
                return Ok(());
            }
        }
    }
}

/// The settings under which tools write lines: UTC, and 0 is a value.
fn settings_of_lines() -> RowSettings {
    RowSettings {
        time_zone: Some("+00:00".to_owned()),
        zero_is_a_value: true,
    }
}

/// How lines are written, from the LOAD DATA statement that the tool wrote beside them.
fn form_in_statement(path: &Path) -> Result<Delimited> {
    let file = InputFile {
        path: Some(path.to_owned()),
        schema: None,
        schema_given: false,
        content: Content::Sql,
        rows_of: None,
        line_ends: false,
        open_end: true,
    };
    let mut script = Script::new(file.open()?).allow_unterminated(true);
    while let Some(s) = script.next().map_err(|e| file.error(&e))? {
        if let Some(form) = Delimited::from_statement(&s.text, s.dialect) {
            return Ok(form);
        }
    }
    Err(Error::new(
        Kind::Archive,
        format!(
            "{} has no LOAD DATA statement that could be understood",
            file.name()
        ),
    ))
}

/// The position after the last line end that no backslash escapes.
fn last_line_end(bytes: &[u8]) -> Option<usize> {
    let mut end = bytes.len();
    while let Some(at) = bytes[..end].iter().rposition(|b| *b == b'\n') {
        let escapes = bytes[..at]
            .iter()
            .rev()
            .take_while(|b| **b == b'\\')
            .count();
        if escapes % 2 == 0 {
            return Some(at + 1);
        }
        end = at;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::last_line_end;

    #[test]
    fn files_are_cut_at_line_ends() {
        assert_eq!(last_line_end(b"a\tb\nc"), Some(4));
        assert_eq!(last_line_end(b"a\nb\\\nc"), Some(2));
        assert_eq!(last_line_end(b"a\nb\\\\\nc"), Some(6));
        assert_eq!(last_line_end(b"a\\\nb"), None);
        assert_eq!(last_line_end(b""), None);
    }
}
