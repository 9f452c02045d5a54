//! ROTATE: the log goes on in another file. Sources also make one for the stream, to name the file that follows.

use crate::Result;
use crate::fields::Fields;

/// Where the log goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotate {
    /// Offset in that file.
    pub position: u64,
    /// The file's name.
    pub file: String,
}

impl Rotate {
    /// Reads the body of a ROTATE event.
    pub fn parse(body: &[u8]) -> Result<Rotate> {
        let mut fields = Fields::new(body, "Rotate event");
        let position = fields.u64()?;
        let name = std::str::from_utf8(fields.rest());
        let name = name.map_err(|_| fields.wrong("a file name that is not UTF-8"))?;
        if name.is_empty() || name.contains(['/', '\0']) {
            return Err(fields.wrong("a file name that is none"));
        }
        Ok(Rotate {
            position,
            file: name.to_owned(),
        })
    }
}
