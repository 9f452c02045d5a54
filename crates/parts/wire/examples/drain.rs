//! Runs one SELECT and drains it: the cost of the wire alone, a limit for every dump.
//!
//! `drain SOCKET|HOST:PORT USER SQL [cells]`; the password is taken from `MYSQL_PWD`,
//! the TLS mode from `PENSTOCK_SSL` (disabled, required). With `cells` every row is walked.
#![allow(clippy::print_stdout)]

use std::time::Instant;
use wire::{Conn, Endpoint, Options, SslMode};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [place, user, sql, rest @ ..] = args.as_slice() else {
        return Err("drain SOCKET|HOST:PORT USER SQL [cells]".into());
    };
    let mut conn = Conn::connect(&options(place, user)?)?;
    let walk = rest.first().is_some_and(|w| w == "cells");
    let (began, cpu) = (Instant::now(), cpu());
    let pad: usize = std::env::var("PAD").map_or(Ok(0), |p| p.parse())?;
    let sql = format!("{sql}{}", " ".repeat(pad));
    let mut rows = conn.query(sql)?;
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
