//! A block device and what it is made of, as sysfs shows it: partitions, device mapper, md.
//!
//! Sources: the kernel's documentation, "ABI stable symbols" (sysfs-block), "RAID arrays" (md), "Device Mapper".

use std::path::{Path, PathBuf};

/// A block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// Its name in the kernel: `sda1`, `dm-0`, `md127`.
    pub(crate) name: String,
    directory: PathBuf,
}

/// An array of md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    /// `raid1`.
    pub(crate) level: String,
    /// Devices that it should have.
    pub(crate) disks: u64,
    /// Devices that it lacks.
    pub(crate) degraded: u64,
    /// `idle`, `resync`, `recover`, …
    pub(crate) action: String,
}

impl Device {
    /// The device of a directory of sysfs, or of a link to one.
    pub(crate) fn at(path: &Path) -> Option<Device> {
        let directory = path.canonicalize().ok()?;
        let name = directory.file_name()?.to_string_lossy().into_owned();
        // A slash in a device's name is written so.
        let name = name.replace('!', "/");
        Some(Device { name, directory })
    }

    /// An attribute of it.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.directory.join(name)).ok()?;
        Some(text.trim().to_owned())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    /// Whether it is a partition.
    pub(crate) fn is_partition(&self) -> bool {
        self.directory.join("partition").exists()
    }

    /// The device that a partition is of, or the device itself.
    pub(crate) fn whole(&self) -> Device {
        let parent = self.directory.parent().filter(|_| self.is_partition());
        parent.and_then(Device::at).unwrap_or_else(|| self.clone())
    }

    /// Its partitions, by name.
    pub(crate) fn partitions(&self) -> Vec<Device> {
        let list = std::fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let mut all: Vec<Device> = list
            .filter(|e| e.path().join("partition").exists())
            .filter_map(|e| Device::at(&e.path()))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn linked(&self, directory: &str) -> Vec<Device> {
        let list = std::fs::read_dir(self.directory.join(directory));
        let list = list.into_iter().flatten().flatten();
        let mut all: Vec<Device> = list.filter_map(|e| Device::at(&e.path())).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The devices that it is made of.
    pub(crate) fn parts(&self) -> Vec<Device> {
        self.linked("slaves")
    }

    /// The devices that are made of it.
    pub(crate) fn users(&self) -> Vec<Device> {
        self.linked("holders")
    }

    /// It, and everything that it is made of, from top to bottom, each once.
    pub(crate) fn stack(&self) -> Vec<Device> {
        // More layers than anyone makes: a made-up tree must not be walked for ever.
        const LAYERS: usize = 16;
        let mut all = vec![self.whole()];
        let mut layer = all.clone();
        for _ in 0..LAYERS {
            let below: Vec<Device> = layer
                .iter()
                .flat_map(Device::parts)
                .map(|d| d.whole())
                .collect();
            layer = Vec::new();
            for device in below {
                if !all.contains(&device) {
                    all.push(device.clone());
                    layer.push(device);
                }
            }
        }
        all
    }

    /// The disks at the bottom.
    pub(crate) fn disks(&self) -> Vec<Device> {
        self.stack()
            .into_iter()
            .filter(|d| d.parts().is_empty())
            .collect()
    }

    /// Whether it turns; `None` if that is not known. A virtual disk says that it does, whatever is below it: the driver
    /// of virtio and that of Xen leave the kernel's default. So may a loop device, which is a file.
    pub(crate) fn is_rotational(&self) -> Option<bool> {
        if self.name.starts_with("vd")
            || self.name.starts_with("xvd")
            || self.name.starts_with("loop")
        {
            return None;
        }
        self.number("queue/rotational").map(|n| n == 1)
    }

    /// Its size in bytes.
    pub(crate) fn size(&self) -> Option<u64> {
        // Sectors of this file have this many bytes, whatever the disk's are.
        self.number("size")?.checked_mul(512)
    }

    /// Its maker's name for it.
    pub(crate) fn model(&self) -> Option<String> {
        self.attribute("device/model").filter(|m| !m.is_empty())
    }

    /// The scheduler that is chosen, as in `mq-deadline kyber [none]`.
    pub(crate) fn scheduler(&self) -> Option<String> {
        let text = self.attribute("queue/scheduler")?;
        match text.split_once('[') {
            Some((_, rest)) => rest.split(']').next().map(str::to_owned),
            None => Some(text),
        }
    }

    /// Read-ahead, in KiB.
    pub(crate) fn read_ahead(&self) -> Option<u64> {
        self.number("queue/read_ahead_kb")
    }

    /// The name that the device mapper gives it, and its UUID, which says who made it.
    pub(crate) fn mapped(&self) -> Option<(String, String)> {
        let name = self.attribute("dm/name")?;
        Some((name, self.attribute("dm/uuid").unwrap_or_default()))
    }

    /// What it is as an array of md.
    pub(crate) fn array(&self) -> Option<Array> {
        Some(Array {
            level: self.attribute("md/level")?,
            disks: self.number("md/raid_disks").unwrap_or(0),
            degraded: self.number("md/degraded").unwrap_or(0),
            action: self.attribute("md/sync_action").unwrap_or_default(),
        })
    }
}
