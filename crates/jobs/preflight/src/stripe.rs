//! How devices are made into one striped volume by LVM: the lines are written down, never run.
//!
//! Invariant: a device that is mounted, has partitions or users, or holds anything is refused; so is one of which that
//! cannot be seen. Nothing is opened for writing. Sources: pvcreate(8), vgcreate(8), lvcreate(8), lvmraid(7).

use crate::device::Device;
use crate::facts::Known;
use crate::host::Host;
use base::units::{bytes, printable};
use base::{Error, Kind, Result};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Stripes of this many KiB: a page is never on two devices, and an extent of 64 pages, which InnoDB reads at once, is on four.
const STRIPE: u64 = 256;

/// LVM's usual extent, and where it begins on a device.
const EXTENT: u64 = 4 << 20;
const BEGIN: u64 = 1 << 20;

/// The beginning of a device that has to be empty.
const HEAD: usize = 1 << 20;

/// How a striped volume is made.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The devices, each with its bytes.
    pub devices: Vec<(String, u64)>,
    /// Bytes of the volume.
    pub size: u64,
    /// The lines, in their order.
    pub lines: Vec<String>,
    /// What should be known before they are run.
    pub notes: Vec<String>,
}

/// A device as it was named, and what could be seen of it.
struct Named {
    path: String,
    number: u64,
    /// Its beginning.
    head: Known<Vec<u8>>,
    /// Whether the kernel has it in use.
    busy: bool,
}

/// Writes it down for these devices.
pub fn plan(devices: &[PathBuf]) -> Result<Plan> {
    let named = devices
        .iter()
        .map(|d| look(d))
        .collect::<Result<Vec<_>>>()?;
    plan_of(&Host::this(0), &named)
}

fn refused(path: &str, why: &str) -> Error {
    Error::new(Kind::Target, format!("{path} {why}"))
}

/// Looks at a device; it is opened for reading only.
fn look(path: &Path) -> Result<Named> {
    let shown = printable(&path.to_string_lossy());
    let stat = rustix::fs::stat(path).map_err(|e| {
        let what = format!("cannot look at {shown}: {}", std::io::Error::from(e));
        Error::new(Kind::Usage, what).hint("name block devices, such as /dev/sdb; lsblk lists them")
    })?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
        return Err(
            Error::new(Kind::Usage, format!("{shown} is not a block device"))
                .hint("name block devices, such as /dev/sdb; lsblk lists them"),
        );
    }
    let open = |flags| {
        rustix::fs::open(
            path,
            flags | OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
    };
    // Without O_CREAT this fails if it is mounted or claimed: open(2).
    let busy = open(OFlags::EXCL).is_err_and(|e| e == Errno::BUSY);
    let head = open(OFlags::empty())
        .map_err(std::io::Error::from)
        .and_then(|fd| {
            let mut head = Vec::new();
            File::from(fd).take(HEAD as u64).read_to_end(&mut head)?;
            Ok(head)
        });
    Ok(Named {
        path: shown,
        number: stat.st_rdev,
        head: head.map_err(|e| e.to_string()),
        busy,
    })
}

fn plan_of(host: &Host, named: &[Named]) -> Result<Plan> {
    if named.len() < 2 {
        return Err(
            Error::new(Kind::Usage, "a volume is striped over two devices or more")
                .hint("--stripe /dev/sdb,/dev/sdc"),
        );
    }
    let mut found: Vec<(&Named, Device, u64)> = Vec::new();
    for one in named {
        if let Some((same, ..)) = found.iter().find(|(o, ..)| o.number == one.number) {
            let what = format!("{} and {} are one device", same.path, one.path);
            return Err(Error::new(Kind::Usage, what).hint("name each device once"));
        }
        let (device, size) = free(host, one)?;
        found.push((one, device, size));
    }
    let paths: Vec<&str> = found.iter().map(|(n, ..)| n.path.as_str()).collect();
    let sizes = || found.iter().map(|(.., size)| *size);
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let extents = least.saturating_sub(BEGIN) / EXTENT;
    if extents == 0 {
        return Err(refused(
            paths[0],
            "or another of these devices is smaller than one extent of LVM (4 MiB)",
        ));
    }
    let count = found.len() as u64;
    let all = paths.join(" ");
    let mut notes = vec![
        "these lines were not run; they write to the devices, and everything on them is lost".to_owned(),
        "a striped volume is lost with any of its devices: put it on arrays, or have replicas and backups".to_owned(),
        "the volume takes all room; snapshots by LVM (penstock snapshot --method lvm) need free extents in the group: write fewer with -l".to_owned(),
    ];
    if most > least + least / 20 {
        notes.push(format!(
            "the devices have {} to {}: of the larger ones {} each are left over",
            bytes(least),
            bytes(most),
            bytes(most - least)
        ));
    }
    let turning = found
        .iter()
        .filter(|(_, d, _)| d.whole().is_rotational() == Some(true))
        .count();
    if turning > 0 && turning < found.len() {
        notes.push(
            "some of the devices turn, and some do not: the volume is as fast as the slowest"
                .to_owned(),
        );
    }
    Ok(Plan {
        devices: found
            .iter()
            .map(|(n, _, size)| (n.path.clone(), *size))
            .collect(),
        size: extents * EXTENT * count,
        lines: vec![
            format!("pvcreate {all}"),
            format!("vgcreate data {all}"),
            format!(
                "lvcreate -i {count} -I {STRIPE}k -l {} -n mysql data",
                extents * count
            ),
        ],
        notes,
    })
}

