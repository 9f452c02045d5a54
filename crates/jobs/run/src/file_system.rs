//! What a directory is on: file system, device, mount options, free space, and limits of this process's control group.

use crate::host::Process;
use base::units::printable;
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, fstatfs, fstatvfs, major, minor};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
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
    /// What of it is mounted there: `/`, but for binds and subvolumes.
    pub root: String,
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
        FileSystem::among(&opened(directory)?, "/proc/self/mountinfo")
    }

    /// Of a directory of a server, which may have mounts of its own.
    pub fn seen_by(server: Process, directory: &Path) -> io::Result<FileSystem> {
        let mounts = format!("/proc/{}/mountinfo", server.id());
        FileSystem::among(&opened(&server.sees(directory))?, &mounts)
    }

    /// All that is mounted, for this process or for another one, which may have mounts of its own; as the list has it, without
    /// sizes and device numbers (`/proc/PID/mountinfo`: proc_pid_mountinfo(5)).
    pub fn mounts(of: Option<Process>) -> io::Result<Vec<FileSystem>> {
        let process = of.map_or_else(|| "self".to_owned(), |process| process.id().to_string());
        let list = std::fs::read_to_string(format!("/proc/{process}/mountinfo"))?;
        Ok(list.lines().filter_map(parsed).map(|(_, m)| m).collect())
    }

    /// Of an open directory.
    pub fn of(directory: &File) -> io::Result<FileSystem> {
        FileSystem::among(directory, "/proc/self/mountinfo")
    }

    /// Of an open directory, among the mounts of this list.
    fn among(directory: &File, mounts: &str) -> io::Result<FileSystem> {
        let device = directory.metadata()?.dev();
        let stat = fstatvfs(directory)?;
        let mounts = std::fs::read_to_string(mounts).unwrap_or_default();
        let number = format!("{}:{}", major(device), minor(device));
        // A device may be mounted several times, each with options of its own.
        let of_its_mount = mount_id(directory).and_then(|id| by_id(&mounts, &id));
        let found = of_its_mount.or_else(|| mounted(&mounts, &number));
        let mut found = found.unwrap_or_default();
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

fn opened(directory: &Path) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(
        directory,
        flags,
        Mode::empty(),
    )?))
}

/// The number of the mount that an open directory is on.
fn mount_id(directory: &File) -> Option<String> {
    let path = format!("/proc/self/fdinfo/{}", directory.as_raw_fd());
    let text = std::fs::read_to_string(path).ok()?;
    let id = text.lines().find_map(|l| l.strip_prefix("mnt_id:"))?;
    Some(id.trim().to_owned())
}

/// The mount of this number.
fn by_id(mountinfo: &str, id: &str) -> Option<FileSystem> {
    let line = mountinfo
        .lines()
        .find(|l| l.split(' ').next() == Some(id))?;
    parsed(line).map(|(_, found)| found)
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
    let root = unescaped(before.next()?);
    let mount = unescaped(before.next()?);
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
        root,
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

/// What the control groups of this process, those above its own too, allow it to read and write, if anything limits it: the
/// kernel's own words.
pub fn group_limits() -> Option<String> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let found = limits_of(&own, &|path| std::fs::read_to_string(path).ok());
    (!found.is_empty()).then(|| printable(&found.join("; ")))
}

/// The limits of these groups, read by `read`.
fn limits_of(groups: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let (mut found, mut seen) = (Vec::new(), Vec::new());
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (roots, files): (&[&str], &[&str]) = if controllers.is_empty() {
            (&["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], &["io.max"])
        } else if controllers.split(',').any(|c| c == "blkio") {
            (
                &["/sys/fs/cgroup/blkio"],
                &[
                    "blkio.throttle.read_bps_device",
                    "blkio.throttle.write_bps_device",
                    "blkio.throttle.read_iops_device",
                    "blkio.throttle.write_iops_device",
                ],
            )
        } else {
            continue;
        };
        for root in roots {
            for group in std::path::Path::new(path).ancestors() {
                let group = group.to_string_lossy();
                for file in files {
                    let path = format!("{root}{}/{file}", group.trim_end_matches('/'));
                    if seen.contains(&path) {
                        continue;
                    }
                    let text = read(&path).unwrap_or_default();
                    let lines = text.lines().filter(|l| !l.trim().is_empty());
                    found.extend(lines.map(|l| match *file {
                        "io.max" => l.to_owned(),
                        file => format!("{file} {l}"),
                    }));
                    seen.push(path);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_groups_above_count_too() {
        let read = |path: &str| {
            let text = match path {
                "/sys/fs/cgroup/system.slice/io.max" => {
                    "254:0 rbps=max wbps=1048576 riops=max wiops=max\n"
                }
                "/sys/fs/cgroup/blkio/a/blkio.throttle.read_bps_device" => "254:0 5000000\n",
                _ => return None,
            };
            Some(text.to_owned())
        };
        assert_eq!(
            limits_of("0::/system.slice/mysql.service\n", &read),
            ["254:0 rbps=max wbps=1048576 riops=max wiops=max"]
        );
        assert_eq!(
            limits_of("3:cpu,cpuacct:/a\n2:blkio:/a/b\n0::/\n", &read),
            ["blkio.throttle.read_bps_device 254:0 5000000"]
        );
        assert!(limits_of("0::/user.slice\n", &read).is_empty());
    }

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
            (shm.kind.as_str(), shm.mount.as_str(), shm.root.as_str()),
            ("tmpfs", "/mnt/a b", "/")
        );
        assert!(shm.remark().is_some() && root.remark().is_none());
        assert_eq!(mounted(text, "9:9"), None);
        // The same device once more, read only.
        let twice = format!("{text}41 22 254:0 /d /mnt/d ro,relatime - ext4 /dev/vda rw,discard\n");
        let options = |id| by_id(&twice, id).map(|found| found.options);
        assert_eq!(options("22").as_deref(), Some("rw,relatime,discard"));
        assert_eq!(options("41").as_deref(), Some("ro,relatime,rw,discard"));
        assert_eq!(options("4"), None);
        assert_eq!(by_id(&twice, "41").unwrap().root, "/d");
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
