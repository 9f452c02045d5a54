//! `S.json`: one schema.

use super::yes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `S.json`: what an archive holds of a schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SchemaMeta {
    /// The schema's name.
    pub schema: String,
    /// There are definitions.
    #[serde(default = "yes")]
    pub includes_ddl: bool,
    /// There are definitions of views; as `includes_ddl` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub includes_views_ddl: Option<bool>,
    /// There are rows.
    #[serde(default = "yes")]
    pub includes_data: bool,
    /// Events, routines and libraries have files of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multifile_ddl: bool,
    /// Tables, by name.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Views, by name.
    #[serde(default)]
    pub views: Vec<String>,
    /// Events, by name; absent if none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Functions, by name; absent if none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<String>>,
    /// Procedures, by name; absent if none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedures: Option<Vec<String>>,
    /// Packages of MariaDB, by name. MySQL Shell passes over the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packages: Option<Vec<String>>,
    /// Libraries, by name; absent if none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libraries: Option<Vec<String>>,
    /// File basename of each table and view.
    #[serde(default)]
    pub basenames: BTreeMap<String, String>,
}

impl SchemaMeta {
    /// A schema with definitions and data, still without objects.
    pub fn new(schema: &str) -> Self {
        Self {
            schema: schema.to_owned(),
            includes_ddl: true,
            includes_views_ddl: Some(true),
            includes_data: true,
            multifile_ddl: false,
            tables: Vec::new(),
            views: Vec::new(),
            events: None,
            functions: None,
            procedures: None,
            packages: None,
            libraries: None,
            basenames: BTreeMap::new(),
        }
    }

    /// Whether views have their definitions here.
    pub fn views_ddl(&self) -> bool {
        self.includes_views_ddl.unwrap_or(self.includes_ddl)
    }
}
