//! Servers on other hosts: named by a list, one by one, or with what differs there.

use crate::common::{SMALLEST, fails, labels, plan, trial};
use plan::{Devices, Hosts, On, SiteKind, Topology, Trial};

fn hosts(trial: &Trial) -> &Hosts {
    trial.topology.node.site.hosts.as_ref().unwrap()
}

/// The addresses of the hosts of all servers, in order.
fn placed(topology: &Topology) -> Vec<&str> {
    let hosts = topology.node.site.hosts.as_ref().unwrap();
    let address = |index| hosts.list[topology.host_of(index)].address.as_str();
    (0..topology.nodes()).map(address).collect()
}

#[test]
fn servers_are_spread_over_the_hosts_in_one_more_line() {
    let four = trial(
        SMALLEST,
        &[
            ("site.hosts", "[\"a\", \"b\"]"),
            ("topology.instances", "4"),
        ],
    );
    assert_eq!(four.topology.node.site.kind.value, SiteKind::Ssh);
    assert_eq!(placed(&four.topology), ["a", "b", "a", "b"]);
    assert_eq!(four.topology.instances_by_host(), [[0, 2], [1, 3]]);
    let limited = [
        ("site.host", "a"),
        ("site.kind", "limited"),
        ("site.cpus", "2"),
    ];
    let site = trial(SMALLEST, &limited).topology.node.site;
    assert_eq!(
        (site.kind.value, site.limits.cpus.unwrap().value),
        (SiteKind::Ssh, 2.0)
    );
    let one = trial(SMALLEST, &[("site.host", "me@db1")]);
    assert_eq!(placed(&one.topology), ["me@db1"]);
    assert_eq!(hosts(&one).directory, std::path::Path::new("/var/tmp"));
}

#[test]
fn a_study_says_which_host_has_which_server() {
    let cluster = [
        ("site.hosts", "a,b,c"),
        ("topology.cluster", "galera"),
        ("topology.instances", "2"),
    ];
    let of = |key: &'static str| {
        let sets = [&cluster[..], &[(key, "[\"c\", \"a\"]")]].concat();
        let trial = trial(SMALLEST, &sets);
        placed(&trial.topology).join("")
    };
    assert_eq!(of("topology.members_on"), "caccac");
    assert_eq!(of("topology.instances_on"), "cccaaa");
    assert_eq!(
        placed(&trial(SMALLEST, &cluster).topology).join(""),
        "abcbca"
    );
}

#[test]
fn hosts_differ_in_cpus_and_devices() {
    let text = format!(
        "{SMALLEST}site.cpus = 4\ntopology.instances = 2\n\
         [volume]\nfilesystem = \"xfs\"\nallow_format = [\"/dev/sdb\", \"/dev/nvme1n1\"]\n\
         [[site.host]]\naddress = \"a\"\ndevice = \"/dev/sdb\"\n\
         [[site.host]]\naddress = \"b\"\ncpus = 2\ndevice = \"/dev/nvme1n1\"\n"
    );
    let trial = trial(&text, &[]);
    let nodes = [0, 1].map(|instance| trial.topology.node_of(instance));
    let cpus = nodes
        .each_ref()
        .map(|node| node.site.limits.cpus.as_ref().unwrap().value);
    assert_eq!(cpus, [4.0, 2.0]);
    let device = |node: &plan::Node| match &node.volume.file_system.as_ref().unwrap().devices {
        Devices::Named(device) => device.value.clone(),
        Devices::Loop { .. } => panic!("no device"),
    };
    assert_eq!(
        nodes.each_ref().map(device),
        ["/dev/sdb", "/dev/nvme1n1"].map(std::path::PathBuf::from)
    );
}

#[test]
fn hosts_can_be_swept_and_a_result_keeps_them() {
    let text = format!("{SMALLEST}[sweep]\nsite.hosts = [[\"a\"], [\"a\", \"b\"]]\n");
    let plan = plan(&text, &[]);
    assert_eq!(labels(&plan), ["hosts=a", "hosts=a, b"]);
    let counts = plan.trials.iter().map(|trial| hosts(trial).list.len());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 2]);
    let placed = trial(
        SMALLEST,
        &[("site.hosts", "a,b"), ("topology.instances_on", "b")],
    );
    let stored = serde_json::to_string(&placed).unwrap();
    let read: Trial = serde_json::from_str(&stored).unwrap();
    assert_eq!(hosts(&read), hosts(&placed));
    assert_eq!(hosts(&read).on, On::Instances(vec!["b".to_owned()]));
}

#[test]
fn a_host_restarts_only_if_the_study_allows_it_by_name() {
    let text = |allowed: &str, rest: &str| {
        format!(
            "{SMALLEST}site = {{ hosts = [\"a\", \"b\", \"c\"], allow_reboot = {allowed} }}\n\
             topology.cluster = \"galera\"\nload.time = \"60s\"\n{rest}"
        )
    };
    let reboot = |target: &str| format!("[[fault]]\nat = \"1s\"\nreboot = {target}\n");
    for (allowed, target) in [("[\"b\"]", "2"), ("[\"a\", \"b\", \"c\"]", "\"primary\"")] {
        let trial = trial(&text(allowed, &reboot(target)), &[]);
        assert_eq!(trial.topology.faults.len(), 1);
    }
    let any = "chaos.faults = \"any\"\n";
    let drawn = |allowed: &str| {
        let kinds = trial(&text(allowed, any), &[]).chaos.unwrap().kinds;
        kinds.iter().any(|kind| kind.name() == "reboot")
    };
    assert!(drawn("[\"a\", \"b\", \"c\"]") && !drawn("[\"a\", \"b\"]"));
    for (allowed, target, said) in [
        ("[\"a\"]", "2", "add allow_reboot = [\"b\"]"),
        ("[\"a\", \"c\"]", "\"replica\"", "the host `b`"),
        ("[\"a\", \"d\"]", "1", "no host `d`"),
        ("[\"a\", \"a\"]", "1", "`a` is named twice"),
    ] {
        let refused = fails(&text(allowed, &reboot(target)), &[]);
        assert!(refused.contains(said), "{refused}");
    }
    let named = "chaos.faults = [\"reboot\"]\n";
    assert!(fails(&text("[\"a\"]", named), &[]).contains("the host `b`"));
    let made = format!("volume.filesystem = \"ext4\"\n{}", reboot("2"));
    assert!(fails(&text("[\"b\"]", &made), &[]).contains("nobody mounts them"));
    let here = format!("{SMALLEST}load.time = \"60s\"\n{}", reboot("1"));
    assert!(fails(&here, &[]).contains("is done to other hosts"));
}

#[test]
fn a_host_that_fails_takes_its_members_along() {
    let text = |hosts: &str, members: u32| {
        format!(
            "{SMALLEST}site.hosts = {hosts}\ntopology = {{ cluster = \"galera\", members = {members} }}\n\
             [[fault]]\nat = \"1s\"\nsilence = \"primary\"\n[[fault]]\nat = \"30s\"\nfail_host = \"replica\"\n"
        )
    };
    for (hosts, members) in [("[\"a\", \"b\", \"c\"]", 3), ("[\"a\", \"b\", \"c\"]", 5)] {
        assert_eq!(trial(&text(hosts, members), &[]).topology.faults.len(), 2);
    }
    let said = fails(&text("[\"a\", \"b\"]", 5), &[]);
    assert!(said.contains("leaves 2 of 5 members"), "{said}");
}
