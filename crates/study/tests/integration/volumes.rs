//! `[volume]` and `[log_volume]`: where data and logs are stored.

use crate::common::{SMALLEST, fails, plan, trial};
use plan::{Devices, FileSystemKind, Profile, Volume};
use serde_json::json;

/// The volume of the data of a study with this section.
fn volume(section: &str) -> Volume {
    let text = format!("{SMALLEST}[volume]\n{section}");
    trial(&text, &[]).topology.node.volume
}

/// The volume of the log of a study with this section.
fn log_volume(section: &str) -> Option<Volume> {
    let text = format!("{SMALLEST}[log_volume]\n{section}");
    trial(&text, &[]).topology.node.log_volume
}

#[test]
fn without_a_word_data_is_in_dynos_cache() {
    assert!(volume("").is_default());
    assert!(volume("allow_format = [\"/dev/a\"]").is_default());
}

#[test]
fn every_key_of_a_volume_arrives() {
    let made = volume(
        "directory = \"/mnt/nvme\"\nfilesystem = \"btrfs\"\ndevices = 4\ndevice_size = \"256M\"\n\
         profile = \"raid10\"\nchecksum = true\ncompression = \"zstd:7\"\ndeduplicate = true\n\
         mount_options = \"noatime\"\nscheduler = \"none\"\nread_iops = 500\nwrite_iops = 400\n\
         read_bytes_per_s = \"10M\"\nwrite_bytes_per_s = 5_000_000\n",
    );
    assert_eq!(
        serde_json::to_value(&made).unwrap(),
        json!({
            "directory": "/mnt/nvme", "scheduler": "none",
            "limits": {
                "read_iops": 500, "write_iops": 400, "read_bytes_per_s": 10 << 20,
                "write_bytes_per_s": 5_000_000,
            },
            "file_system": {
                "kind": "btrfs", "devices": { "loop": { "count": 4, "bytes": 256 << 20 } },
                "profile": "raid10", "checksum": true, "compression": "zstd:7", "deduplicate": true,
                "mount_options": "noatime",
            },
        })
    );
}

#[test]
fn a_log_has_a_volume_of_its_own_if_the_study_names_one() {
    assert_eq!(log_volume(""), None);
    assert_eq!(log_volume("allow_format = [\"/dev/a\"]"), None);
    let made = log_volume("filesystem = \"xfs\"\nwrite_iops = 100").unwrap();
    assert_eq!(made.limits.write_iops, Some(100));
    assert_eq!(made.file_system.unwrap().kind.value, FileSystemKind::Xfs);
    assert!(log_volume("directory = \"/mnt/log\"").is_some());
}

#[test]
fn a_file_system_has_defaults() {
    let system = volume("filesystem = \"ext4\"").file_system.unwrap();
    assert_eq!(system.loop_bytes(), Some(2 << 30));
    assert_eq!(system.profile, Profile::Single);
    let none = volume("filesystem = \"none\"\ndevice_size = \"1G\"");
    assert!(none.is_default());
    let striped = volume("filesystem = \"btrfs\"\ndevices = 2").file_system;
    assert_eq!(striped.unwrap().profile, Profile::Raid0);
}

#[test]
fn contradictions_are_found() {
    volume("filesystem = \"btrfs\"\ndevices = 4\nprofile = \"raid10\"");
    volume("filesystem = \"btrfs\"\nchecksum = false");
    volume("filesystem = \"xfs\"\ndeduplicate = true");
    for (kind, rest, problem) in [
        ("btrfs", "profile = \"raid1\"", "needs 2 devices, not 1"),
        (
            "btrfs",
            "devices = 3\nprofile = \"raid10\"",
            "needs 4 devices, not 3",
        ),
        (
            "btrfs",
            "checksum = false\ncompression = \"lzo\"",
            "checksums",
        ),
        ("ext4", "devices = 2", "ext4 has no `devices`"),
        ("xfs", "devices = 4", "xfs has no `devices`"),
        ("ext4", "deduplicate = true", "ext4 has no `deduplicate`"),
    ] {
        let text = format!("{SMALLEST}[volume]\nfilesystem = \"{kind}\"\n{rest}\n");
        let said = fails(&text, &[]);
        assert!(said.contains(problem), "{said}");
    }
}

#[test]
fn policies_are_axes_and_variants() {
    let text = format!(
        "{SMALLEST}[volume]\nfilesystem = \"btrfs\"\n[[variant]]\nname = \"one copy\"\n\
         [[variant]]\nname = \"no checksums\"\nvolume.checksum = false\n\
         [sweep]\n\"volume.devices\" = [1, 2]\n"
    );
    let plan = plan(&text, &[]);
    let seen = plan.trials.iter().map(|trial| {
        let system = trial.topology.node.volume.file_system.as_ref().unwrap();
        (system.device_count(), system.checksum)
    });
    let seen: Vec<_> = seen.collect();
    assert_eq!(seen, [(1, true), (2, true), (1, false), (2, false)]);
}

#[test]
fn a_device_is_formatted_only_if_the_study_allows_it() {
    let allowed =
        "filesystem = \"xfs\"\ndevice = \"/dev/sdz\"\nallow_format = [\"/dev/sdy\", \"/dev/sdz\"]";
    let system = volume(allowed).file_system.unwrap();
    assert!(
        matches!(system.devices, Devices::Named(device) if device.value.to_str() == Some("/dev/sdz"))
    );
}
