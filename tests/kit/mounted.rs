//! File systems in files, on loop devices, or in memory: for tests that need what the machine's own cannot do.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system that is unmounted, and its file removed, when it is dropped.
pub struct Mounted {
    directory: Option<tempfile::TempDir>,
    point: PathBuf,
}

/// Where one is mounted; `None` where this account cannot mount, which counts as a skip.
fn place(kind: &str) -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() {
        testkit::skip(kind, format!("mounting {kind} needs root"));
        return None;
    }
    let directory = tempfile::Builder::new()
        .prefix("penstock-fs-")
        .tempdir_in("/tmp");
    Some(directory.expect("a directory"))
}

/// Its size in bytes: the file is sparse.
const SIZE: u64 = 4 << 30;

impl Mounted {
    /// `xfs` or `btrfs`; `None` where this machine cannot make or mount one, which counts as a skip.
    pub fn new(kind: &str) -> Option<Mounted> {
        let directory = place(kind)?;
        let image = directory.path().join("image");
        let file = std::fs::File::create(&image).expect("a file");
        file.set_len(SIZE).expect("its size");
        let made = run(Command::new(format!("/usr/sbin/mkfs.{kind}"))
            .arg("-q")
            .arg(&image));
        if let Err(why) = made {
            testkit::skip(kind, format!("no {kind} can be made: {why}"));
            return None;
        }
        let point = directory.path().join("m");
        std::fs::create_dir(&point).expect("a directory");
        if let Err(why) = run(Command::new("mount")
            .args(["-o", "loop"])
            .args([&image, &point]))
        {
            testkit::skip(kind, format!("no {kind} can be mounted: {why}"));
            return None;
        }
        Some(Mounted {
            directory: Some(directory),
            point,
        })
    }

    /// A file system that needs no device (`tmpfs`, `ramfs`, `overlay`), with these options of mount; `{}` in them is a
    /// new directory beside the mount. `None` where this machine cannot mount it, which counts as a skip.
    pub fn without_device(kind: &str, options: &str) -> Option<Mounted> {
        let directory = place(kind)?;
        for name in ["m", "lower", "upper", "work"] {
            std::fs::create_dir(directory.path().join(name)).expect("a directory");
        }
        let options = options.replace("{}", &directory.path().display().to_string());
        let point = directory.path().join("m");
        let mut mount = Command::new("mount");
        mount.args(["-t", kind, "-o", &options, kind]).arg(&point);
        if let Err(why) = run(&mut mount) {
            testkit::skip(kind, format!("no {kind} can be mounted: {why}"));
            return None;
        }
        Some(Mounted {
            directory: Some(directory),
            point,
        })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg(&self.point));
        let directory = self.directory.take();
        // Never through a mount that could not be undone.
        let mounted = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        if mounted.contains(&self.point.display().to_string()) {
            let _kept = directory.map(tempfile::TempDir::keep);
        }
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let out = command.output().map_err(|e| e.to_string())?;
    match out.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&out.stderr).trim().to_owned()),
    }
}
