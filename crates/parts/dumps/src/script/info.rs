//! What a script says about itself in its comments: which tool wrote it, and
//! whether it is complete.

/// The tool that wrote a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// mysqldump of MySQL or Percona, or of MariaDB before it was renamed.
    Mysqldump,
    /// mariadb-dump.
    MariadbDump,
}

/// What the comments between the statements of a script say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptInfo {
    /// The tool, from its first line (`-- MySQL dump …`, `-- MariaDB dump …`).
    pub tool: Option<Tool>,
    /// That line without the dashes.
    pub header: Option<String>,
    /// `-- Server version`: the version of the server that was dumped.
    pub server_version: Option<String>,
    /// A CHANGE MASTER or CHANGE REPLICATION SOURCE statement in a comment
    /// (`--source-data=2`): the binary log position of the dump.
    pub position: Option<String>,
    /// The script begins with MariaDB's line for the sandbox mode of its client.
    pub sandbox: bool,
    /// Headers seen; more than one if dumps were concatenated.
    pub headers: u64,
    /// `-- Dump completed` lines seen.
    pub trailers: u64,
}

impl ScriptInfo {
    /// Whether a dump has a header but no end line. Only valid after the script
    /// has been read to its end. Scripts without a header (`--skip-comments`,
    /// `--compact`) never count as truncated here.
    pub fn is_truncated(&self) -> bool {
        self.headers > self.trailers
    }

    /// Evaluates a comment.
    pub(super) fn add_comment(&mut self, comment: &[u8]) {
        if comment.starts_with(b"/*") {
            self.sandbox |= comment.starts_with(b"/*M!") || comment.starts_with(b"/*!");
            return;
        }
        let Some(text) = comment.strip_prefix(b"--") else {
            return;
        };
        // Nothing that is searched for is longer.
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
