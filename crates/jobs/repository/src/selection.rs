//! Which part of a server a backup holds, as the catalog has it.

use archive::Manifest;
use serde::{Deserialize, Serialize};
use server::Filter;

/// The patterns of a backup that was told to leave something out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// Only these schemas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_schemas: Vec<String>,
    /// Without these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_schemas: Vec<String>,
    /// Only these tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_tables: Vec<String>,
    /// Without these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_tables: Vec<String>,
    /// Only these triggers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_triggers: Vec<String>,
    /// Without these triggers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_triggers: Vec<String>,
    /// Only these routines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_routines: Vec<String>,
    /// Without these routines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_routines: Vec<String>,
    /// Only these events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include_events: Vec<String>,
    /// Without these events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_events: Vec<String>,
}

impl Selection {
    /// As the options of the dump say it; `None` if it has everything, or is of a program that did not note that.
    pub(crate) fn of(manifest: &Manifest) -> Option<Selection> {
        let options = serde_json::Value::Object(manifest.options.clone());
        let selection: Selection = serde_json::from_value(options).ok()?;
        (selection != Selection::default()).then_some(selection)
    }

    /// What decides about a schema or table; `None` if a pattern cannot be read.
    pub(crate) fn filter(&self) -> Option<Filter> {
        Filter::new(
            &self.include_schemas,
            &self.exclude_schemas,
            &self.include_tables,
            &self.exclude_tables,
        )
        .ok()
    }
}

impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lists = [
            ("only schemas", &self.include_schemas),
            ("without schemas", &self.exclude_schemas),
            ("only tables", &self.include_tables),
            ("without tables", &self.exclude_tables),
            ("only triggers", &self.include_triggers),
            ("without triggers", &self.exclude_triggers),
            ("only routines", &self.include_routines),
            ("without routines", &self.exclude_routines),
            ("only events", &self.include_events),
            ("without events", &self.exclude_events),
        ];
        let given = lists.iter().filter(|(_, list)| !list.is_empty());
        let words: Vec<String> = given
            .map(|(name, list)| format!("{name} {}", list.join(", ")))
            .collect();
        f.write_str(&base::units::printable(&words.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_comes_out_of_a_manifest() {
        let mut manifest = Manifest::new("penstock", "0");
        assert_eq!(Selection::of(&manifest), None);
        manifest.options.insert("threads".into(), 2.into());
        assert_eq!(Selection::of(&manifest), None);
        let schemas = serde_json::json!(["shop", "a*"]);
        manifest.options.insert("includeSchemas".into(), schemas);
        let selection = Selection::of(&manifest).unwrap();
        assert_eq!(selection.to_string(), "only schemas shop, a*");
        let triggers = serde_json::json!(["shop.audit_*"]);
        manifest.options.insert("excludeTriggers".into(), triggers);
        let both = Selection::of(&manifest).unwrap().to_string();
        assert_eq!(both, "only schemas shop, a*; without triggers shop.audit_*");
        let filter = selection.filter().unwrap();
        assert!(filter.table("shop", "t") && filter.schema("ab") && !filter.schema("b"));
    }
}
