//! `[volume]` and `[log_volume]`: where data and logs are stored.

use crate::common::{SMALLEST, fails, plan};
use plan::{Compression, Devices, DiskLimits, FileSystemKind, Profile, Volume};

/// The volume of the only trial of a study with this section.
fn volume(section: &str) -> Volume {
    let mut plan = plan(&format!("{SMALLEST}[volume]\n{section}"), &[]);
    plan.trials.remove(0).topology.node.volume
}

/// The volume of the log of the only trial of a study with this section.
fn log_volume(section: &str) -> Option<Volume> {
    let mut plan = plan(&format!("{SMALLEST}[log_volume]\n{section}"), &[]);
    plan.trials.remove(0).topology.node.log_volume
}

/// What is said of a study with this section.
fn refused(section: &str) -> String {
    fails(&format!("{SMALLEST}[volume]\n{section}"), &[])
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
    assert_eq!(made.directory.unwrap().value.to_str(), Some("/mnt/nvme"));
    assert_eq!(made.scheduler.unwrap().value, "none");
    let limits = DiskLimits {
        read_iops: Some(500),
        write_iops: Some(400),
        read_bytes_per_s: Some(10 << 20),
        write_bytes_per_s: Some(5_000_000),
    };
    assert_eq!(made.limits, limits);
    let system = made.file_system.unwrap();
    assert_eq!(system.kind.value, FileSystemKind::Btrfs);
    assert_eq!(system.loop_bytes(), Some(4 * (256 << 20)));
    assert_eq!(system.profile.value, Profile::Raid10);
    assert_eq!(system.compression.value, Compression::Zstd(7));
    assert!(system.checksum.value && system.deduplicate.value);
    assert_eq!(system.mount_options.unwrap().value, "noatime");
}

#[test]
fn a_log_has_a_volume_of_its_own_if_the_study_names_one() {
    assert_eq!(log_volume(""), None);
    assert_eq!(log_volume("allow_format = [\"/dev/a\"]"), None);
    let made = log_volume("filesystem = \"xfs\"\nwrite_iops = 100").unwrap();
    assert_eq!(made.limits.write_iops, Some(100));
    assert_eq!(made.file_system.unwrap().kind.value, FileSystemKind::Xfs);
    assert!(log_volume("directory = \"/mnt/log\"").is_some());
    for (text, said) in [
        (
            "[log_volume]\nwrite_iops = 100",
            "`log_volume.write_iops` has no effect on a log that is stored with the data",
        ),
        (
            "[log_volume]\nfilesystem = \"ext4\"\n[topology]\ncluster = \"asynchronous\"\nmembers = 2",
            "the log of a member of a cluster is stored with its data",
        ),
        (
            "[volume]\nfilesystem = \"ext4\"\ndevice = \"/dev/a\"\nallow_format = [\"/dev/a\"]\n\
             [log_volume]\nfilesystem = \"ext4\"\ndevice = \"/dev/a\"\nallow_format = [\"/dev/a\"]",
            "`/dev/a` is the device of both volumes",
        ),
    ] {
        let error = fails(&format!("{SMALLEST}{text}"), &[]);
        assert!(error.contains(said) && error.contains("s.toml:"), "{error}");
    }
    let keys = [("log_volume.deduplicate", "true")];
    assert!(fails(SMALLEST, &keys).contains("unknown key"));
    let in_process = "title = \"t\"\nserver.engine = \"sqlite\"\n[log_volume]\ndirectory = \"/l\"";
    let error = fails(in_process, &[]);
    assert!(
        error.contains("`log_volume.directory` has no effect"),
        "{error}"
    );
    let elsewhere = "title = \"t\"\nserver.engine = \"mariadb\"\n[site]\nhost = \"db1\"\n\
                     [log_volume]\ndirectory = \"/l\"";
    let error = fails(elsewhere, &[]);
    assert!(error.contains("no `log_volume.directory`"), "{error}");
}

