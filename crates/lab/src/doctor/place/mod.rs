//! A directory that holds data: its file system, and the disks under it.

mod disk;
mod file_system;

use measure::result::Place as Described;

use measure::finding::check::Check;

/// What is known of a place.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Place {
    /// The file system and its disks, below all volumes and arrays.
    pub(super) described: Described,
    /// Disks that hold the operating system, below all volumes and arrays.
    pub(super) system_disks: Vec<String>,
    /// All block devices under it, volumes and arrays as well as disks.
    pub(super) devices: Vec<String>,
    pub(super) free_bytes: Option<u64>,
    pub(super) total_bytes: Option<u64>,
    /// What the load is going to take here.
    pub(super) needed_bytes: u64,
    /// Requests that its disks take at once.
    pub(super) queues: Vec<Queue>,
    /// Devices that the kernel puts together from others.
    pub(super) assembled: Vec<Assembled>,
}

/// How many requests a disk takes at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Queue {
    /// The file that says so.
    pub(super) file: String,
    pub(super) depth: u64,
    /// What the device takes, where that is known to be a limit.
    pub(super) most: Option<u64>,
}

/// A device that the kernel makes of others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Assembled {
    pub(super) name: String,
    /// For example `raid10`, or `volume` of a volume manager.
    pub(super) level: String,
    /// Disks that are missing.
    pub(super) degraded: u64,
    /// What it does besides, for example `resync`.
    pub(super) action: Option<String>,
}

/// In the order of the reference page.
pub(super) const CHECKS: [&[Check<Place>]; 2] = [file_system::CHECKS, disk::CHECKS];

impl Place {
    fn mount_point(&self) -> &str {
        self.described.mount_point.as_deref().unwrap_or("/")
    }

    /// Its file system and where it is mounted, for example `ext4 at /srv`.
    fn mount(&self) -> String {
        let system = self.described.file_system.as_deref();
        format!("{} at {}", system.unwrap_or("?"), self.mount_point())
    }
}

#[cfg(test)]
mod tests {
    use measure::finding::Level::{Passed, Unseen};
    use measure::result::Disk;

    use super::*;

    pub(super) fn place(file_system: &str, options: &str, disks: &[(&str, &str)]) -> Place {
        let disk = |(name, scheduler): &(&str, &str)| Disk {
            name: (*name).to_owned(),
            scheduler: Some((*scheduler).to_owned()),
            ..Disk::default()
        };
        Place {
            described: Described {
                path: "/srv/data".into(),
                mount_point: Some("/srv".into()),
                file_system: Some(file_system.into()),
                source: Some("/dev/sdb1".into()),
                options: Some(options.into()),
                disks: disks.iter().map(disk).collect(),
            },
            system_disks: vec!["sda".into()],
            free_bytes: Some(50),
            total_bytes: Some(100),
            queues: vec![Queue {
                file: "/sys/block/sdb/queue/nr_requests".into(),
                depth: 128,
                most: None,
            }],
            ..Place::default()
        }
    }

    pub(super) fn sound() -> Place {
        place("ext4", "rw,noatime", &[("sdb", "mq-deadline")])
    }

    #[test]
    fn a_disk_for_the_data_passes_and_no_disk_cannot_be_looked_at() {
        for check in CHECKS.into_iter().flatten() {
            let (id, judge) = (check.about.id, check.judge);
            assert_eq!(judge(&sound()).level(), Passed, "{id}");
            assert_eq!(judge(&Place::default()).level(), Unseen, "{id}");
        }
    }
}
