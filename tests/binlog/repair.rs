//! What is lost or damaged in the repository is archived again, as long as the server has that file, and is named where it has not.

use super::kit::{Logged, write};
use crate::kit::{each_kind, few};
use std::path::PathBuf;
use testkit::Kind;

/// Segments of a file, in its order.
fn segments(logged: &Logged, file: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(logged.place()).expect("a directory");
    let mut all: Vec<PathBuf> = all
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.to_string_lossy().contains(&format!("@{file}@")))
        .collect();
    all.sort();
    all
}

fn more(logged: &Logged) {
    for _ in 0..4 {
        write(&logged.server, 30);
        // Segments are small, so that each file has several.
        logged
            .archiving(&["--once", "--start", "oldest", "--segment-size", "64k"])
            .run()
            .ok();
    }
    logged
        .server
        .client("FLUSH BINARY LOGS")
        .expect("another file");
}

/// Ways to lose something.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// Segments of a file in the middle, from this one on, that many.
    Segments(usize, usize),
    /// All of a file.
    File,
    /// The line that describes a segment.
    Head,
    /// The end of a segment.
    Cut,
    /// What says that a file has ended.
    Heads,
    /// Bytes of a segment: only --repair reads them.
    Bytes,
    /// Bytes of the newest segment of all.
    Newest,
    /// The first segment of the newest file.
    Gap,
    /// All that is kept of the newest file.
    End,
}

const LOSSES: [Loss; 11] = [
    Loss::Segments(0, 1),
    Loss::Segments(1, 2),
    Loss::Segments(3, 9),
    Loss::File,
    Loss::Head,
    Loss::Cut,
    Loss::Heads,
    Loss::Bytes,
    Loss::Newest,
    Loss::Gap,
    Loss::End,
];

fn damage(path: &PathBuf, at: impl Fn(&[u8]) -> usize) {
    let mut bytes = std::fs::read(path).expect("bytes");
    let at = at(&bytes);
    bytes[at] ^= 0x11;
    std::fs::write(path, bytes).expect("damage");
}

/// A file in the middle, and the newest.
fn files(logged: &Logged) -> [String; 2] {
    let all: Vec<String> = logged.files().into_keys().collect();
    [&all[all.len() - 3], &all[all.len() - 1]].map(String::clone)
}

fn lose(logged: &Logged, loss: Loss) {
    let [file, newest] = files(logged);
    let middle = segments(logged, &file);
    // A file that was archived again has fewer segments than before.
    let nth = |n: usize| n.min(middle.len() - 1);
    let heads = logged.place().join(format!("0001@{file}.json"));
    let remove = |p: &PathBuf| std::fs::remove_file(p).expect("a loss");
    match loss {
        Loss::Segments(from, n) => middle.iter().skip(nth(from)).take(n).for_each(remove),
        Loss::File => {
            middle.iter().for_each(remove);
            remove(&heads);
        }
        Loss::Head => damage(&middle[nth(2)], |_| 3),
        Loss::Cut => {
            let bytes = std::fs::read(&middle[nth(2)]).expect("bytes");
            std::fs::write(&middle[nth(2)], &bytes[..bytes.len() - 7]).expect("damage");
        }
        Loss::Heads => remove(&heads),
        Loss::Bytes => damage(&middle[nth(1)], |b| b.len() - 9),
        Loss::Gap => {
            write(&logged.server, 3);
            logged.once().ok();
            remove(&segments(logged, &newest)[0]);
        }
        Loss::End => segments(logged, &newest).iter().for_each(remove),
        Loss::Newest => {
            let newest = segments(logged, &newest);
            damage(newest.last().expect("a segment"), |b| b.len() - 9);
        }
    }
}

fn what_is_lost_is_archived_again(kind: Kind) {
    let Some(logged) = Logged::new(kind, &[]) else {
        return;
    };
    for _ in 0..3 {
        more(&logged);
    }
    write(&logged.server, 9);
    logged.once().ok();
    logged.assert_equal(1);
    for loss in few(kind, 4, &LOSSES) {
        lose(&logged, loss);
        // A file of which nothing is kept may never have been archived.
        if !matches!(loss, Loss::Heads | Loss::End) {
            logged.on(&["check"]).code(5);
        }
        // Where the descriptions of all segments are stored together, that shows what is cut off, and spares a look at each.
        let together = logged
            .place()
            .join(format!("0001@{}.json", files(&logged)[0]));
        let unseen = match loss {
            Loss::Cut => !together.exists(),
            Loss::Head => together.exists(),
            _ => false,
        };
        let repair = matches!(loss, Loss::Bytes | Loss::Newest) || unseen;
        if repair {
            logged.once().ok();
            logged
                .on(&["check"])
                .code(5)
                .says(&["binlog archive --repair"]);
        }
        let done = match repair {
            true => logged.archiving(&["--once", "--repair"]).run(),
            false => logged.once(),
        };
        let done = done.ok();
        // The end of a file that was archived again stands in its last segment, too.
        let [middle, newest] = files(&logged);
        let shown = match loss {
            Loss::Newest | Loss::Heads | Loss::End => None,
            Loss::Gap => Some(newest),
            _ => Some(middle),
        };
        if let Some(file) = shown {
            done.says(&["archived again", &format!("{file} from ")]);
        }
        logged.on(&["check"]).ok();
        logged.assert_equal(1);
        let again = logged.once().ok().said();
        assert!(!again.contains("archived again"), "{again}");
    }
    // The server has it no more: it is named, and archiving goes on.
    let [file, _] = files(&logged);
    lose(&logged, Loss::Segments(1, 1));
    logged.purge();
    write(&logged.server, 3);
    logged
        .once()
        .code(3)
        .says(&[&format!("{file} from"), "the server has that file no more"]);
    // The file of that name is another one after a reset. A file is known by the second in which it was begun.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let reset = match kind == Kind::MySql {
        true => "RESET BINARY LOGS AND GTIDS",
        false => "RESET MASTER",
    };
    logged.server.client(reset).expect("a reset");
    for _ in 0..4 {
        logged
            .server
            .client("FLUSH BINARY LOGS")
            .expect("another file");
    }
    logged.archiving(&["--once"]).run().code(3).says(&[
        &format!("{file} from"),
        "not archived again",
        "the server's log was reset",
    ]);
}
each_kind!(what_is_lost_is_archived_again; mysql, mariadb);
