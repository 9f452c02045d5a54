//! Runs one SELECT and drains it: the cost of the wire alone, a limit for every dump.
//!
//! `drain SOCKET|HOST:PORT USER SQL [bulk] [cells]`; the password is taken from `MYSQL_PWD`,
//! the TLS mode from `PENSTOCK_SSL` (disabled, required). `bulk` asks with `query_bulk`,
//! `cells` walks every row.
//!
//! CPU of the reader for 5.1 million rows, 723 MB, from MySQL 9.7 on a busy machine with two
//! cores (best of three; the server itself took 2.6 s and more):
//!
//! | read buffer | unix, `query` | unix, `query_bulk` | TCP | TCP, bulk | TLS | TLS, bulk |
//! |---|---|---|---|---|---|---|
//! | 64 KiB | 0.29 s | 0.14 s | | | | |
//! | 128 KiB | 0.23 s | 0.13 s | | | | |
//! | 256 KiB | 0.39 s | 0.16 s | 0.47 s | 0.27 s | 0.61 s | 0.46 s |
//! | 1 MiB | 0.22 s | 0.18 s | | | | |
//!
//! Without `bulk` the figure is the number of system calls: the faster the server's pieces of
//! 16 KiB are taken, the more often the reader sleeps and wakes (44,000 times in all).
#![allow(clippy::print_stdout)]

use std::time::Instant;
use wire::{Conn, Endpoint, Options, SslMode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [place, user, sql, rest @ ..] = args.as_slice() else {
        return Err("drain SOCKET|HOST:PORT USER SQL [bulk] [cells]".into());
    };
    let mut conn = Conn::connect(&options(place, user)?)?;
    let has = |word: &str| rest.iter().any(|w| w == word);
    let walk = has("cells");
    let (began, cpu) = (Instant::now(), cpu());
    let mut rows = if has("bulk") {
        conn.query_bulk(sql)?
    } else {
        conn.query(sql)?
    };
    let (mut count, mut bytes, mut cells) = (0u64, 0u64, 0u64);
    while let Some(row) = rows.next()? {
        count += 1;
        bytes += row.payload().len() as u64;
        if walk {
            for cell in row.cells() {
                cells += cell?.map_or(0, |c| c.len() as u64);
            }
        }
    }
    println!(
        "{count} rows, {bytes} bytes, {cells} bytes in cells, {:.3} s, {:.3} s CPU",
        began.elapsed().as_secs_f64(),
        self::cpu() - cpu
    );
    Ok(())
}

fn options(place: &str, user: &str) -> Result<Options, Box<dyn std::error::Error>> {
    let endpoint = match place.rsplit_once(':') {
        Some((host, port)) => Endpoint::Tcp(host.to_owned(), port.parse()?),
        None => Endpoint::Unix(place.into()),
    };
    let mut options = Options::new(endpoint, user);
    options.password = std::env::var("MYSQL_PWD").ok().map(base::Secret::new);
    options.ssl_mode = match std::env::var("PENSTOCK_SSL").as_deref() {
        Ok("required") => SslMode::Required,
        Ok("disabled") => SslMode::Disabled,
        _ => SslMode::Preferred,
    };
    Ok(options)
}

/// Seconds of CPU this process used, user and system together.
fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}
