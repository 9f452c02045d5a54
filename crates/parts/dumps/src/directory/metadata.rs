//! mydumper's `metadata` file.
//!
//! Before 0.12 it is plain text (`Started dump at:`, `SHOW MASTER STATUS:` with
//! indented `Log:`, `Pos:`, `GTID:`). Since then it is an ini file with
//! `[config]`, `[source]` or `[master]`, and a section for each table:
//! `` [`schema`.`table`] `` with the names from the file names, which contains
//! `real_table_name` and `rows`.

/// One section of an ini-like file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The text in the brackets.
    pub name: String,
    /// Keys in lower case and their values, in order.
    pub values: Vec<(String, String)>,
}

impl Section {
    /// The value of a key, which is given in lower case.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.values.iter().find(|(k, _)| k == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// What mydumper recorded about a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The start time, as written.
    pub started: Option<String>,
    /// The end time, as written; `None` if there is none.
    pub finished: Option<String>,
    /// Sections; the plain text form has `source` and `replica`.
    pub sections: Vec<Section>,
}

impl Metadata {
    pub(super) fn parse(text: &str) -> Self {
        let mut out = Metadata::default();
        for line in text.lines() {
            let bare = line.trim();
            let comment = bare.trim_start_matches('#').trim_start();
            if let Some(time) = comment.strip_prefix("Started dump at:") {
                out.started = Some(time.trim().to_owned());
            } else if let Some(time) = comment.strip_prefix("Finished dump at:") {
                out.finished = Some(time.trim().to_owned());
            } else if bare.is_empty() || bare.starts_with('#') {
                continue;
            } else if let Some(name) = bare.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
                out.start_section(name);
            } else if bare.starts_with("SHOW MASTER STATUS")
                || bare.starts_with("SHOW BINARY LOG STATUS")
            {
                out.start_section("source");
            } else if bare.starts_with("SHOW SLAVE STATUS")
                || bare.starts_with("SHOW REPLICA STATUS")
            {
                out.start_section("replica");
            } else if let Some(at) = bare.find(['=', ':'])
                && let Some(section) = out.sections.last_mut()
            {
                let key = bare[..at].trim().to_ascii_lowercase();
                let value = bare[at + 1..].trim().trim_matches('"').to_owned();
                section.values.push((key, value));
            }
        }
        out
    }

    fn start_section(&mut self, name: &str) {
        let name = name.to_owned();
        self.sections.push(Section {
            name,
            values: Vec::new(),
        });
    }

    /// The section of a table, by the names in its file names.
    pub(super) fn table(&self, schema: &str, table: &str) -> Option<&Section> {
        let names = [
            format!("`{schema}`.`{table}`"),
            format!("\"{schema}\".\"{table}\""),
        ];
        self.sections.iter().find(|s| names.contains(&s.name))
    }
}
