//! Options, places and option files: what does not apply is refused before anything is touched, and what
//! a dump lacks is said again by those who use it.

use crate::kit::proxied::filled;
use crate::kit::waiting::found;
use crate::kit::{Pair, Tool, both};
use std::path::{Path, PathBuf};

fn shop(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v TEXT); \
        INSERT INTO shop.t VALUES (1, 'one');",
    );
}

/// An option file that only its user can write.
fn option_file(pair: &Pair, text: &str) -> PathBuf {
    let path = pair.path("o.cnf");
    std::fs::write(&path, text).expect("written");
    path
}

both!(options_of_other_dumps_are_refused_for_an_archive);
fn options_of_other_dumps_are_refused_for_an_archive(pair: &Pair) {
    shop(pair);
    pair.dump("a", &[]).ok();
    for (options, says) in [
        (&["--schema", "elsewhere"][..], "--schema elsewhere"),
        (&["--skip-unsupported"], "--skip-unsupported"),
    ] {
        pair.load("a", options).code(2).says(&[says, "archive"]);
    }
    assert_eq!(pair.target_schemas(), [""; 0]);
}

both!(options_of_archives_are_refused_for_a_script);
fn options_of_archives_are_refused_for_a_script(pair: &Pair) {
    let sql = "CREATE DATABASE s; CREATE TABLE s.t (id INT); INSERT INTO s.t VALUES (1);\n";
    std::fs::write(pair.path("s.sql"), sql).expect("written");
    for options in [
        &["--import-mode", "tablespace"][..],
        &["--sort-memory", "1M"],
        &["--allow-same-server"],
    ] {
        pair.load("s.sql", options).code(2).says(&[options[0]]);
    }
    assert_eq!(pair.target_schemas(), [""; 0]);
    pair.load("s.sql", &["--schema", "x", "--skip-unsupported"])
        .ok();
}

/// What reads as another host or service never becomes a local path of that name.
#[test]
fn places_that_look_remote_are_refused() {
    const ARCHIVES: [&[&str]; 2] = [&["dump", "-S", "/nonexistent/sock", "--to"], &["verify"]];
    const FILES: [&[&str]; 2] = [
        &["dump", "-S", "/nonexistent/sock", "--to", "d", "--record"],
        &["bench", "impact", "-S", "/nonexistent/sock", "--to"],
    ];
    let refused = |calls: &[&[&str]], place: &str, says: &str| {
        for args in calls {
            Tool::new(args.iter().copied())
                .arg(place)
                .run()
                .code(2)
                .says(&[place, says, "HINT"]);
        }
        let made = place.split('/').next().expect("a part");
        assert!(!Path::new(made).exists(), "{made}");
    };
    for (place, says) in [
        ("file:///tmp/a", "write /tmp/a"),
        ("u@host:/a", "write ssh://u@host/a for that"),
        ("host:/a", "./host:/a"),
        ("~x/a", "the shell has not replaced the ~"),
    ] {
        refused(&ARCHIVES, place, says);
        refused(&FILES, place, says);
    }
    // An archive can be a stream; a record cannot.
    refused(&FILES, "-", "a stream, not a directory");
    // Archives may lie there, records and the directory of a benchmark not.
    for place in ["s3://bucket/a", "sftp://u@h/a"] {
        refused(&FILES, place, "only a path of this host is possible here");
    }
}

both!(the_parent_of_archives_is_refused);
fn the_parent_of_archives_is_refused(pair: &Pair) {
    shop(pair);
    pair.dump("backups/monday", &[]).ok();
    pair.dump("backups/tuesday", &[]).ok();
    pair.load("backups", &[])
        .code(2)
        .says(&["backups", "monday, tuesday", "penstock load"]);
    assert_eq!(pair.target_schemas(), [""; 0]);
    pair.verify("backups")
        .code(2)
        .says(&["monday, tuesday", "penstock verify"]);
    pair.load("backups/monday", &[]).ok();
}

both!(what_is_no_archive_is_called_what_it_is);
fn what_is_no_archive_is_called_what_it_is(pair: &Pair) {
    shop(pair);
    pair.dump("a", &[]).ok();
    std::fs::create_dir_all(pair.path("scripts")).expect("a directory");
    let script = pair.path("scripts/x.sql");
    std::fs::write(&script, "CREATE DATABASE x;").expect("a script");
    let right = format!("penstock load {}", script.display());
    for name in ["scripts", "scripts/x.sql"] {
        pair.verify(name).code(2).says(&[&right]);
    }
    pair.load("scripts", &[]).code(2).says(&["x.sql", &right]);
    let archive = pair.path("a").display().to_string();
    for file in ["penstock.json", "@.json"] {
        let path = format!("a/{file}");
        let one = ["one file of the archive", archive.as_str()];
        pair.load(&path, &[]).code(2).says(&one);
        let right = format!("penstock verify {archive}");
        pair.verify(&path).code(2).says(&one).says(&[&right]);
    }
    // A link that leads nowhere, in a directory that is no dump.
    std::fs::create_dir_all(pair.path("etc/sub")).expect("a directory");
    std::os::unix::fs::symlink("/nowhere", pair.path("etc/sub/link")).expect("a link");
    pair.load("etc", &[])
        .code(5)
        .says(&["holds no dump of a known kind"]);
    assert_eq!(pair.target_schemas(), [""; 0]);
    // One missing file is named once, by its own name.
    let chunk = std::fs::read_dir(pair.path("a"))
        .expect("an archive")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .find(|n| n.ends_with(".tsv.zst"))
        .expect("a chunk");
    std::fs::remove_file(pair.path("a").join(&chunk)).expect("removed");
    let done = pair.verify("a").code(5).says(&["damaged in one place"]);
    assert_eq!(
        done.said().matches(".tsv.zst").count(),
        1,
        "{}",
        done.said()
    );
    assert!(done.said().contains(&chunk), "{}", done.said());
}

