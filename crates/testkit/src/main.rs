//! The command line of testkit: servers, data and measurements for `./dev`.
//!
//! Answers are `name=value` lines, so that a shell script can read them.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people and scripts, and not part of penstock itself"
)]

mod args;
mod pages;
mod performance;
mod rates;
mod report;
mod tablespaces;

use args::Args;
use base::events::Silent;
use bench::tpcc;
use run::Run;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::sample::Sample;
use testkit::server::standing::{self, Standing};
use testkit::{
    Error, Install, Kind, Result, Setup, checksum, debian, drain, matrix, stock, stores,
};
use wire::{Conn, Endpoint, Options};

const HELP: &str = "\
testkit: throw-away servers and data for ./dev

  testkit server up KIND [--dir D] [--port] [-- SERVER-ARGUMENT…]
  testkit server down [KIND] [--dir D]
  testkit server list
  testkit available KIND                  says what would run, or why nothing can
  testkit client KIND PROGRAM             how to call client, dump or import: one word a line
  testkit program KIND SCRIPT             one program that is the server; SCRIPT is written if it takes one
  testkit sql --socket S STATEMENT…
  testkit tpcc load --socket S [--warehouses N] [--seed N] [--connections N] [--foreign-keys] [--schema NAME]
  testkit tpcc writes --socket S [--connections N] [--rate N] [--seconds N] [--count FILE] [--schema NAME]
  testkit tpcc check --socket S [--schema NAME]
  testkit debian load --socket S [--rows N] [--connections N] [--schema NAME]
  testkit debian fetch
  testkit sample sakila|chinook --kind KIND --socket S
  testkit drain --socket S --schema NAME [--table T] [--connections N] [--to DIR]
  testkit stock-load KIND --socket S --schema NAME --archive DIR [--connections N]
  testkit checksum --a SOCKET --b SOCKET [--schema NAME]
  testkit matrix list KIND                           the cases of what a server holds: schema and name
  testkit matrix fill KIND --socket S [--schema NAME] [--skip]       --skip: leave out what this server cannot have
  testkit matrix compare KIND --a SOCKET --b SOCKET [--schema NAME] [--rows]     schema, and how the copy differs, if it does;
                                                     --rows: in rows and names alone
  testkit rate --penstock BINARY --socket S [--rates 5,20,80] [--workers 1,2,4,8,16] [--seconds N] [--transport unix|tcp|tls]
  testkit store s3s|moto|ssh [--rate BYTES]       serves until it is ended; --rate: a second port, through a link of this speed
  testkit tablespace --socket S [--schema NAME] [--tables A,B] [--threads N] [--sort-memory MIB]
  testkit pages FILE.ibd [--runs N]               MB of pages a second that one thread reads: to digests of rows, to lines, to both
  testkit report --runs FILE.tsv --markdown FILE --json FILE
  testkit performance [--check] [--root DIR]      the tables of docs/performance.md and README.md, from bench/

