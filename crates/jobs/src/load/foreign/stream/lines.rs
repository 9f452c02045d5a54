//! Files of lines: cut where lines end, or loaded whole where only the server
//! can tell.

use super::*;

impl Stream<'_, '_> {
    pub(super) fn lines(
        &mut self,
        part: &Part,
        n: usize,
        table: &str,
        form: &Result<Box<Delimited>, std::path::PathBuf>,
        stop: &Stop<'_>,
    ) -> Result<()> {
        let name = Name {
            schema: part.schema.clone(),
            name: table.to_owned(),
        };
        let shape = self.shape(&name, stop)?;
        let mut form = match form {
            Ok(form) => form.as_ref().clone(),
            Err(path) => self.form_of(path)?,
        };
        if part.may_have_names() {
            let names = shape.names();
            let found = begin::look(&mut part.open()?, &form, &names).map_err(|e| {
                Error::new(Kind::Storage, format!("cannot read {}: {e}", part.name()))
            })?;
            if found.names.is_some() {
                self.note(&format!(
                    "{}: the first line has the columns' names, and was left out",
                    part.name()
                ));
                form.columns = found.names;
                form.ignore = 1;
            }
            if found.crlf {
                form.lines = b"\r\n".to_vec();
            }
        }
        let mut reader = part.open()?;
        // Only where a line ends where a newline stands without its escape can a file be cut.
        let cuttable = form.lines == b"\n" && form.escaped == b"\\" && form.enclosed.is_empty();
        if !cuttable {
            let Some(path) = &part.path else {
                return Err(Error::new(Kind::Internal, "lines without a file"));
            };
            let sql = shape.statement_for_lines(&form)?;
            let batch = Batch {
                id: format!("{n}@0"),
                place: part.name(),
                context: self.context_of_lines(),
                content: Rows::File(sql, path.clone()),
                bytes: std::fs::metadata(path).map_or(0, |m| m.len()),
                journal: self.journal_for(&shape),
                shape,
            };
            return self.give(batch, stop);
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
                        printable(&format!("cannot read {}: {e}", part.name())),
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
                place: format!("{} from byte {offset}", part.name()),
                context: self.context_of_lines(),
                content: Rows::Lines(shape.statement_for_lines(&form)?, piece),
                bytes,
                journal: self.journal_for(&shape),
                shape: Arc::clone(&shape),
            };
            self.give(batch, stop)?;
            offset += bytes;
            form.ignore = 0;
            if last {
                return Ok(());
            }
        }
    }

    /// What tools that write lines have set: UTC, and nothing is counted on.
    pub(super) fn context_of_lines(&self) -> Context {
        Context {
            zone: Some("+00:00".to_owned()),
            zero_is_a_value: true,
        }
    }

    /// How lines are written, from the LOAD DATA that came with them.
    pub(super) fn form_of(&self, path: &std::path::Path) -> Result<Delimited> {
        let part = Part {
            path: Some(path.to_owned()),
            schema: None,
            schema_given: false,
            content: Content::Sql,
            line_ends: false,
            open_end: true,
        };
        let mut script = Script::new(part.open()?).allow_unterminated(true);
        while let Some(s) = script.next().map_err(|e| part.error(&e))? {
            if let Some(form) = Delimited::from_statement(&s.text, s.dialect) {
                return Ok(form);
            }
        }
        Err(Error::new(
            Kind::Archive,
            format!(
                "{} has no LOAD DATA statement that could be understood",
                part.name()
            ),
        ))
    }
}

/// Behind the last line end that no backslash escapes.
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
    fn lines_are_cut_where_they_end() {
        assert_eq!(last_line_end(b"a\tb\nc"), Some(4));
        assert_eq!(last_line_end(b"a\nb\\\nc"), Some(2));
        assert_eq!(last_line_end(b"a\nb\\\\\nc"), Some(6));
        assert_eq!(last_line_end(b"a\\\nb"), None);
        assert_eq!(last_line_end(b""), None);
    }
}
