//! What a directory is on: file system, device, mount options, free space, and limits of this process's control group.

use base::units::printable;
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatfs, fstatvfs, major, minor};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What a directory is on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type: "ext4", "tmpfs", "nfs4".
    pub kind: String,
    /// The device, or what else was mounted.
    pub source: String,
    /// Where it is mounted.
    pub mount: String,
    /// Mount options.
    pub options: String,
    /// Bytes that this account may still use.
    pub free: u64,
    /// Bytes of all of it.
    pub size: u64,
    /// The device's number.
    pub device: u64,
    /// Whether it is mounted read only.
    pub read_only: bool,
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.kind, printable(&self.source))?;
        if self.options.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", printable(&self.options))
    }
}

impl FileSystem {
    /// Of a directory that this account need not be able to read.
    pub fn at(directory: &Path) -> io::Result<FileSystem> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(directory, flags, Mode::empty())?;
        FileSystem::of(&File::from(opened))
    }

    /// Of an open directory.
    pub fn of(directory: &File) -> io::Result<FileSystem> {
        let device = directory.metadata()?.dev();
        let stat = fstatvfs(directory)?;
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let number = format!("{}:{}", major(device), minor(device));
        let mut found = mounted(&mounts, &number).unwrap_or_default();
        if found.kind.is_empty() {
            // btrfs and overlayfs give files a device number of their own, which the list of mounts does not have.
            fstatfs(directory)?
                .f_type
                .try_into()
                .map_or("unknown", by_magic)
                .clone_into(&mut found.kind);
            "an unknown device".clone_into(&mut found.source);
        }
        found.free = stat.f_bavail.saturating_mul(stat.f_frsize);
        found.size = stat.f_blocks.saturating_mul(stat.f_frsize);
        found.read_only = stat.f_flag.contains(StatVfsMountFlags::RDONLY);
        found.device = device;
        Ok(found)
    }

    /// Whether there is no device of this host below it: it is memory, or another host's.
    pub fn has_no_device(&self) -> bool {
        matches!(self.kind.as_str(), "tmpfs" | "ramfs") || self.is_network()
    }

    fn is_network(&self) -> bool {
        [
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "9p",
            "ceph",
            "glusterfs",
            "fuse.sshfs",
        ]
        .contains(&self.kind.as_str())
    }

    /// What has to be said about figures from such a file system.
    pub fn remark(&self) -> Option<&'static str> {
        match self.kind.as_str() {
            "tmpfs" | "ramfs" | "devtmpfs" => Some(
                "this is memory, not a disk: nothing here survives a restart, and a sync does nothing",
            ),
            "overlay" => {
                Some("an overlay of a container: a database belongs on a volume of its own")
            }
            _ if self.is_network() => Some(
                "a network file system: every sync waits for another host, and a lost connection stalls the server",
            ),
            _ => None,
        }
    }
}

/// The last mount of this device, which hides those before it.
fn mounted(mountinfo: &str, number: &str) -> Option<FileSystem> {
    let lines = mountinfo.lines().rev();
    lines
        .filter_map(parsed)
        .find(|(n, _)| n == number)
        .map(|(_, found)| found)
}

/// `36 35 98:0 /root /mnt rw,noatime master:1 - ext4 /dev/sda rw,errors=continue`.
fn parsed(line: &str) -> Option<(String, FileSystem)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let number = before.next()?.to_owned();
    let mount = unescaped(before.nth(1)?);
    let of_mount = before.next()?;
    let mut after = after.split(' ');
    let kind = after.next()?.to_owned();
    let source = unescaped(after.next()?);
    let of_device = after.next().unwrap_or_default();
    let mut options: Vec<&str> = of_mount.split(',').collect();
    options.extend(of_device.split(',').filter(|o| !o.is_empty()));
    let mut seen = std::collections::BTreeSet::new();
    options.retain(|o| seen.insert(*o));
    let found = FileSystem {
        kind,
        source,
        mount,
        options: options.join(","),
        ..FileSystem::default()
    };
    Some((number, found))
}

/// Blanks and the like are octal in this file.
fn unescaped(text: &str) -> String {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let digits = bytes.get(i + 1..i + 4).filter(|_| bytes[i] == b'\\');
        let code = digits
            .and_then(|d| std::str::from_utf8(d).ok())
            .and_then(|d| u8::from_str_radix(d, 8).ok());
        match code {
            Some(code) => {
                out.push(code);
                i += 4;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Types by their numbers in the kernel's `magic.h`.
fn by_magic(magic: u64) -> &'static str {
    match magic & 0xffff_ffff {
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x0102_1994 => "tmpfs",
        0x794c_7630 => "overlay",
        0x6969 => "nfs",
        0xff53_4d42 => "cifs",
        0x6573_5546 => "fuse",
        0x2fc1_2fc1 => "zfs",
        0x0102_1997 => "9p",
        _ => "unknown",
    }
}

/// What the control group of this process allows it to read and write, if anything limits it: the kernel's own words.
pub fn group_limits() -> Option<String> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|l| l.strip_prefix("0::/"))?;
    let limits = std::fs::read_to_string(format!("/sys/fs/cgroup/{path}/io.max")).ok()?;
    let limits = limits.trim();
    (!limits.is_empty()).then(|| printable(&limits.lines().collect::<Vec<_>>().join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_mounts_is_read() {
        let text = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
            40 22 0:33 / /mnt/a\\040b rw shared:5 - tmpfs none rw,size=8k\nodd\n";
        let root = mounted(text, "254:0").unwrap();
        assert_eq!(
            (
                root.kind.as_str(),
                root.source.as_str(),
                root.options.as_str()
            ),
            ("ext4", "/dev/vda", "rw,relatime,discard")
        );
        let shm = mounted(text, "0:33").unwrap();
        assert_eq!(
            (shm.kind.as_str(), shm.mount.as_str()),
            ("tmpfs", "/mnt/a b")
        );
        assert!(shm.remark().is_some() && root.remark().is_none());
        assert_eq!(mounted(text, "9:9"), None);
        assert_eq!(by_magic(0xef53), "ext4");
    }

    #[test]
    fn this_directory_is_on_something() {
        let here = FileSystem::of(&File::open(".").unwrap()).unwrap();
        assert!(!here.kind.is_empty() && here.size > 0, "{here:?}");
        let same = FileSystem::at(Path::new(".")).unwrap();
        assert_eq!((same.device, same.kind), (here.device, here.kind));
    }
}
