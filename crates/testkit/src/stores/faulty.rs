//! A proxy in front of a store that speaks HTTP, which makes some requests go wrong.
//!
//! Which ones is decided by a seed and the number of the request, so a failure can be repeated. Each
//! connection carries one request: what is wrong with one can then not be mistaken for the next.
//!
//! Requests that may only create what is not there pass one at a time. S3 keeps such requests apart; the S3
//! servers of the tests look first and write then, and let several through that come together.

use super::free_port;
use crate::{Error, Result};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this status, and never reaches the store.
    Status(u16, &'static str),
    /// The connection ends before the store sees it.
    LostRequest,
    /// The store does it, and the answer is lost.
    LostAnswer,
    /// The answer has its whole length in its head, and half of its body.
    CutBody,
    /// One byte of an object is another one. (Answers in XML stay as they are: a listing is no object.)
    FlippedByte,
    /// The answer's body comes at this many bytes per second.
    Slow(u64),
}

/// Which requests go wrong.
#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    /// Of a thousand.
    share: u64,
    kinds: Vec<Fault>,
    /// Requests of these methods alone; empty: all.
    methods: Vec<&'static str>,
}

/// A running proxy; ends with its value.
#[derive(Debug)]
pub struct Faulty {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: u16,
    plan: Mutex<Plan>,
    creating: Mutex<()>,
    requests: AtomicU64,
    faults: AtomicU64,
}

impl Faulty {
    /// A proxy to this port that does nothing wrong yet.
    pub fn start(target: u16) -> Result<Faulty> {
        let port = free_port()?;
        let listener = TcpListener::bind(("127.0.0.1", port)).map_err(Error::doing("a proxy"))?;
        let shared = Arc::new(Shared {
            target,
            plan: Mutex::new(Plan {
                seed: 0,
                share: 0,
                kinds: Vec::new(),
                methods: Vec::new(),
            }),
            creating: Mutex::new(()),
            requests: AtomicU64::new(0),
            faults: AtomicU64::new(0),
        });
        let serve = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&serve);
                std::thread::spawn(move || {
                    let _ = shared.request(stream);
                });
            }
        });
        Ok(Faulty { port, shared })
    }

    /// From now on this share of a thousand requests of these methods (none: all) goes wrong in these ways.
    pub fn set(&self, seed: u64, share: u64, kinds: &[Fault], methods: &[&'static str]) {
        let plan = Plan {
            seed,
            share,
            kinds: kinds.to_vec(),
            methods: methods.to_vec(),
        };
        *self
            .shared
            .plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = plan;
    }

    /// The URL of a prefix through this proxy.
    pub fn url(&self, prefix: &str) -> String {
        super::s3::at(self.port, prefix)
    }

    /// How many requests went wrong so far.
    pub fn faults(&self) -> u64 {
        self.shared.faults.load(Ordering::SeqCst)
    }
}

/// A number that looks random, the same for the same input (splitmix64).
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Shared {
    fn fault(&self, method: &str) -> Option<(Fault, u64)> {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let plan = self
            .plan
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if !plan.methods.is_empty() && !plan.methods.contains(&method) {
            return None;
        }
        let random = mixed(plan.seed ^ number.wrapping_mul(0x1000_0001));
        if random % 1000 >= plan.share {
            return None;
        }
        let fault = *plan
            .kinds
            .get((random / 1000) as usize % plan.kinds.len().max(1))?;
        self.faults.fetch_add(1, Ordering::SeqCst);
        Some((fault, random))
    }

    fn request(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_read_timeout(Some(Duration::from_secs(60)))?;
        let (head, rest) = head(&mut client)?;
        let method = head.split(' ').next().unwrap_or_default().to_owned();
        let length = header(&head, "content-length")
            .and_then(|v| v.parse().ok())
            .unwrap_or(0);
        let mut body = rest;
        let have = body.len() as u64;
        (&mut client)
            .take(u64::saturating_sub(length, have))
            .read_to_end(&mut body)?;
        let chosen = self.fault(&method);
        match chosen {
            Some((Fault::LostRequest, _)) => return client.shutdown(Shutdown::Both),
            Some((Fault::Status(code, text), _)) => {
                let answer = format!(
                    "HTTP/1.1 {code} X\r\nConnection: close\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n",
                    text.len()
                );
                client.write_all(answer.as_bytes())?;
                if method != "HEAD" {
                    client.write_all(text.as_bytes())?;
                }
                return client.shutdown(Shutdown::Both);
            }
            _ => {}
        }
        let creates = header(&head, "if-none-match").is_some_and(|v| v == "*");
        let alone = creates.then(|| self.creating.lock().unwrap_or_else(PoisonError::into_inner));
        let mut server = TcpStream::connect(("127.0.0.1", self.target))?;
        server.write_all(one_request(&head).as_bytes())?;
        server.write_all(&body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        drop(alone);
        let start = answer
            .windows(4)
            .position(|w| w == b"\r\n\r\n")
            .map_or(answer.len(), |at| at + 4);
        let size = answer.len() - start;
        match chosen {
            Some((Fault::LostAnswer, _)) => {}
            Some((Fault::CutBody, _)) if size > 1 => {
                client.write_all(&answer[..start + size / 2])?
            }
            Some((Fault::FlippedByte, random)) if size > 0 && !is_xml(&answer[start..]) => {
                answer[start + random as usize % size] ^= 1 << (random % 7);
                client.write_all(&answer)?;
            }
            Some((Fault::Slow(rate), _)) => {
                client.write_all(&answer[..start])?;
                let piece = usize::try_from(rate / 20).unwrap_or(1).max(1);
                for part in answer[start..].chunks(piece) {
                    client.write_all(part)?;
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            _ => {
                if chosen.is_some() {
                    self.faults.fetch_sub(1, Ordering::SeqCst);
                }
                client.write_all(&answer)?
            }
        }
        client.shutdown(Shutdown::Both)
    }
}

/// The head of a message, and what came after it.
fn head(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let rest = bytes.split_off(at + 4);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), rest));
        }
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let lines = head.lines().filter_map(|l| l.split_once(':'));
    lines
        .filter(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, v)| v.trim())
        .next()
}

fn is_xml(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<?xml")
}

/// The same head, for a connection that carries nothing else.
fn one_request(head: &str) -> String {
    let mut lines: Vec<&str> = head.trim_end().split("\r\n").collect();
    lines.retain(|l| !l.to_ascii_lowercase().starts_with("connection:"));
    lines.push("Connection: close");
    lines.join("\r\n") + "\r\n\r\n"
}
