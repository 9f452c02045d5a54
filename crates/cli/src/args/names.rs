//! `--map-schema` and `--map-table`: other names than those of the source.

use clap::Args;

/// Names that objects get on the target.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Other names (compared exactly)")]
pub struct Names {
    /// Give a schema of the source another name; may be given several times
    #[arg(long, value_name = "OLD=NEW")]
    pub map_schema: Vec<String>,
    /// Give a table or view of the source another name, as shop.orders=shop.orders_monday; may be given several times
    #[arg(long, value_name = "OLD=NEW")]
    pub map_table: Vec<String>,
}

impl Names {
    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        if !self.map_schema.is_empty() {
            return Some("--map-schema");
        }
        (!self.map_table.is_empty()).then_some("--map-table")
    }
}
