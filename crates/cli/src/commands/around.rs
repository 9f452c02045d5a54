//! What the configuration does around a job: hooks, and the heartbeat.
//!
//! A hook gets one JSON object on its standard input. What it prints goes to standard error, so that the
//! output of the job stays its own.

use crate::settings::config::{Config, Heartbeat};
use crate::settings::place;
use base::units::printable;
use base::{Error, Kind, Result};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;
use ureq::tls::{RootCerts, TlsConfig};

/// How long the heartbeat's URL may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// The job, as hooks and the heartbeat are told.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The command.
    pub command: &'static str,
    /// Whose backups it is about; all, if none is named.
    pub server: Option<&'a str>,
    /// The repository.
    pub repository: &'a str,
}

/// What a job did.
pub struct Outcome {
    /// Its exit code.
    pub code: u8,
    /// Its summary.
    pub summary: Value,
}

/// Runs a job with what stands around it; returns its exit code.
pub fn around(
    config: Option<&Config>,
    job: Job<'_>,
    run: impl FnOnce() -> Result<Outcome>,
) -> Result<u8> {
    let Some(config) = config else {
        return run().map(|done| done.code);
    };
    let hooks = &config.hooks;
    let about = |event: &str| json!({"event": event, "command": job.command, "server": job.server, "repository": job.repository});
    let failed = |e: Error| {
        let mut outcome = about("failed");
        outcome["code"] = e.kind.exit_code().into();
        outcome["error"] = e.what.clone().into();
        match hook("failed", hooks.failed.as_deref(), &outcome) {
            Ok(()) => e,
            Err(also) => Error {
                what: format!("{}; and {}", e.what, also.what),
                ..e
            },
        }
    };
    hook("before", hooks.before.as_deref(), &about("before")).map_err(|e| {
        failed(Error {
            what: format!("{}: nothing was done", e.what),
            ..e
        })
    })?;
    let done = run().map_err(failed)?;
    let is_success = done.code == 0 || done.code == Kind::Exceptions.exit_code();
    let event = if is_success { "after" } else { "failed" };
    let mut outcome = about(event);
    outcome["code"] = done.code.into();
    outcome["summary"] = done.summary;
    let program = match is_success {
        true => hooks.after.as_deref(),
        false => hooks.failed.as_deref(),
    };
    let finished = |e: Error| Error {
        what: format!("the {} is done, but {}", job.command, e.what),
        ..e
    };
    hook(event, program, &outcome).map_err(finished)?;
    if is_success {
        beat(&config.heartbeat, job, done.code).map_err(finished)?;
    }
    Ok(done.code)
}

/// Runs a hook.
fn hook(name: &str, program: Option<&[String]>, outcome: &Value) -> Result<()> {
    let Some([program, arguments @ ..]) = program else {
        return Ok(());
    };
    let shown = format!("the hook '{name}' ({})", printable(program));
    let cannot =
        |e: std::io::Error| Error::new(Kind::Failed, format!("{shown} cannot be run: {e}"));
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(std::io::stderr())
        .spawn()
        .map_err(cannot)?;
    if let Some(mut input) = child.stdin.take() {
        // Who does not read it does not want it.
        let _ = writeln!(input, "{outcome}");
    }
    let ended = child.wait().map_err(cannot)?;
    if ended.success() {
        return Ok(());
    }
    Err(Error::new(Kind::Failed, format!("{shown} failed: {ended}")))
}

/// Tells who waits for it that a job succeeded.
fn beat(heartbeat: &Heartbeat, job: Job<'_>, code: u8) -> Result<()> {
    let server = job.server.unwrap_or("all");
    // Without a place for the command it is about backups: a check must not keep it fresh.
    let meant = |text: &&String| job.command == "backup" || text.contains("{command}");
    let filled = |text: &String| {
        text.replace("{command}", job.command)
            .replace("{server}", server)
    };
    if let Some(file) = heartbeat.file.as_ref().filter(meant).map(filled) {
        let text = json!({
            "at": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "command": job.command, "server": job.server, "repository": job.repository, "code": code,
        });
        let new = format!("{file}.new");
        std::fs::write(&new, format!("{text}\n"))
            .and_then(|()| std::fs::rename(&new, &file))
            .map_err(|e| {
                let what = format!(
                    "the heartbeat file {} cannot be written: {e}",
                    printable(&file)
                );
                Error::new(Kind::Storage, what)
            })?;
    }
    if let Some(url) = heartbeat.url.as_ref().filter(meant).map(filled) {
        request(&url).map_err(|e| {
            // A URL of a heartbeat is a secret in many services: its path is not shown.
            let host = place::host_of_url(&url);
            let what = format!("the heartbeat's URL ({host}) did not answer well: {e}");
            Error::new(Kind::Connection, printable(&what))
        })?;
    }
    Ok(())
}

fn request(url: &str) -> std::result::Result<(), ureq::Error> {
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(ANSWER))
        .user_agent("penstock")
        .tls_config(
            TlsConfig::builder()
                .root_certs(RootCerts::PlatformVerifier)
                .build(),
        )
        .build()
        .new_agent();
    agent.get(url).call().map(|_| ())
}
