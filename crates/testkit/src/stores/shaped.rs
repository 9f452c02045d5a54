//! A link of a known speed: a TCP proxy that lets so many bytes through per second, in each direction, all
//! connections together.

use super::free_port;
use crate::{Error, Result};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that pass at a time: a few milliseconds of a fast link.
const PIECE: usize = 64 << 10;

/// How much longer than it should a sleep may take.
const SLACK: Duration = Duration::from_millis(5);

/// A direction: when the last byte that was let through has left.
#[derive(Debug)]
struct Lane {
    rate: u64,
    free: Mutex<Instant>,
}

impl Lane {
    fn pass(&self, bytes: usize) {
        let free = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            let time = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
            // What was not used is lost, a link saves nothing up; but a sleep that took too long is not counted
            // against its speed.
            let saved = Instant::now().checked_sub(SLACK).unwrap_or(*free);
            *free = (*free).max(saved) + time;
            *free
        };
        std::thread::sleep(free.saturating_duration_since(Instant::now()));
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; PIECE];
        loop {
            match from.read(&mut buffer)? {
                0 => return to.shutdown(Shutdown::Write),
                n => {
                    self.pass(n);
                    to.write_all(&buffer[..n])?;
                }
            }
        }
    }
}

/// Starts a link to this port that carries so many bytes per second for as long as the process lives; returns
/// its own port.
pub fn shaped(target: u16, rate: u64) -> Result<u16> {
    let port = free_port()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(Error::doing("a link"))?;
    let lane = || {
        Arc::new(Lane {
            rate,
            free: Mutex::new(Instant::now()),
        })
    };
    let (up, down) = (lane(), lane());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (up, down) = (Arc::clone(&up), Arc::clone(&down));
            let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else {
                continue;
            };
            // A link passes small messages on at once.
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            let (Ok(from), Ok(to)) = (client.try_clone(), server.try_clone()) else {
                continue;
            };
            std::thread::spawn(move || up.carry(from, to));
            std::thread::spawn(move || down.carry(server, client));
        }
    });
    Ok(port)
}
