//! Tests against the scripted server half: no server is needed.

mod frames;
mod gates;
mod hostile;
mod loads;
mod logins;

use crate::rogue::{Reply, Rogue, Script};
use crate::{Conn, Options};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A rogue on a unix socket of its own.
fn rogue(script: Script) -> Rogue {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("penstock-wire-{}-{n}.sock", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&path);
    Rogue::unix(&path, script).expect("a socket in the temporary folder")
}

/// A rogue that always says this, and a connection to it.
fn always(reply: Reply) -> (Rogue, Conn) {
    let rogue = rogue(Script::new(move |_| reply.clone()));
    let conn = Conn::connect(&loading(&rogue)).expect("a rogue lets everybody in");
    (rogue, conn)
}

fn loading(rogue: &Rogue) -> Options {
    let mut options = rogue.options();
    options.local_infile = true;
    options
}

fn text(s: &str) -> Option<Vec<u8>> {
    Some(s.as_bytes().to_vec())
}

#[test]
fn connections_move_between_threads() {
    fn moves<T: Send>() {}
    moves::<Conn>();
    moves::<crate::Closer>();
    moves::<crate::Error>();
}

#[test]
fn a_rogue_in_front_of_a_server_answers_what_it_wants() {
    let real = rogue(Script::new(|sql| {
        Reply::Rows(vec!["q".into()], vec![vec![Some(sql.to_vec())]])
    }));
    let front = rogue(
        Script::new(|sql| match sql {
            b"steal" => Reply::File("/etc/passwd".into()),
            b"lie" => Reply::Rows(vec!["l".into()], vec![vec![None]]),
            _ => Reply::Forward,
        })
        .upstream(real.endpoint().clone()),
    );
    let mut conn = Conn::connect(&loading(&front)).expect("in");
    for _ in 0..2 {
        assert_eq!(
            conn.fetch("truth").expect("rows"),
            vec![vec![text("truth")]]
        );
        assert_eq!(conn.fetch("lie").expect("rows"), vec![vec![None]]);
    }
    let all = conn
        .query_bulk("bulk")
        .expect("rows")
        .next()
        .expect("a row")
        .map(|r| r.payload().len());
    assert_eq!(all, Some(256 * 1024 + 4));
    assert!(matches!(
        conn.execute("steal"),
        Err(crate::Error::LocalFile)
    ));
}
