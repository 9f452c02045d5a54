//! After `penstock warm save --pages` and `warm load --pages`.

use super::shared::{duration_at, things};
use super::{Item, Summary};
use crate::record::Better;
use base::units::{bytes, count, printable};
use warm::pages::{load, save};

/// Describes what was saved.
pub fn warm_save_pages(d: &save::Summary) -> Summary {
    let heading = match d.exceptions.is_empty() {
        true => "The hot pages are saved",
        false => "The hot pages are saved, with exceptions",
    };
    let mut s = Summary::new("warm save", heading);
    s.add(
        Item::new("server")
            .shown(&d.header.server)
            .key("server", &d.header.server),
    );
    s.add(
        Item::new("pages")
            .line(format!(
                "{} ({}) of {} in the buffer pool, in {}",
                count(d.pages),
                bytes(d.pages * d.header.page_size),
                count(d.header.listed),
                things(d.spaces, "tablespace")
            ))
            .key("pages", d.pages)
            .key("pages_listed", d.header.listed)
            .key("page_size", d.header.page_size)
            .key("tablespaces", d.spaces),
    );
    for item in duration_at(d.seconds, d.pages * d.header.page_size, " of hot pages") {
        s.add(item);
    }
    s.add_exceptions(&d.exceptions);
    s.add(
        Item::new("file")
            .shown(format!("{} ({})", printable(&d.path), bytes(d.bytes)))
            .key("file", &d.path)
            .key("file_bytes", d.bytes),
    );
    s
}

/// Describes what the server loaded.
pub fn warm_load_pages(d: &load::Summary) -> Summary {
    let heading = match d.exceptions.is_empty() {
        true => "The server is warm",
        false => "The server is warm, with exceptions",
    };
    let mut s = Summary::new("warm load", heading);
    s.add(
        Item::new("server")
            .shown(&d.target)
            .key("server", &d.target),
    );
    let size = d.pages * d.page_size;
    s.add(
        Item::new("pages")
            .line(format!(
                "{} ({}) in {}, loaded by the server itself",
                count(d.pages),
                bytes(size),
                things(d.spaces, "tablespace")
            ))
            .key("pages", d.pages)
            .key("bytes", size)
            .key("tablespaces", d.spaces)
            .key("said", &d.said)
            .figure(size as f64, "B", Better::Neither),
    );
    let (marks, equal) = d.marks;
    s.add(
        Item::new("same files")
            .line(format!(
                "{} of {} marks of pages are equal",
                count(equal),
                count(marks)
            ))
            .key("marks", marks)
            .key("marks_equal", equal),
    );
    s.add(
        Item::new("read from disk")
            .line(format!(
                "{} by the whole server meanwhile",
                bytes(d.bytes_read)
            ))
            .key("bytes_read", d.bytes_read)
            .figure(d.bytes_read as f64, "B", Better::Lower),
    );
    let room = Item::new("no room").key("no_room_pages", d.no_room);
    s.add(match d.no_room {
        0 => room,
        n => room.line(format!("for {} colder pages", count(n))),
    });
    let beyond = Item::new("not here").key("beyond_pages", d.beyond);
    s.add(match d.beyond {
        0 => beyond,
        n => beyond.line(format!("{} pages, beyond the ends of the files", count(n))),
    });
    for item in duration_at(d.seconds, size, " of hot pages") {
        s.add(item);
    }
    s.add_exceptions(&d.exceptions);
    s
}
