//! What is reported about this host agrees with the system's own tools.

use std::path::Path;
use std::process::Command;

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_disk_under_a_directory_is_the_one_that_lsblk_names() {
    let dir = env!("CARGO_MANIFEST_DIR");
    let place = host::fingerprint("", "", &[Path::new(dir)])
        .places
        .remove(0);
    let told = |column: &str| {
        said(
            "findmnt",
            &["--noheadings", "--output", column, "--target", dir],
        )
    };
    assert_eq!(place.mount_point.as_deref(), Some(told("TARGET").as_str()));
    assert_eq!(place.file_system.as_deref(), Some(told("FSTYPE").as_str()));
    let source = told("SOURCE");
    if !source.starts_with("/dev/") {
        assert_eq!(place.disks, [], "{source} is no device");
        return;
    }
    let source = source.split('[').next().unwrap();
    let lsblk = |options: &[&str], device: &str| {
        said("lsblk", &[&["--noheadings"], options, &[device]].concat())
    };
    // What lies below, through partitions, volumes and arrays.
    let below = lsblk(&["--inverse", "--list", "--output", "NAME,TYPE"], source);
    let below = below.lines().map(|line| line.split_once(' ').unwrap());
    let disks: Vec<&str> = below
        .filter(|(_, kind)| kind.trim() == "disk")
        .map(|(name, _)| name)
        .collect();
    let found: Vec<&str> = place
        .disks
        .iter()
        .map(|found| found.name.as_str())
        .collect();
    assert!(!disks.is_empty(), "{source}");
    assert!(
        disks.iter().all(|disk| found.contains(disk)),
        "{found:?}, {disks:?}"
    );
    for found in &place.disks {
        let device = format!("/dev/{}", found.name);
        let bytes = lsblk(&["--nodeps", "--bytes", "--output", "SIZE"], &device);
        assert_eq!(found.bytes, bytes.parse().ok());
    }
}

#[test]
fn cpus_and_nodes_are_those_that_lscpu_counts() {
    let here = host::fingerprint("", "", &[]);
    let table = said("lscpu", &["--parse=CPU,CORE,SOCKET,NODE"]);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(',').collect())
        .collect();
    let count = |columns: std::ops::Range<usize>| {
        let mut different: Vec<_> = rows
            .iter()
            .map(|row| row[columns.clone()].to_vec())
            .collect();
        different.sort_unstable();
        different.dedup();
        Some(different.len() as u64)
    };
    assert_eq!(here.cpu_threads, count(0..1));
    assert_eq!(here.cpu_cores, count(1..3));
    assert_eq!(here.cpu_sockets, count(2..3));
    // A machine without NUMA has an empty column.
    assert_eq!(here.numa_nodes.unwrap_or(1), count(3..4).unwrap());
}
