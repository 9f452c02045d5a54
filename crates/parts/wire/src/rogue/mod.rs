//! A scripted server half for tests: it says what a script tells it to, true or not.
//!
//! Two ways to use it. Alone, it greets, accepts anybody, and answers every
//! statement from the script. In front of a real server ([`Script::upstream`])
//! it passes everything through, except for statements that the script wants to
//! answer itself; so a whole tool can run against a server that is honest up to
//! the one moment that matters. Everything that clients sent is kept, so that a
//! test can prove what was *not* sent.
//!
//! It knows no TLS and checks no password: clients connect with `SslMode::Disabled`
//! or over a unix socket. Only compiled for tests (feature `rogue`).

mod session;

pub use crate::packets::{capabilities, column, error, frame, greeting, ok, row};

use crate::{Endpoint, Options, SslMode};
use mysql_common::constants::CapabilityFlags as Caps;
use session::{Pipe, Session, dial};
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// What to say to a statement, or in place of the verdict on a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done, with this many rows changed and this text.
    Ok(u64, String),
    /// An error packet: number and text.
    Error(u16, String),
    /// A result set: column names, and rows of cells (`None` is NULL).
    Rows(Vec<String>, Vec<Vec<Option<Vec<u8>>>>),
    /// A request for the client's file of this name; what comes is read up to the empty packet, then OK.
    File(String),
    /// As `File`, but ends with this payload in place of OK.
    FileThen(String, Vec<u8>),
    /// Payloads, each framed as a packet with the right sequence number.
    Packets(Vec<Vec<u8>>),
    /// Bytes as they are.
    Raw(Vec<u8>),
    /// Nothing, without hanging up.
    Stall,
    /// Hang up.
    Close,
    /// The real server's answer; only with an upstream.
    Forward,
}

type Answer = dyn Fn(&[u8]) -> Reply + Send + Sync;

/// What the server does on every connection.
#[derive(Clone)]
pub struct Script {
    greeting: Vec<u8>,
    login: Reply,
    answer: Arc<Answer>,
    cut: Option<u64>,
    upstream: Option<Endpoint>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}

impl Script {
    /// Greets as MySQL 8, accepts anybody, and answers statements with `answer`.
    pub fn new(answer: impl Fn(&[u8]) -> Reply + Send + Sync + 'static) -> Script {
        Script {
            greeting: greeting(
                "8.4.0-rogue",
                "mysql_native_password",
                capabilities() | Caps::CLIENT_DEPRECATE_EOF,
            ),
            login: Reply::Ok(0, String::new()),
            answer: Arc::new(answer),
            cut: None,
            upstream: None,
        }
    }

    /// Sends this payload as the first packet; see [`greeting`].
    #[must_use]
    pub fn greeting(mut self, payload: Vec<u8>) -> Script {
        self.greeting = payload;
        self
    }

    /// Answers the login with this.
    #[must_use]
    pub fn login(mut self, reply: Reply) -> Script {
        self.login = reply;
        self
    }

    /// Hangs up after so many bytes to a client, on each connection.
    #[must_use]
    pub fn cut_after(mut self, bytes: u64) -> Script {
        self.cut = Some(bytes);
        self
    }

    /// Stands in front of a real server: greeting and login are its own, and so is every [`Reply::Forward`].
    #[must_use]
    pub fn upstream(mut self, endpoint: Endpoint) -> Script {
        self.upstream = Some(endpoint);
        self
    }
}

/// A running rogue server; it ends when dropped.
#[derive(Debug)]
pub struct Rogue {
    endpoint: Endpoint,
    heard: Arc<Mutex<Vec<u8>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Rogue {
    /// Listens on a unix socket.
    pub fn unix(path: &Path, script: Script) -> io::Result<Rogue> {
        let listener = UnixListener::bind(path)?;
        let accept = move || Ok(Box::new(listener.accept()?.0) as Box<dyn Pipe>);
        Ok(Self::run(Endpoint::Unix(path.to_owned()), script, accept))
    }

    /// Listens on a free port of the loopback address.
    pub fn tcp(script: Script) -> io::Result<Rogue> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let endpoint = Endpoint::Tcp("127.0.0.1".into(), listener.local_addr()?.port());
        let accept = move || Ok(Box::new(listener.accept()?.0) as Box<dyn Pipe>);
        Ok(Self::run(endpoint, script, accept))
    }

    fn run(
        endpoint: Endpoint,
        script: Script,
        accept: impl Fn() -> io::Result<Box<dyn Pipe>> + Send + 'static,
    ) -> Rogue {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (all, end) = (heard.clone(), stop.clone());
        let thread = thread::spawn(move || {
            while let Ok(pipe) = accept() {
                if end.load(Ordering::SeqCst) {
                    break;
                }
                let (script, all) = (script.clone(), all.clone());
                // A client that goes away in the middle is what many tests are about.
                thread::spawn(move || Session::new(pipe, script, all).and_then(Session::serve));
            }
        });
        Rogue {
            endpoint,
            heard,
            stop,
            thread: Some(thread),
        }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Options that reach it: no TLS, user `test`.
    pub fn options(&self) -> Options {
        let mut options = Options::new(self.endpoint.clone(), "test");
        options.ssl_mode = SslMode::Disabled;
        options
    }

    /// Every byte that clients sent so far, headers included.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.lock().map(|h| h.clone()).unwrap_or_default()
    }
}

impl Drop for Rogue {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // A connection of our own wakes the listener.
        let _ = dial(&self.endpoint);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Endpoint::Unix(path) = &self.endpoint {
            let _ = std::fs::remove_file::<&PathBuf>(path);
        }
    }
}