KIND: mysql, mariadb, mysql55";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("testkit: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<ExitCode> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let good = |done: Result<()>| done.map(|()| ExitCode::SUCCESS);
    match &words[..] {
        [] | ["help" | "--help" | "-h", ..] => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        ["server", "up", rest @ ..] => good(server_up(&Args::parse(rest, &["dir"], &["port"])?)),
        ["server", "down", rest @ ..] => {
            good(server_down(&Args::parse(rest, &["dir"], &["keep"])?))
        }
        ["server", "list"] => good(server_list()),
        ["available", kind] => good(available(Kind::named(kind)?)),
        ["program", kind, script] => good(program(Kind::named(kind)?, script)),
        ["client", kind, program] => good(client(Kind::named(kind)?, program)),
        ["sql", rest @ ..] => good(sql(&Args::parse(rest, &["socket"], &[])?)),
        ["tpcc", "load", rest @ ..] => {
            let options = ["socket", "warehouses", "seed", "connections", "schema"];
            good(tpcc_load(&Args::parse(rest, &options, &["foreign-keys"])?))
        }
        ["tpcc", "writes", rest @ ..] => {
            let options = [
                "socket",
                "connections",
                "rate",
                "seconds",
                "count",
                "schema",
            ];
            good(tpcc_writes(&Args::parse(rest, &options, &[])?))
        }
        ["tpcc", "check", rest @ ..] => tpcc_check(&Args::parse(rest, &["socket", "schema"], &[])?),
        ["debian", "load", rest @ ..] => good(debian_load(&Args::parse(
            rest,
            &["socket", "rows", "connections", "schema"],
            &[],
        )?)),
        ["debian", "fetch"] => good(debian_fetch()),
        ["sample", rest @ ..] => good(sample(&Args::parse(rest, &["socket", "kind"], &[])?)),
        ["drain", rest @ ..] => good(drained(&Args::parse(
            rest,
            &["socket", "schema", "table", "connections", "to"],
            &[],
        )?)),
        ["stock-load", rest @ ..] => good(stock_load(&Args::parse(
            rest,
            &["socket", "schema", "archive", "connections"],
            &[],
        )?)),
        ["matrix", verb, kind, rest @ ..] => {
            let args = Args::parse(rest, &["socket", "a", "b", "schema"], &["skip", "rows"])?;
            good(matrix_of(verb, Kind::named(kind)?, &args))
        }
        ["checksum", rest @ ..] => checksums(&Args::parse(rest, &["a", "b", "schema"], &[])?),
        ["rate", rest @ ..] => good(rates::measure(&Args::parse(rest, &rates::OPTIONS, &[])?)),
        ["store", maker, rest @ ..] => serve(maker, &Args::parse(rest, &["rate"], &[])?),
        ["pages", rest @ ..] => good(pages::measure(&Args::parse(rest, &pages::OPTIONS, &[])?)),
        ["tablespace", rest @ ..] => good(tablespaces::measure(&Args::parse(
            rest,
            &tablespaces::OPTIONS,
            &[],
        )?)),
        ["report", rest @ ..] => good(report::write(&Args::parse(
            rest,
            &["runs", "markdown", "json"],
            &[],
        )?)),
        ["performance", rest @ ..] => {
            good(performance::run(&Args::parse(rest, &["root"], &["check"])?))
        }
        [command, ..] => Err(Error(format!(
            "no command {command:?} of this form\n{HELP}"
        ))),
    }
}

/// Serves a place for archives until the process is ended.
fn serve(maker: &str, args: &Args) -> Result<ExitCode> {
    let missing = || Error(format!("{maker} is not on this machine"));
    let link = |port: u16| -> Result<()> {
        if args.text("rate").is_some() {
            println!("link={}", stores::shaped(port, args.number("rate", 0)?)?);
        }
        Ok(())
    };
    match maker {
        "ssh" => {
            let sshd = stores::Sshd::start()?.ok_or_else(missing)?;
            println!("port={}\nssh={}", sshd.port(), sshd.ssh());
            link(sshd.port())?;
            wait_for_the_end(&sshd)
        }
        "s3s" | "moto" => {
            let s3s = maker == "s3s";
            let maker = if s3s {
                stores::Maker::S3s
            } else {
                stores::Maker::Moto
            };
            let s3 = stores::S3::start(maker)?.ok_or_else(missing)?;
            let (id, secret) = stores::S3_KEY;
            println!(
                "port={}\nid={id}\nsecret={secret}\nbucket={}",
                s3.port(),
                s3.bucket().display()
            );
            link(s3.port())?;
            wait_for_the_end(&s3)
        }
        _ => Err(Error(format!("no store '{maker}'\n{HELP}"))),
    }
}

/// The servers end with this process.
fn wait_for_the_end<T>(_server: &T) -> Result<ExitCode> {
    println!("ready=yes");
    loop {
        std::thread::park();
    }
}

/// Root on a socket.
fn root(socket: &str) -> Options {
    let mut options = Options::new(Endpoint::Unix(PathBuf::from(socket)), "root");
    options.local_infile = true;
    options
}

fn directory(args: &Args) -> Result<PathBuf> {
    match args.text("dir") {
        Some(dir) => Ok(PathBuf::from(dir)),
        None => Ok(standing::home().join(Kind::named(args.word(0, "KIND")?)?.name())),
    }
}

fn show(server: &Standing) {
    println!("socket={}", server.socket().display());
    println!("pid={}", server.pid);
    if let Some(port) = server.port {
        println!("port={port}");
    }
}