both!(options_come_from_an_option_file);
fn options_come_from_an_option_file(pair: &Pair) {
    shop(pair);
    let socket = pair.source().socket().display().to_string();
    let head = format!("[client]\nsocket={socket}\nuser=root\nquick\n[penstock]\n");
    let good = format!(
        "{head}compression = none\nthreads=3\nto = {}\nresume\n",
        pair.path("a").display()
    );
    let dump = |file: &Path, more: &[&str]| {
        Tool::new(["dump", "--json", "--defaults-file"])
            .arg(file)
            .args(more.iter().copied())
            .run()
    };
    let done = dump(&option_file(pair, &good), &[]).ok().summary();
    assert_eq!(done["compression"], "none");
    assert_eq!(done["workers"], 3);
    assert_eq!(done["archive"], pair.path("a").display().to_string());
    // What is typed wins.
    let to = pair.path("b").display().to_string();
    let done = dump(&option_file(pair, &good), &["--to", &to, "-t2"])
        .ok()
        .summary();
    assert_eq!(done["workers"], 2);
    assert_eq!(done["archive"], to);
    for wrong in ["max-rat = 1M", "treads = 2", "quick"] {
        let file = option_file(pair, &format!("{head}{wrong}\n"));
        let name = wrong.split(' ').next().expect("a name");
        dump(&file, &["--to", "no"])
            .code(2)
            .says(&["o.cnf, line 6", name]);
    }
    // What does not apply to a call is a default for other calls.
    let file = option_file(pair, "[penstock]\nmax-rate = 900M\nschemas = shop\n");
    let home = pair.path("home");
    std::fs::create_dir(&home).expect("a directory");
    std::fs::copy(&file, home.join(".my.cnf")).expect("a file");
    let verify = |more: &[&str]| {
        let tool = Tool::new(["verify"]).env("HOME", home.as_os_str());
        tool.arg(pair.path("a")).args(more.iter().copied()).run()
    };
    verify(&[]).ok();
    verify(&["--against", &pair.source().uri()]).ok();
    // The same option is refused where it is typed.
    verify(&["--max-rate", "1M"])
        .code(2)
        .says(&["do not apply"]);
    let file = option_file(pair, &format!("{head}max-rate = fast\n"));
    dump(&file, &["--to", "no"])
        .code(2)
        .says(&["max-rate (option file", "line 6"]);
}

both!(what_a_dump_lacks_is_said_again);
fn what_a_dump_lacks_is_said_again(pair: &Pair) {
    pair.fill(
        "CREATE DATABASE ex; CREATE TABLE ex.old (id INT PRIMARY KEY) ENGINE=MyISAM; \
        INSERT INTO ex.old VALUES (1);",
    );
    let done = pair.dump("a", &["-q", "--consistency", "none"]).code(3);
    for exception in ["`ex`.`old` uses MyISAM", "--consistency none"] {
        assert_eq!(done.err.matches(exception).count(), 1, "{}", done.err);
    }
    let says = [
        "dumped with exceptions",
        "`ex`.`old` uses MyISAM",
        "--consistency none",
    ];
    pair.verify("a").ok().says(&says);
    pair.load("a", &[]).ok().says(&says);
    pair.verify_against("a", pair.target())
        .ok()
        .says(&says)
        .says(&["not read", "penstock verify DIR"]);
    let json = Tool::new(["verify", "--json"])
        .arg(pair.path("a"))
        .run()
        .ok()
        .summary();
    let list = json["dumped_with_exceptions"].as_array().expect("a list");
    assert_eq!(list.len(), 2, "{list:?}");
    // An archive that lacks nothing says nothing.
    pair.fill("ALTER TABLE ex.old ENGINE=InnoDB");
    pair.dump("b", &[]).ok();
    assert!(!pair.verify("b").ok().said().contains("exceptions"));
}

both!(a_run_of_cron_is_found_from_a_session);
fn a_run_of_cron_is_found_from_a_session(pair: &Pair) {
    pair.fill(&filled(14));
    let (home, session) = (pair.path("home"), pair.path("session"));
    for directory in [&home, &session] {
        std::fs::create_dir(directory).expect("created");
    }
    // cron sets HOME and no session.
    let run = pair
        .dumping("d", &["--max-rate", "50k"])
        .env("HOME", &home)
        .start();
    let ask = |verb: &str| {
        Tool::new([verb, "--json"])
            .env("HOME", &home)
            .env("XDG_RUNTIME_DIR", &session)
            .run()
    };
    let pid = found("the run", || {
        let said = ask("status").ok().json();
        said[0]["runs"].as_array()?.first()?["pid"].as_u64()
    });
    assert_eq!(pid, u64::from(run.pid()));
    ask("stop").ok();
    run.wait().code(9);
}