/// The device and its bytes, if nothing uses it and nothing is on it.
fn free(host: &Host, named: &Named) -> Result<(Device, u64)> {
    let path = &named.path;
    let hint = "nothing was changed; name devices that are not in use (lsblk shows what is)";
    let refuse = |why: String| Err(refused(path, &why).hint(hint));
    let device = host
        .device(named.number)
        .map_err(|why| refused(path, &format!("cannot be looked at: {why}")).hint(hint))?;
    let number = format!(
        "{}:{}",
        rustix::fs::major(named.number),
        rustix::fs::minor(named.number)
    );
    let mounts = host
        .read("proc/self/mountinfo")
        .map_err(|why| refused(path, &format!("may be mounted: {why}")).hint(hint))?;
    let mounted = mounts.lines().find_map(|l| {
        let mut words = l.split(' ').skip(2);
        let of = words.next()?;
        // btrfs names its device after the dash only.
        let source = l.split_once(" - ")?.1.split(' ').nth(1)?;
        (of == number || source == path).then(|| words.nth(1).unwrap_or_default().to_owned())
    });
    if let Some(at) = mounted {
        return refuse(format!("is mounted at {}", printable(&at)));
    }
    let swaps = host.read("proc/swaps").unwrap_or_default();
    if swaps
        .lines()
        .any(|l| l.split_whitespace().next() == Some(path))
    {
        return refuse("is in use as swap".to_owned());
    }
    let names = |all: Vec<Device>| {
        all.into_iter()
            .map(|d| d.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let partitions = names(device.partitions());
    if !partitions.is_empty() {
        return refuse(format!("has partitions: {partitions}"));
    }
    let users = names(device.users());
    if !users.is_empty() {
        return refuse(format!("is a part of {users}"));
    }
    if named.busy {
        return refuse("is in use, says the kernel".to_owned());
    }
    match &named.head {
        Err(why) => {
            let why = format!("cannot be read ({why}), so that what is on it cannot be seen");
            return Err(refused(path, &why).hint("run this as root; it only reads"));
        }
        Ok(head) => {
            if let Some(what) = signature(head) {
                return Err(refused(path, &format!("holds {what}"))
                    .hint("nothing was changed; if nothing on it matters: wipefs --all, which you run yourself"));
            }
            if head.iter().any(|b| *b != 0) {
                return Err(refused(path, "is not empty: there are data in its first MiB")
                    .hint("nothing was changed; if nothing on it matters: wipefs --all and blkdiscard, or dd of zeroes, which you run yourself"));
            }
        }
    }
    match device.size() {
        Some(size) if size > 0 => Ok((device, size)),
        _ => refuse("has no size".to_owned()),
    }
}

/// What begins so, by libblkid's places.
fn signature(head: &[u8]) -> Option<&'static str> {
    let known: [(usize, &[u8], &str); 10] = [
        (0x438, &[0x53, 0xef], "an ext file system"),
        (0, b"XFSB", "an XFS file system"),
        (0x10040, b"_BHRfS_M", "a btrfs file system"),
        (0xff6, b"SWAPSPACE2", "swap"),
        (0x218, b"LVM2 001", "a physical volume of LVM"),
        (0x1000, &[0xfc, 0x4e, 0x2b, 0xa9], "a part of an md array"),
        (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
        (512, b"EFI PART", "a partition table (GPT)"),
        (0x1fe, &[0x55, 0xaa], "a partition table or a boot sector"),
        (3, b"NTFS", "an NTFS file system"),
    ];
    let there =
        |(at, magic, _): &&(usize, &[u8], &str)| head.get(*at..at + magic.len()) == Some(*magic);
    known.iter().find(there).map(|(.., what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, text).expect("a file");
    }

    /// A host with these disks, of so many MiB.
    fn host(root: &Path, disks: &[(&str, u32, u64)]) -> Host {
        write(
            root,
            "proc/self/mountinfo",
            "27 1 254:0 / / rw - ext4 /dev/vda rw\n",
        );
        for (name, minor, mib) in disks {
            let sectors = mib << 11;
            write(
                root,
                &format!("sys/block/{name}/size"),
                &format!("{sectors}\n"),
            );
            let number = root.join(format!("sys/dev/block/8:{minor}"));
            std::fs::create_dir_all(number.parent().expect("a parent")).expect("directories");
            std::os::unix::fs::symlink(root.join(format!("sys/block/{name}")), number)
                .expect("a link");
        }
        Host::made_up(root.to_owned(), 0, BTreeMap::new())
    }

    fn named(path: &str, minor: u32) -> Named {
        Named {
            path: path.to_owned(),
            number: rustix::fs::makedev(8, minor),
            head: Ok(vec![0; 4096]),
            busy: false,
        }
    }

    fn two() -> [Named; 2] {
        [named("/dev/sdb", 16), named("/dev/sdc", 32)]
    }

    const DISKS: [(&str, u32, u64); 2] = [("sdb", 16, 1001), ("sdc", 32, 2000)];

    #[test]
    fn lines_are_exact() {
        let root = tempfile::tempdir().expect("a directory");
        let plan = plan_of(&host(root.path(), &DISKS), &two()).expect("a plan");
        assert_eq!(
            plan.lines,
            [
                "pvcreate /dev/sdb /dev/sdc",
                "vgcreate data /dev/sdb /dev/sdc",
                "lvcreate -i 2 -I 256k -l 500 -n mysql data",
            ]
        );
        assert_eq!(plan.size, 2000 << 20);
        assert!(
            plan.notes.iter().any(|n| n.contains("are left over")),
            "{plan:?}"
        );
    }

    #[test]
    fn devices_in_use_are_refused() {
        let root = tempfile::tempdir().expect("a directory");
        let host = host(root.path(), &DISKS);
        let why = |named: &[Named]| plan_of(&host, named).expect_err("refused").what;
        assert!(why(&two()[..1]).contains("two devices or more"));
        assert!(why(&[named("/dev/sdb", 16), named("/dev/disk/x", 16)]).contains("are one device"));
        let [mut first, second] = two();
        first.busy = true;
        assert!(why(&[first, second]).contains("is in use"));
        let [mut first, second] = two();
        first.head = Err("Permission denied".to_owned());
        assert!(why(&[first, second]).contains("cannot be seen"));
        for (at, magic, what) in [
            (0x438, &[0x53, 0xef][..], "an ext file system"),
            (512, b"EFI PART", "a partition table (GPT)"),
            (0x218, b"LVM2 001", "a physical volume"),
            (77, b"x", "is not empty"),
        ] {
            let [mut first, second] = two();
            let mut head = vec![0; 70_000];
            head[at..at + magic.len()].copy_from_slice(magic);
            first.head = Ok(head);
            let why = why(&[first, second]);
            assert!(why.contains(what), "{why}");
        }
        write(
            root.path(),
            "proc/self/mountinfo",
            "27 1 8:16 / /srv rw - ext4 /dev/sdb rw\n",
        );
        assert!(why(&two()).contains("is mounted at /srv"));
        write(
            root.path(),
            "proc/self/mountinfo",
            "27 1 0:44 / /b rw - btrfs /dev/sdc rw\n",
        );
        assert!(why(&two()).contains("/dev/sdc is mounted at /b"));
        write(root.path(), "proc/self/mountinfo", "");
        write(
            root.path(),
            "proc/swaps",
            "Filename Type\n/dev/sdc partition 1 0 -2\n",
        );
        assert!(why(&two()).contains("swap"));
        write(root.path(), "proc/swaps", "");
        write(root.path(), "sys/block/sdb/sdb1/partition", "1\n");
        assert!(why(&two()).contains("has partitions: sdb1"));
        std::fs::remove_dir_all(root.path().join("sys/block/sdb/sdb1")).expect("removed");
        write(root.path(), "sys/block/sdc/holders/dm-3/x", "");
        assert!(why(&two()).contains("/dev/sdc is a part of dm-3"));
        std::fs::remove_dir_all(root.path().join("sys/block/sdc/holders")).expect("removed");
        assert!(plan_of(&host, &two()).is_ok());
        assert!(
            why(&[named("/dev/sdb", 16), named("/dev/sdx", 99)]).contains("cannot be looked at")
        );
    }

    #[test]
    fn what_is_no_device_is_refused() {
        let e = plan(&["/etc/passwd".into(), "/dev/null".into()]).expect_err("refused");
        assert!(
            e.kind == Kind::Usage && e.what.contains("is not a block device"),
            "{e:?}"
        );
    }
}