#[test]
fn a_file_system_has_defaults() {
    let system = volume("filesystem = \"ext4\"").file_system.unwrap();
    assert_eq!(system.loop_bytes(), Some(2 << 30));
    assert_eq!(system.profile.value, Profile::Single);
    let none = volume("filesystem = \"none\"\ndevice_size = \"1G\"");
    assert!(none.is_default());
    let striped = volume("filesystem = \"btrfs\"\ndevices = 2").file_system;
    assert_eq!(striped.unwrap().profile.value, Profile::Raid0);
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
        (system.device_count(), system.checksum.value)
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
    let two = refused(&format!("{allowed}\n[topology]\ninstances = 2"));
    assert!(two.contains("file systems of 2 servers"), "{two}");
    for section in [
        "filesystem = \"xfs\"\ndevice = \"/dev/sdz\"",
        "filesystem = \"xfs\"\ndevice = \"/dev/sdz\"\nallow_format = [\"/dev/sdz1\"]",
        "filesystem = \"xfs\"\ndevice = \"/dev/sdz\"\nallow_format = []",
    ] {
        let error = refused(section);
        assert!(error.contains("may not be formatted"), "{error}");
        assert!(error.contains("allow_format = [\"/dev/sdz\"]"), "{error}");
    }
}

#[test]
fn contradictions_are_located() {
    for (section, said) in [
        (
            "devices = 4",
            "`volume.devices` has no effect without `volume.filesystem`",
        ),
        (
            "device = \"/dev/sdz\"",
            "`volume.device` has no effect without",
        ),
        (
            "filesystem = \"ext4\"\ndevices = 2",
            "ext4 has no `devices`",
        ),
        (
            "filesystem = \"xfs\"\nchecksum = false",
            "xfs has no `checksum`",
        ),
        (
            "filesystem = \"xfs\"\ndevice_size = \"256M\"",
            "an XFS of 256.0 MiB is too small",
        ),
        (
            "filesystem = \"btrfs\"\nprofile = \"raid1\"",
            "`raid1` needs 2 devices, not 1",
        ),
        (
            "filesystem = \"btrfs\"\ncompression = \"zip\"",
            "`zip` is no compression",
        ),
        (
            "filesystem = \"btrfs\"\nchecksum = false\ncompression = \"lzo\"",
            "compresses only data that has checksums",
        ),
        (
            "filesystem = \"btrfs\"\ndevice = \"/dev/a\"\ndevices = 2\nallow_format = [\"/dev/a\"]",
            "`volume.devices` has no effect on a device",
        ),
    ] {
        let error = refused(section);
        assert!(error.contains(said) && error.contains("s.toml:"), "{error}");
    }
}

#[test]
fn values_have_ranges() {
    for (key, value, said) in [
        ("volume.filesystem", "zfs", "did you mean `xfs`?"),
        ("volume.devices", "0", "from 1 to 32"),
        ("volume.device_size", "1M", "from 128.0 MiB to 64.0 TiB"),
        ("volume.device_size", "big", "`big` is not a size"),
        ("volume.read_iops", "0", "out of range"),
        ("volume.write_bytes_per_s", "1", "from 4.0 KiB"),
        ("volume.allow_format", "/dev/a", "takes a list of strings"),
        ("volume.allow_format", "[\"dev\"]", "not an absolute path"),
        ("volume.device", "sda", "not an absolute path"),
        ("server.directory", "/mnt", "`directory` belongs under"),
        (
            "volume.filesystem",
            "ntfs-3g",
            "the values are `none`, `ext4`, `xfs`, `btrfs`",
        ),
    ] {
        let error = fails(SMALLEST, &[(key, value)]);
        assert!(error.contains(said), "{key}: {error}");
    }
    let url = "title = \"t\"\nserver.url = \"mysql://h/d\"\nvolume.filesystem = \"ext4\"";
    assert!(fails(url, &[]).contains("`volume.filesystem` has no effect with `server.url`"));
}
