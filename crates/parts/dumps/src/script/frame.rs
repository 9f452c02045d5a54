//! What a script says of itself in its comments: who wrote it, and that it is
//! whole.

/// Who wrote a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// mysqldump of MySQL or Percona, or of MariaDB before it was renamed.
    Mysqldump,
    /// mariadb-dump.
    MariadbDump,
}

/// A script's frame, from the comments between its statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Who wrote it, by its first line (`-- MySQL dump …`, `-- MariaDB dump …`).
    pub tool: Option<Tool>,
    /// That line without the dashes.
    pub header: Option<String>,
    /// `-- Server version`: of the server that was dumped.
    pub server_version: Option<String>,
    /// A CHANGE MASTER or CHANGE REPLICATION SOURCE statement that stands in
    /// a comment (`--source-data=2`): where the dump stands in the binary log.
    pub position: Option<String>,
    /// The script begins with MariaDB's line for the sandbox mode of its client.
    pub sandbox: bool,
    /// Headers seen; more than one if dumps were joined.
    pub headers: u64,
    /// `-- Dump completed` lines seen.
    pub trailers: u64,
}

impl Frame {
    /// Whether a dump began whose end was not seen. Only means something when
    /// the script has been read to its end; scripts without a header
    /// (`--skip-comments`, `--compact`) never count as cut here.
    pub fn is_cut(&self) -> bool {
        self.headers > self.trailers
    }

    /// Takes note of a comment.
    pub(super) fn note(&mut self, comment: &[u8]) {
        if comment.starts_with(b"/*") {
            self.sandbox |= comment.starts_with(b"/*M!") || comment.starts_with(b"/*!");
            return;
        }
        let Some(text) = comment.strip_prefix(b"--") else {
            return;
        };
        // None of what is looked for is longer.
        let text = &text[..text.len().min(1000)];
        let text = String::from_utf8_lossy(text);
        let text = text.trim();
        let tool = [
            ("MySQL dump ", Tool::Mysqldump),
            ("MariaDB dump ", Tool::MariadbDump),
        ];
        if let Some((_, tool)) = tool.iter().find(|(start, _)| text.starts_with(start)) {
            self.headers += 1;
            self.tool.get_or_insert(*tool);
            self.header.get_or_insert_with(|| text.to_owned());
        } else if text.starts_with("Dump completed") {
            self.trailers += 1;
        } else if let Some(version) = text.strip_prefix("Server version") {
            self.server_version
                .get_or_insert_with(|| version.trim().to_owned());
        } else if text.starts_with("CHANGE MASTER TO ")
            || text.starts_with("CHANGE REPLICATION SOURCE TO ")
        {
            self.position
                .get_or_insert_with(|| text.trim_end_matches(';').to_owned());
        }
    }
}