fn server_up(args: &Args) -> Result<()> {
    let mut setup = Setup::new(Kind::named(args.word(0, "KIND")?)?)?.args(&args.after);
    if args.flag("port") {
        setup = setup.tcp();
    }
    show(&standing::up(&setup, &directory(args)?)?);
    Ok(())
}

fn server_down(args: &Args) -> Result<()> {
    let server = standing::down(&directory(args)?, args.flag("keep"))?;
    println!("ended={}", server.pid);
    Ok(())
}

fn server_list() -> Result<()> {
    for server in standing::list() {
        let state = if server.is_alive() { "running" } else { "dead" };
        let port = server
            .port
            .map(|p| format!("  port {p}"))
            .unwrap_or_default();
        println!(
            "{:8} {state}  pid {}  {}{port}",
            server.kind.name(),
            server.pid,
            server.socket().display()
        );
    }
    Ok(())
}

fn available(kind: Kind) -> Result<()> {
    let install = Install::find(kind)?;
    println!("{} ({})", install.version()?, install.binary.display());
    Ok(())
}

fn client(kind: Kind, program: &str) -> Result<()> {
    for word in Install::find(kind)?.program(program)? {
        println!("{}", Path::new(&word).display());
    }
    Ok(())
}

fn program(kind: Kind, script: &str) -> Result<()> {
    let program = Install::find(kind)?.one_program(Path::new(script))?;
    println!("{}", program.display());
    Ok(())
}

fn sql(args: &Args) -> Result<()> {
    let mut conn = Conn::connect(&root(args.needed("socket")?))?;
    for statement in &args.words {
        for row in conn.fetch(statement).map_err(Error::doing(statement))? {
            let cell = |c: Option<Vec<u8>>| {
                c.map_or("NULL".into(), |c| String::from_utf8_lossy(&c).into_owned())
            };
            println!(
                "{}",
                row.into_iter().map(cell).collect::<Vec<_>>().join("\t")
            );
        }
    }
    Ok(())
}

/// The surroundings of a job whose events are not needed.
fn quiet() -> Run {
    Run::new(Arc::new(Silent), base::Cancel::new())
}

/// What a server holds, case by case.
fn matrix_of(verb: &str, kind: Kind, args: &Args) -> Result<()> {
    let mut cases = matrix::cases(kind);
    if let Some(schema) = args.text("schema") {
        cases.retain(|c| c.schema() == schema);
    }
    for case in cases {
        match verb {
            "list" => println!("{}\t{}", case.schema(), case.name),
            "fill" => {
                let socket = Path::new(args.needed("socket")?);
                match case.fill(&Install::find(kind)?, socket) {
                    Err(e) if args.flag("skip") => {
                        let drop = format!("DROP DATABASE IF EXISTS {}", case.schema());
                        let mut conn = Conn::connect(&root(args.needed("socket")?))?;
                        conn.execute(&drop).map_err(Error::doing(&drop))?;
                        println!("{}\t{}", case.schema(), e.0.replace(['\n', '\t'], " "));
                    }
                    done => done?,
                }
            }
            "compare" => {
                let (a, b) = (root(args.needed("a")?), root(args.needed("b")?));
                let what = match args.flag("rows") {
                    true => case.difference_in_rows(&a, &b)?,
                    false => case.difference(&a, &b)?,
                };
                let what = what.unwrap_or_default();
                println!("{}\t{}", case.schema(), what.replace(['\n', '\t'], " "));
            }
            _ => return Err(Error(format!("matrix {verb}: list, fill or compare"))),
        }
    }
    Ok(())
}

fn tpcc_load(args: &Args) -> Result<()> {
    let server = root(args.needed("socket")?);
    let mut options = tpcc::load::Options::new(server, args.number("warehouses", 1)?);
    options.seed = args.number("seed", options.seed)?;
    options.threads = args.number("connections", options.threads)?;
    options.foreign_keys = args.flag("foreign-keys");
    options.schema = args.text("schema").unwrap_or(tpcc::SCHEMA).to_owned();
    // The servers of tests and measurements do not need these rows in their binary logs.
    options.skip_binlog = true;
    let filled = tpcc::load::run(&quiet(), &options)?;
    println!(
        "rows={}\nbytes={}\nseconds={:.2}",
        filled.rows, filled.bytes, filled.seconds
    );
    Ok(())
}

