//! File systems that are soon full.

use super::Pair;
use super::binary::lossy;
use std::path::PathBuf;
use std::process::Command;

/// A small file system, unmounted when this is dropped.
pub struct Small(PathBuf);

impl Small {
    /// Mounts one of this size as `small`; `None` where that is not possible, which counts as a skip.
    pub fn mount(pair: &Pair, size: &str) -> Option<Small> {
        let at = pair.path("small");
        std::fs::create_dir(&at).expect("a directory");
        let out = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&at)
            .output();
        let reason = match out {
            Ok(out) if out.status.success() => return Some(Small(at)),
            Ok(out) => lossy(&out.stderr),
            Err(e) => e.to_string(),
        };
        testkit::skip("tmpfs", format!("no tmpfs can be mounted: {reason}"));
        None
    }
}

impl Small {
    /// From now on nothing can be written there.
    pub fn read_only(&self) {
        let options = ["-o", "remount,ro"];
        let done = Command::new("mount").args(options).arg(&self.0).status();
        assert!(done.expect("mount").success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
