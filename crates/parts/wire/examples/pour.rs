//! Loads rows through LOAD DATA LOCAL INFILE: the cost of the wire alone, a limit for every load.
//!
//! `pour SOCKET|HOST:PORT USER TABLE FILE [BYTES]`: the file, or its first BYTES, as tab-separated text.
//!
//! CPU of the client for 150 MB into MySQL 9.7 over a unix socket, by packet size: 16 KiB 0.30 s,
//! 64 KiB 0.07 s, 256 KiB 0.08 s, 512 KiB 0.07 s; the server took 8 to 10 s each time. So 128 KiB:
//! nothing is won beyond.
#![allow(clippy::print_stdout)]

use std::fs::File;
use std::io::Read;
use std::time::Instant;
use wire::{Conn, Endpoint, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [place, user, table, file, rest @ ..] = args.as_slice() else {
        return Err("pour SOCKET|HOST:PORT USER TABLE FILE [BYTES]".into());
    };
    let endpoint = match place.rsplit_once(':') {
        Some((host, port)) => Endpoint::Tcp(host.to_owned(), port.parse()?),
        None => Endpoint::Unix(place.into()),
    };
    let mut options = Options::new(endpoint, user.as_str());
    options.password = std::env::var("MYSQL_PWD").ok().map(base::Secret::new);
    options.local_infile = true;
    let mut conn = Conn::connect(&options)?;
    let limit = rest.first().map_or(Ok(u64::MAX), |n| n.parse())?;
    let began = Instant::now();
    let done = conn.load(
        format!("LOAD DATA LOCAL INFILE 'penstock' INTO TABLE {table} CHARACTER SET binary"),
        &mut File::open(file)?.take(limit),
    )?;
    println!("{done:?}, {:.3} s", began.elapsed().as_secs_f64());
    Ok(())
}
