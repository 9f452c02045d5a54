//! How exactly `--max-rate` is kept: dumps through a proxy that counts, for each
//! number of workers and each limit. docs/performance.md shows the recorded tables.

#![allow(clippy::print_stdout, reason = "a program for people and scripts")]

use crate::args::Args;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::proxy::{Flow, Proxy};
use testkit::{Error, Result};
use wire::Endpoint;

/// What a limit is judged by.
const WINDOW: Duration = Duration::from_secs(5);

/// The options of `testkit rate`.
pub(crate) const OPTIONS: [&str; 7] = [
    "penstock",
    "socket",
    "schema",
    "workers",
    "rates",
    "seconds",
    "transport",
];

/// Measures and prints a table.
pub(crate) fn measure(args: &Args) -> Result<()> {
    let penstock = Path::new(args.needed("penstock")?);
    let server = Endpoint::Unix(args.needed("socket")?.into());
    let transport = args.text("transport").unwrap_or("unix");
    let seconds = args.number("seconds", 16)?;
    let list = |name, default| -> Result<Vec<u64>> {
        let text = args.text(name).unwrap_or(default);
        let number = |n: &str| n.parse().map_err(|_| Error(format!("--{name}: {n:?}")));
        text.split(',').map(number).collect()
    };
    println!("| limit | workers | over the run | slowest 5 s | fastest 5 s |");
    println!("|---|---|---|---|---|");
    for rate in list("rates", "5,20,80")? {
        for workers in list("workers", "1,2,4,8,16")? {
            let limit = rate << 20;
            let schema = args.text("schema").unwrap_or("tpcc");
            let flow = dump(penstock, &server, transport, schema, workers, rate, seconds)?;
            let share = |bytes: f64| format!("{:.1} %", bytes / limit as f64 * 100.0);
            let (least, most) = match flow.windows(WINDOW) {
                Some((least, most)) => (share(least), share(most)),
                None => ("too short".to_owned(), "too short".to_owned()),
            };
            println!(
                "| {rate} MiB/s | {workers} | {} of {:.1} s | {least} | {most} |",
                share(flow.mean()),
                flow.seconds()
            );
        }
    }
    Ok(())
}

/// A dump that is stopped after a while; what the proxy saw while rows flowed.
fn dump(
    penstock: &Path,
    server: &Endpoint,
    transport: &str,
    schema: &str,
    workers: u64,
    rate: u64,
    seconds: u64,
) -> Result<Flow> {
    let folder = tempfile::tempdir()?;
    let (proxy, options) = match transport {
        "unix" => {
            let proxy = Proxy::unix(&folder.path().join("proxy.sock"), server)?;
            let options = vec!["--socket".to_owned(), proxy.socket().display().to_string()];
            (proxy, options)
        }
        "tcp" | "tls" => {
            let proxy = Proxy::tcp(server)?;
            let mode = if transport == "tls" {
                "REQUIRED"
            } else {
                "DISABLED"
            };
            let port = proxy.port().to_string();
            let options = ["--host", "127.0.0.1", "--port", &port, "--ssl-mode", mode];
            (proxy, options.map(str::to_owned).to_vec())
        }
        other => {
            return Err(Error(format!("--transport {other}: one of unix, tcp, tls")));
        }
    };
    let mut child = Command::new(penstock)
        .args(["dump", "--quiet", "--user", "root", "--compression", "none"])
        .args(options)
        .args(["--schemas", schema, "--to"])
        .arg(folder.path().join("dump"))
        .args(["--max-rate", &format!("{rate}M")])
        .args(["--threads", &workers.to_string()])
        .env("PENSTOCK_STATE", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let flow = || proxy.to_client().flow(rate << 20);
    let (status, flow) = loop {
        match child.try_wait()? {
            Some(status) => break (status, flow()),
            None if Instant::now() > end => {
                // What comes after the signal does not count: a closed connection leaves unread what was on its way.
                let flow = flow();
                testkit::interrupt(child.id())?;
                break (child.wait()?, flow);
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    match status.code() {
        // 9: stopped on request.
        Some(0 | 9) => Ok(flow),
        _ => Err(Error(format!("penstock dump: {status}"))),
    }
}
