//! What goes together, and what does not, one line each. `considered` goes through every option.

use super::load::Loaded;
use crate::args::bench::Bench;
use crate::args::{Cli, Command};
use bench::impact::Method;
use clap::Parser;

/// What the rules say to a command line that clap accepts.
fn ruled(line: &str) -> Result<(), String> {
    let words = std::iter::once("penstock").chain(line.split(' '));
    let cli = Cli::try_parse_from(words).expect("a command line");
    let said = match &cli.command {
        Command::Dump(a) => super::record_outside(a)
            .and_then(|()| super::from_files(a))
            .and_then(|()| super::dump(&a.how)),
        Command::Load(a) => super::load(&a.how),
        Command::Verify(a) => super::verify(a),
        Command::Doctor(a) => super::doctor(a),
        Command::Report(a) => super::report(a),
        Command::Bench(Bench::Impact(a)) => {
            let methods = a.method.iter().map(|m| Method::parse(m).unwrap());
            super::impact(a, &methods.collect::<Vec<_>>())
        }
        _ => Ok(()),
    };
    said.map_err(|e| e.what)
}

/// The same for a load, of which it is known what it loads.
fn ruled_load(line: &str, loaded: Loaded) -> Result<(), String> {
    let words = std::iter::once("penstock").chain(line.split(' '));
    let Command::Load(a) = Cli::try_parse_from(words).expect(line).command else {
        panic!("{line}");
    };
    super::load_of(&a, loaded).map_err(|e| e.what)
}

/// Each option of a load that only one kind of input knows.
#[test]
fn what_goes_with_what_is_loaded() {
    let (archives, others) = ([true].as_slice(), [false].as_slice());
    let both = [true, false].as_slice();
    for (options, applies_to) in [
        ("--schema x", others),
        ("--skip-unsupported", others),
        ("--schemas a", both),
        ("--exclude-schemas a", both),
        ("--tables a.b", both),
        ("--exclude-tables a.b", both),
        ("--import-mode tablespace", archives),
        ("--import-mode offline", archives),
        ("--sort-memory 1M", archives),
        ("--allow-same-server", archives),
        ("--skip-damaged", archives),
        ("--definer strip", archives),
        ("--analyze", archives),
        ("--gtid-purged append", archives),
        ("--existing skip", archives),
        ("--map-schema a=b", both),
        ("--map-table a.b=a.c", both),
        ("--import-mode auto", both),
        ("--import-mode sql", both),
        ("--defer-indexes all", both),
        ("--verify none", both),
        ("--resume", both),
        ("--skip-binlog", both),
        ("--max-rate 1M", both),
        ("--threads 2", both),
        ("--tune off", both),
        ("--record r.json", both),
        ("--datadir d", both),
    ] {
        for archive in [true, false] {
            let loaded = match archive {
                true => Loaded::Archive,
                false => Loaded::OtherDump,
            };
            let said = ruled_load(&format!("load a {options}"), loaded);
            let applies = applies_to.contains(&archive);
            assert_eq!(said.is_ok(), applies, "{options}, {archive}: {said:?}");
            if let Err(said) = said {
                let option = options.split(' ').next().unwrap();
                assert!(said.contains(option), "{options}: {said}");
            }
        }
    }
    for once in ["--resume", "--tables a.b", "--map-schema a=b"] {
        assert!(ruled_load(&format!("load - {once}"), Loaded::OtherDump).is_err());
    }
}

#[test]
fn what_goes_together() {
    for line in [
        "dump --to d",
        "dump --to d --max-lag 2s --replica mysql://r/ --limit-timeout 1m",
        "dump --to d --max-impact 5% --min-rate 1M --max-rate 2M",
        "load a --tune max",
        "load a --tune max --server-command x --server-config /c",
        "load a --import-mode offline --server-command x",
        "load a --datadir d --sort-memory 1M",
        "verify a",
        "verify a --files-only --threads 2",
        "verify a -h db --max-rate 1M",
        "verify --server mysql://a/ --server mysql://b/",
        "verify --tablespace t.ibd",
        "doctor",
        "doctor -h db --connect-timeout 5",
        "doctor --revert mysql://a/ --ssl-key k",
        "report a.json --to b.html --force",
        "report a.json --to -",
        "bench impact --method mydumper --mydumper x",
        "bench impact --method replica --replica mysql://r/",
    ] {
        assert_eq!(ruled(line), Ok(()), "{line}");
    }
}

#[test]
fn what_does_not() {
    for (line, part) in [
        (
            "dump --to d --lock-wait 5 --consistency none",
            "--consistency none waits for none",
        ),
        (
            "dump --to d --record d/r.json",
            "inside the archive directory",
        ),
        ("dump --to d --limit-timeout 5s", "no limit is set"),
        (
            "dump --to d --from-files /srv/d --max-lag 2s",
            "not by sessions of a server",
        ),
        (
            "dump --to d --from-files /srv/d --consistency none",
            "no server writes",
        ),
        (
            "dump --to d --from-files /srv/d --lock-wait 5",
            "no server writes",
        ),
        (
            "dump --to d --from-files /srv/d --connect-timeout 5",
            "temporary server of --from-files",
        ),
        ("dump --to d --replica mysql://r/", "no limit on their lag"),
        (
            "dump --to d --max-impact 5% --min-rate 2M --max-rate 1M",
            "--max-rate allows 1048576",
        ),
        ("load a --import-mode sql --sort-memory 1M", "imports none"),
        (
            "load a --import-mode offline",
            "--server-command is required",
        ),
        (
            "load a --import-mode offline --tune max",
            "forgets what --tune=max sets",
        ),
        (
            "load a --import-mode offline --server-command x --server-config /c",
            "offline changes none",
        ),
        (
            "load a --server-command x",
            "only --tune=max and --import-mode offline",
        ),
        (
            "load a --server-command x --server-config /c",
            "only --tune=max and --import-mode offline",
        ),
        (
            "load a --tune max --server-command x",
            "--server-config is required",
        ),
        ("load a --datadir d --tune max", "settings to change"),
        ("load a --datadir d --skip-binlog", "no binary log"),
        ("load a --datadir d --ssl-mode required", "do not apply"),
        ("verify a --tables x.y", "covers the whole archive"),
        ("verify a --max-rate 1M", "do not apply"),
        ("verify a --files-only -h db", "a server is named"),
        ("verify --server mysql://a/", "needs two"),
        ("verify --tablespace t.ibd -h db", "as they are"),
        ("dump --to d --chunk-size 1k", "the least is 64k"),
        ("doctor --connect-timeout 5", "no server is named"),
        ("doctor --ssl-key k", "no server is named"),
        ("report a.json --to - --force", "standard output"),
        ("report s3://a/r.json", "only a path of this host"),
        (
            "bench impact --method alone --mysqldump x",
            "no --method uses it",
        ),
        (
            "bench impact --method alone --mydumper x",
            "no --method uses it",
        ),
        (
            "bench impact --method alone --replica mysql://r/",
            "no --method uses it",
        ),
    ] {
        let said = ruled(line).expect_err(line);
        assert!(said.contains(part), "{line}: {said}");
    }
}
