//! What a load leaves out because it is damaged.

use server::NameMap;

/// Something of the archive that is damaged and therefore left out.
pub struct LeftOut {
    /// What is not loaded and why, in words.
    pub what: String,
    /// Its schema.
    pub schema: String,
    /// The table or view that is not loaded.
    pub object: Option<String>,
}

impl LeftOut {
    /// Says by the name that it would have on the target what it is.
    pub(crate) fn rename(&mut self, map: &NameMap) {
        match &mut self.object {
            Some(object) => (self.schema, *object) = map.table(&self.schema, object),
            None => self.schema = map.schema(&self.schema).to_owned(),
        }
    }
}
