//! Room for the blocks of an LVM snapshot, as the device mapper counts it.
//!
//! It is asked itself, and not lvs: that reads the disks and waits for locks of the volume group, for seconds on a busy
//! host, in which a snapshot can fill. Invariant: what cannot be read counts as used. Sources: dmsetup(8), and of the
//! kernel's documentation device-mapper/snapshot and device-mapper/thin-provisioning (what their status shows).

use crate::program;
use base::Result;

/// The program, and Debian's package with it.
pub(crate) const DMSETUP: (&str, &str) = ("dmsetup", "dmsetup");

/// Where blocks are copied to: a snapshot of its own size, or a pool.
#[derive(Debug)]
pub(crate) struct Room {
    device: String,
}

impl Room {
    pub(crate) fn of_snapshot(group: &str, name: &str) -> Self {
        let device = device(&[group, name]);
        Self { device }
    }

    pub(crate) fn of_pool(group: &str, pool: &str) -> Self {
        let device = format!("{}-tpool", device(&[group, pool]));
        Self { device }
    }

    /// The share of it that is used: 0 to 1.
    pub(crate) fn used(&self) -> Result<f64> {
        // Without --noflush a pool writes its metadata first.
        let status = program::run(DMSETUP, ["status", "--noflush", &self.device])?;
        Ok(share(&status).unwrap_or(1.0))
    }
}

/// The name of a volume's device: LVM doubles hyphens, and joins by single ones.
fn device(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|n| n.replace('-', "--")).collect();
    names.join("-")
}

/// What a status line says. A snapshot that overflowed is `Invalid`, a pool that failed is `Fail`.
fn share(status: &str) -> Option<f64> {
    let mut words = status.split_whitespace().skip(2);
    match words.next()? {
        "snapshot" => used_of(words.next()?),
        "thin-pool" => {
            let metadata = used_of(words.nth(1)?)?;
            // A pool stops at whichever of the two is full first.
            Some(metadata.max(used_of(words.next()?)?))
        }
        _ => None,
    }
}

/// `used/all`.
fn used_of(word: &str) -> Option<f64> {
    let (used, all) = word.split_once('/')?;
    let all: f64 = all.parse().ok()?;
    (all > 0.0).then(|| used.parse::<f64>().ok().map(|used| used / all))?
}

#[cfg(test)]
mod tests {
    use super::{device, share};

    #[test]
    fn names_of_devices_are_those_of_lvm() {
        assert_eq!(device(&["vg", "penstock-1-a"]), "vg-penstock--1--a");
        assert_eq!(device(&["my-vg", "root"]), "my--vg-root");
    }

    #[test]
    fn status_lines_are_read() {
        assert_eq!(share("0 4194304 snapshot 32768/131072 128"), Some(0.25));
        assert_eq!(share("0 4194304 snapshot Invalid"), None);
        assert_eq!(share("0 4194304 snapshot Overflow"), None);
        let pool = "0 6291456 thin-pool 3 12/1024 24576/49152 - rw discard_passdown queue_if_no_space - 1024";
        assert_eq!(share(pool), Some(0.5));
        let metadata = "0 6291456 thin-pool 3 768/1024 24576/49152 - rw";
        assert_eq!(share(metadata), Some(0.75));
        assert_eq!(share("0 6291456 thin-pool Fail"), None);
        assert_eq!(share("0 6291456 linear "), None);
        assert_eq!(share(""), None);
        assert_eq!(share("0 4194304 snapshot 0/0 0"), None);
    }
}
