//! The page of made-up listings: what needs a person, nothing, and much.

use super::*;
use repository::{BackupId, Proof, ServerName};
use serde_json::json;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn entry(server: &str, day: u32, exception: &str) -> Entry {
    let text = format!("2026-11-{day:02}T02:00:00Z");
    let position = serde_json::to_value(archive::manifest::Position::default()).unwrap();
    serde_json::from_value(json!({
        "version": 1, "server": server, "id": format!("202611{day:02}T020000Z-00ff"), "sequence": day,
        "flavour": "MySQL", "server_version": "9.7.0", "begin": text, "end": text, "tables": 1, "rows": 10,
        "raw_bytes": 3000, "stored_bytes": 1000, "files": 9, "position": position, "impact": 0.031,
        "exceptions": if exception.is_empty() { vec![] } else { vec![exception] },
        "manifest": {"bytes": 1, "blake3": ""},
    }))
    .unwrap()
}

fn proof(server: &str, id: &str, time: &str, proven: bool) -> Proof {
    Proof {
        server: ServerName::parse(server).unwrap(),
        id: BackupId::parse(id).unwrap(),
        at: at(time),
        proven,
    }
}

#[test]
fn what_needs_a_person_comes_first() {
    let l = Listing {
        entries: vec![
            entry("crm", 1, ""),
            entry("shop", 1, ""),
            entry("shop", 2, "<img src=x> is not of one moment"),
        ],
        proofs: vec![
            proof(
                "shop",
                "20261101T020000Z-00ff",
                "2026-11-01T05:00:00Z",
                true,
            ),
            proof(
                "shop",
                "20261102T020000Z-00ff",
                "2026-11-02T05:00:00Z",
                false,
            ),
        ],
        ..Listing::default()
    };
    let page = page("s3://b/<script>", &l, at("2026-11-03T02:30:00Z"));
    for there in [
        "never proven",
        "1 server without a drill that proved a backup",
        "2 d 0 h",
        "crm, the oldest of all servers",
        "did not prove the backup",
        "&lt;img src=x&gt; is not of one moment",
        "s3://b/&lt;script&gt;",
        "3.1 %",
        "class='ring'",
        "class='broken' d='M-4",
    ] {
        assert!(page.contains(there), "{there}\n{page}");
    }
    assert!(!page.contains("<script") && !page.contains("<img"));
}

#[test]
fn nothing_and_much_are_shown() {
    let now = at("2026-11-03T02:30:00Z");
    let none = page("/r", &Listing::default(), now);
    assert!(none.contains("There is no backup"));
    let entries = (0..3000).map(|n| entry("shop", n % 28 + 1, "")).collect();
    let much = page(
        "/r",
        &Listing {
            entries,
            ..Listing::default()
        },
        now,
    );
    assert!(much.contains("The newest 400 of 3000"));
    assert!(much.len() < 1 << 20, "{}", much.len());
}