/// Writes until the time is over, or until killed: the server then rolls back the open
/// transactions. A file has the current count, for whoever reads it.
fn tpcc_writes(args: &Args) -> Result<()> {
    let mut options = tpcc::Options::new(root(args.needed("socket")?));
    options.connections = args.number("connections", 2)?;
    let rate: f64 = args.number("rate", 0.0)?;
    options.rate = Some(rate).filter(|r| *r > 0.0);
    options.schema = args.text("schema").unwrap_or(tpcc::SCHEMA).to_owned();
    let seconds: u64 = args.number("seconds", 0)?;
    let writes = tpcc::Workload::start(&quiet(), &options)?;
    let begin = Instant::now();
    while writes.check().is_ok() && (seconds == 0 || begin.elapsed().as_secs() < seconds) {
        std::thread::sleep(Duration::from_millis(20));
        if let Some(file) = args.text("count") {
            let part = format!("{file}.part");
            std::fs::write(&part, format!("{}\n", writes.committed()))?;
            std::fs::rename(&part, file)?;
        }
    }
    let committed = writes.committed();
    writes.stop()?;
    println!("transactions={committed}");
    Ok(())
}

fn tpcc_check(args: &Args) -> Result<ExitCode> {
    let found = tpcc::check::run(
        &quiet(),
        &tpcc::check::Options {
            server: root(args.needed("socket")?),
            schema: args.text("schema").unwrap_or(tpcc::SCHEMA).to_owned(),
            threads: 2,
        },
    )?;
    for condition in &found.conditions {
        let verdict = if condition.broken == 0 {
            "holds"
        } else {
            "BROKEN"
        };
        println!(
            "{verdict}  condition {}: {}",
            condition.number, condition.text
        );
        if condition.broken > 0 {
            println!("        in {} places", condition.broken);
        }
    }
    Ok(if found.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn debian_load(args: &Args) -> Result<()> {
    let mut load = debian::Load::default();
    load.rows = args
        .text("rows")
        .map(|_| args.number("rows", 0))
        .transpose()?;
    load.connections = args.number("connections", load.connections)?;
    load.schema = args.text("schema").unwrap_or(debian::SCHEMA).to_owned();
    let loaded = load.run(&root(args.needed("socket")?))?;
    println!(
        "rows={}\nbytes={}\nseconds={:.2}",
        loaded.rows, loaded.bytes, loaded.seconds
    );
    Ok(())
}

fn debian_fetch() -> Result<()> {
    let mirror = debian::Mirror::of_this_machine()?;
    for index in [debian::Index::Contents, debian::Index::Packages] {
        println!("{}", mirror.index(index)?.path().display());
    }
    Ok(())
}

fn sample(args: &Args) -> Result<()> {
    let sample = Sample::named(args.word(0, "sakila or chinook")?)?;
    let install = Install::find(Kind::named(args.needed("kind")?)?)?;
    sample.load(&install, Path::new(args.needed("socket")?))?;
    println!("schema={}", sample.schema());
    Ok(())
}

fn drained(args: &Args) -> Result<()> {
    let connections = args.number("connections", 2)?;
    let options = root(args.needed("socket")?);
    let drained = drain::drain(
        &options,
        args.needed("schema")?,
        args.text("table"),
        connections,
        args.text("to").map(Path::new),
    )?;
    println!("rows={}\nbytes={}", drained.rows, drained.bytes);
    println!("seconds={:.3}\ncpu={:.2}", drained.seconds, drained.cpu);
    Ok(())
}

fn stock_load(args: &Args) -> Result<()> {
    let install = Install::find(Kind::named(args.word(0, "KIND")?)?)?;
    let socket = Path::new(args.needed("socket")?);
    let archive = Path::new(args.needed("archive")?);
    stock::load(
        &install,
        socket,
        archive,
        args.needed("schema")?,
        args.number("connections", 2)?,
    )
}

fn checksums(args: &Args) -> Result<ExitCode> {
    let schemas: Vec<String> = args.text("schema").map(str::to_owned).into_iter().collect();
    let result = checksum::compare(&root(args.needed("a")?), &root(args.needed("b")?), &schemas)?;
    println!("tables={}", result.compared);
    for line in &result.differences {
        eprintln!("differs: {line}");
    }
    let equal = result.differences.is_empty() && result.compared > 0;
    Ok(if equal {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
