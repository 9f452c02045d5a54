//! After a copy.

use super::shared::{duration_at, things};
use super::{Item, Summary};
use base::units::bytes;
use copy::Compared;

/// Describes a copy.
pub fn copy(d: &copy::Summary) -> Summary {
    let (heading, compared) = match d.compared {
        Compared::Digests => ("Copied; every file has its digest", "digests"),
        Compared::Stream => ("Copied; the stream has its digest", "stream"),
        Compared::Sizes => ("Copied", "sizes"),
    };
    let mut s = Summary::new("copy", heading);
    s.add(Item::new("from").shown(&d.from).key("from", &d.from));
    s.add(Item::new("to").shown(&d.to).key("to", &d.to));
    s.add(
        Item::new("files")
            .line(format!("{}, {}", things(d.files, "file"), bytes(d.bytes)))
            .key("files", d.files),
    );
    s.add(Item::keys().key("bytes", d.bytes));
    s.add(Item::keys().key("compared", compared));
    if d.compared == Compared::Sizes {
        s.add(Item::new("not compared").line(
            "penstock did not write the archive, so it has no digests: only sizes were compared",
        ));
    }
    for item in duration_at(d.seconds, d.bytes, "") {
        s.add(item);
    }
    s.add(super::shared::link(d.link_seconds));
    s
}
