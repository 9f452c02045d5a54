//! A browser that opens a page and reports what it made of it.
//!
//! Optional: where there is none the test is skipped.

use super::binary::lossy;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// No page of these tests takes nearly as long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// What a browser made of a page.
pub struct Opened {
    /// The document after everything was loaded.
    pub dom: String,
    /// Console messages: refused resources, errors of scripts.
    pub console: Vec<String>,
}

/// Where the browser is; `None` where there is none, which counts as a skip.
pub fn find() -> Option<PathBuf> {
    let named = std::env::var_os("PENSTOCK_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = named.or_else(|| {
        let mut all = std::env::split_paths(&path).flat_map(|p| names.map(|n| p.join(n)));
        all.find(|p| p.is_file())
    });
    if found.is_none() {
        testkit::skip(
            "chromium",
            "no Chromium on this machine; PENSTOCK_CHROMIUM names one",
        );
    }
    found
}

/// Opens a page; `directory` is a directory for the browser's own files.
pub fn open(browser: &Path, page: &Path, directory: &Path) -> Opened {
    let files = |name: &str| std::fs::File::create(directory.join(name)).expect("a file");
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            directory.join("profile").display()
        ))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(files("dom"))
        .stderr(files("log"))
        .spawn()
        .expect("the browser starts");
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None if Instant::now() > end => {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the browser hangs on {}", page.display());
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let read = |name: &str| lossy(&std::fs::read(directory.join(name)).expect("a file"));
    let log = read("log");
    assert!(status.success(), "{log}");
    Opened {
        dom: read("dom"),
        console: log
            .lines()
            .filter(|l| l.contains("CONSOLE"))
            .map(str::to_owned)
            .collect(),
    }
}
