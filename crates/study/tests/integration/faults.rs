//! `[[fault]]`: what is broken during the measurement.

use std::time::Duration;

use crate::common::{SMALLEST, fails, plan};
use plan::{Fault, FaultAction, FaultKind, FaultOptions, FaultTarget, Loss, SlowLink, Trial};
use study::fault_toml;

const CLUSTER: &str =
    "title = \"t\"\nserver.engine = \"postgres\"\ntopology.cluster = \"asynchronous\"\n";

fn faults(text: &str) -> Vec<Fault> {
    let plan = plan(&format!("{CLUSTER}{text}"), &[]);
    plan.trials[0].topology.faults.clone()
}

fn fault(at_ms: u64, kind: FaultKind, target: FaultTarget) -> Fault {
    Fault {
        at: Duration::from_millis(at_ms),
        action: FaultAction::new(kind, FaultOptions::default()),
        target,
        heal: Some(Duration::from_secs(10)),
        expect_outage: false,
    }
}

#[test]
fn faults_are_those_of_every_trial_in_order_of_time() {
    let text = format!(
        "{CLUSTER}load.repeats = 2\n[[fault]]\nat = \"40s\"\nrestart = 2\n\
         [[fault]]\nat = \"1500ms\"\nkill = \"primary\"\nheal = \"never\"\n\
         [[fault]]\nat = \"20s\"\npause = \"replica\"\nheal = \"500ms\"\n"
    );
    let wanted = [
        Fault {
            heal: None,
            ..fault(1500, FaultKind::Kill, FaultTarget::Primary)
        },
        Fault {
            heal: Some(Duration::from_millis(500)),
            ..fault(20_000, FaultKind::Pause, FaultTarget::Replica)
        },
        Fault {
            heal: None,
            ..fault(40_000, FaultKind::Restart, FaultTarget::Server(2))
        },
    ];
    let plan = self::plan(&text, &[]);
    assert_eq!(plan.trials.len(), 2);
    assert!(plan.trials.iter().all(|t| t.topology.faults == wanted));
    assert!(
        self::plan(SMALLEST, &[]).trials[0]
            .topology
            .faults
            .is_empty()
    );
}

/// Rejoining is measured by default, and what is over at once is not healed.
#[test]
fn what_lasts_is_healed_after_ten_seconds() {
    for kind in [FaultKind::Kill, FaultKind::Stop, FaultKind::Pause] {
        let found = faults(&format!("[[fault]]\nat = \"1s\"\n{kind} = \"primary\"\n"));
        assert_eq!(found, [fault(1000, kind, FaultTarget::Primary)]);
        assert_eq!(found[0].healed_at(), Some(Duration::from_secs(11)));
    }
    let over = faults("[[fault]]\nat = \"1s\"\nswitchover = \"replica\"\n");
    assert_eq!(over[0].healed_at(), None);
}

#[test]
fn a_command_has_a_target_and_is_healed_by_a_command() {
    let text = "[[fault]]\nat = \"1s\"\ncommand = [\"cut\", \"it\"]\n";
    let wanted = Fault {
        heal: None,
        action: FaultAction::Command {
            command: vec!["cut".to_owned(), "it".to_owned()],
            heal_command: Vec::new(),
        },
        ..fault(1000, FaultKind::Command, FaultTarget::Primary)
    };
    assert_eq!(faults(text), std::slice::from_ref(&wanted));
    let healed = Fault {
        heal: Some(Duration::from_secs(10)),
        action: FaultAction::Command {
            command: vec!["cut".to_owned(), "it".to_owned()],
            heal_command: vec!["mend".to_owned()],
        },
        target: FaultTarget::Server(3),
        ..wanted
    };
    let text = format!("{text}heal_command = [\"mend\"]\ntarget = 3\n");
    assert_eq!(faults(&text), [healed]);
}

/// Sides, a bridge, a loss, and a rolling restart are read, shown, and written out again.
#[test]
fn a_partition_has_sides_and_a_link_loses_packets() {
    let text = "topology.members = 5\ntopology.network = \"namespaces\"\n\
        [[fault]]\nat = \"1s\"\npartition = \"primary\"\nwith = [\"replica\", 3]\nbridge = 5\n\
        [[fault]]\nat = \"20s\"\nslow_link = \"primary\"\nloss = \"2.5%\"\nseed = 7\n\
        [[fault]]\nat = \"40s\"\nrestart = \"all\"\n";
    let found = faults(text);
    let sides = Fault {
        action: FaultAction::Partition {
            with: vec![FaultTarget::Replica, FaultTarget::Server(3)],
            bridge: Some(FaultTarget::Server(5)),
        },
        ..fault(1000, FaultKind::Partition, FaultTarget::Primary)
    };
    let lossy = Fault {
        action: FaultAction::SlowLink {
            link: SlowLink {
                loss: Some(Loss {
                    share: 0.025,
                    seed: 7,
                }),
                ..SlowLink::default()
            },
        },
        ..fault(20_000, FaultKind::SlowLink, FaultTarget::Primary)
    };
    let rolling = Fault {
        heal: None,
        ..fault(40_000, FaultKind::Restart, FaultTarget::All)
    };
    assert_eq!(found, [sides, lossy, rolling]);
    let shown: Vec<_> = found.iter().map(Fault::to_string).collect();
    assert_eq!(
        shown,
        [
            "at 1s: partition primary with replica and server 3, bridge server 5, healed after 10s",
            "at 20s: slow_link primary, loss 2.5% (seed 7), healed after 10s",
            "at 40s: restart all members",
        ]
    );
    let topology = text.split_once("[[").unwrap().0;
    let written: String = found.iter().map(fault_toml).collect();
    assert_eq!(faults(&format!("{topology}\n{written}")), found);
}

/// Rates are numbers or texts, as those of volumes, and are written out to be read again.
#[test]
fn limits_of_a_device_are_written_out() {
    let text = "volume.filesystem = \"btrfs\"\n[[fault]]\nat = \"1s\"\nslow_device = 1\n\
        read_iops = 5\nread_bytes_per_s = \"1M\"\nwrite_bytes_per_s = 4096\n";
    let of = |text: &str| {
        plan(&format!("{SMALLEST}{text}"), &[]).trials[0]
            .topology
            .faults
            .clone()
    };
    let found = of(text);
    assert_eq!(
        found[0].to_string(),
        "at 1s: slow_device server 1, device 1, at most 5 reads/s, 1.0 MiB/s read, 4.0 KiB/s written, \
         healed after 10s"
    );
    let written = format!("volume.filesystem = \"btrfs\"\n{}", fault_toml(&found[0]));
    assert_eq!(of(&written), found);
}

/// What is lost of a cluster is the smaller side, and nothing if a bridge gives both a majority.
#[test]
fn a_partition_counts_the_members_that_the_quorum_loses() {
    let cluster = |members: u32, sides: &str| {
        format!(
            "title = \"t\"\nserver.engine = \"mysql\"\ntopology = {{ cluster = \"group-replication\", \
             members = {members}, network = \"namespaces\" }}\n[[fault]]\nat = \"1s\"\npartition = \"primary\"\n{sides}\n"
        )
    };
    for (members, sides) in [
        (3, ""),
        (3, "with = [\"replica\"]"),
        (5, "with = [\"replica\"]"),
        (3, "bridge = \"replica\""),
        (5, "with = [\"replica\"]\nbridge = 3"),
    ] {
        plan(&cluster(members, sides), &[]);
    }
    let split = "with = [\"replica\"]";
    let error = fails(&cluster(4, split), &[]);
    assert!(
        error.contains("this fault leaves 2 of 4 members"),
        "{error}"
    );
}

fn seeds(trials: &[Trial]) -> Vec<u64> {
    let faults = trials.iter().flat_map(|trial| &trial.topology.faults);
    let seeds = faults.filter_map(|fault| match fault.target {
        FaultTarget::Any(seed) => Some(seed),
        _ => None,
    });
    seeds.collect()
}

/// The same study yields the same members; faults, repeats, and seeds of the data differ.
#[test]
fn members_are_drawn_with_a_seed() {
    let text = format!(
        "{CLUSTER}load.repeats = 3\n[[fault]]\nat = \"1s\"\nkill = \"any\"\n\
         [[fault]]\nat = \"20s\"\nkill = \"any\"\n"
    );
    let drawn = seeds(&plan(&text, &[]).trials);
    assert_eq!(drawn, seeds(&plan(&text, &[]).trials));
    let other = seeds(&plan(&text, &[("data.seed", "99")]).trials);
    let mut all = [drawn, other].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 12);
    let given = text.replace("\"any\"", "\"any\"\nseed = 7");
    assert_eq!(seeds(&plan(&given, &[]).trials), [7; 6]);
}

/// Faults are a list, of which no key names one entry.
#[test]
fn what_cannot_vary_faults_is_refused_with_a_way_out() {
    let text = format!("{SMALLEST}[[fault]]\nat = \"1s\"\nkill = \"primary\"\n");
    let elsewhere = [
        fails(
            &format!("{text}[[variant]]\nname = \"a\"\n[[variant.fault]]\nat = \"1s\"\n"),
            &[],
        ),
        fails(&format!("{text}[sizes.a]\nfault.at = \"1s\"\n"), &[]),
    ];
    for error in elsewhere {
        assert!(error.contains("[[fault]]"), "{error}");
    }
}

#[test]
fn numbers_reach_every_member_of_every_cluster() {
    let kill = |member| {
        said(
            "asynchronous",
            3,
            &[&format!("at = \"1s\"; kill = {member}")],
        )
    };
    assert_eq!(kill(6), "");
    assert!(kill(7).contains("the trial has 6"), "{}", kill(7));
}

/// What is said of faults in a cluster of two instances; nothing if they can happen.
fn said(cluster: &str, members: u32, faults: &[&str]) -> String {
    let topology = format!("{{ cluster = \"{cluster}\", members = {members}, instances = 2 }}");
    said_on(&format!("topology = {topology}"), faults)
}

/// The same of servers with these keys.
fn said_on(keys: &str, faults: &[&str]) -> String {
    let mut text = format!("title = \"t\"\nserver.engine = \"postgres\"\n{keys}\n");
    for fault in faults {
        text.push_str(&format!("[[fault]]\n{}\n", fault.replace("; ", "\n")));
    }
    let study = study::Study::parse("s.toml", &text, engine::catalog());
    study.err().map_or_else(String::new, |error| {
        error.problems().iter().map(|p| p.message.clone()).collect()
    })
}

#[test]
fn two_faults_of_one_server_do_not_overlap() {
    let first = "at = \"5s\"; pause = 2; heal = \"6s\"";
    let at_once = |second| said("asynchronous", 3, &[first, second]).contains("same target");
    assert!(at_once("at = \"10s\"; kill = 2"));
    assert!(at_once("at = \"1s\"; kill = 2; heal = \"never\""));
    assert!(at_once("at = \"10s\"; restart = 2"));
    assert!(!at_once("at = \"11s\"; kill = 2"));
    assert!(!at_once("at = \"10s\"; kill = 3"));
    assert!(!at_once("at = \"10s\"; kill = 5"));
    assert!(!at_once(
        "at = \"10s\"; command = [\"x\"]; target = 2; heal_command = [\"y\"]"
    ));
    // The study itself starts a server again that is never healed.
    let never = "at = \"5s\"; kill = \"primary\"; heal = \"never\"";
    let restart = "at = \"10s\"; restart = \"primary\"";
    assert_eq!(said("asynchronous", 3, &[never, restart]), "");
    // Without an election, the primary remains what it was.
    let again = "at = \"20s\"; kill = \"primary\"";
    assert!(said("asynchronous", 3, &[never, again]).contains("same target"));
}

#[test]
fn a_cluster_keeps_its_quorum_unless_the_outage_is_expected() {
    let kill = "at = \"5s\"; kill = \"replica\"; heal = \"never\"";
    let second = "at = \"20s\"; kill = 3; heal = \"never\"";
    let leaves = |cluster, members, faults: &[&str]| {
        let said = said(cluster, members, faults);
        assert!(
            said.is_empty() || said.starts_with("this fault leaves"),
            "{said}"
        );
        !said.is_empty()
    };
    assert!(!leaves("asynchronous", 2, &[kill]));
    assert!(leaves("synchronous", 2, &[kill]));
    assert!(!leaves("synchronous", 3, &[kill]));
    assert!(leaves("synchronous", 3, &[kill, second]));
    assert!(!leaves("quorum", 3, &[kill]));
    assert!(leaves("quorum", 3, &[kill, second]));
    assert!(!leaves("quorum", 5, &[kill, second]));
    let expected = format!("{second}; expect_outage = true");
    assert!(!leaves("quorum", 3, &[kill, &expected]));
    // Of the other instance, or healed by then.
    assert!(!leaves(
        "quorum",
        3,
        &[
            "at = \"5s\"; kill = 1; heal = \"never\"",
            &second.replace('3', "6")
        ]
    ));
    let restart = "at = \"10s\"; restart = \"replica\"";
    assert!(!leaves("quorum", 3, &[kill, restart, second]));
    // A cluster of one has no quorum while its member restarts.
    assert!(leaves(
        "asynchronous",
        1,
        &["at = \"5s\"; restart = \"primary\""]
    ));
    let healed = "at = \"5s\"; kill = \"replica\"";
    assert!(!leaves("quorum", 3, &[healed, second]));
}

/// Servers that are running already are broken only by a command of the study's.
#[test]
fn a_command_is_for_any_server() {
    let given = |rest: &str| {
        let text = format!(
            "title = \"t\"\nserver.url = \"postgres://u@a,b:5433/d\"\n[[fault]]\nat = \"1s\"\n{rest}\n"
        );
        let study = study::Study::parse("s.toml", &text, engine::catalog());
        study
            .map(|_| ())
            .map_err(|error| error.problems()[0].message.clone())
    };
    assert_eq!(given("command = [\"x\"]\ntarget = \"replica\""), Ok(()));
    assert_eq!(given("command = [\"x\"]\ntarget = 2"), Ok(()));
    let third = given("command = [\"x\"]\ntarget = 3").unwrap_err();
    assert!(third.contains("the trial has 2"), "{third}");
    let kill = given("kill = \"primary\"").unwrap_err();
    assert!(kill.contains("only servers that it started"), "{kill}");
}

#[test]
fn only_devices_of_a_volume_fail() {
    const FAIL: &str = "at = \"1s\"; fail_device = \"primary\"; device = 2; heal = \"5s\"";
    const REPLACE: &str = "at = \"10s\"; replace_device = \"primary\"; device = 2";
    let made = "volume.filesystem = \"btrfs\"\nvolume.devices = 2";
    assert_eq!(said_on(made, &[FAIL, REPLACE]), "");
    let swept = "volume.filesystem = \"btrfs\"\n[sweep]\n\"volume.devices\" = [2, 1]";
    assert!(said_on(swept, &[FAIL]).contains("no device 2"));
    let one_of_two =
        "volume.filesystem = \"btrfs\"\n[sweep]\n\"volume.filesystem\" = [\"btrfs\", \"xfs\"]";
    let scrub = "at = \"1s\"; scrub = 1";
    assert!(said_on(one_of_two, &[scrub]).contains("needs a btrfs volume"));
    assert!(said_on("volume.directory = \"/mnt\"", &[FAIL]).contains("loop devices"));
    let named = "volume.filesystem = \"btrfs\"\nvolume.device = \"/dev/sdx\"\n\
                 volume.allow_format = [\"/dev/sdx\"]";
    assert!(said_on(named, &[&FAIL.replace('2', "1")]).contains("loop devices"));
    assert_eq!(said_on(named, &[scrub]), "");
    // The log has devices of its own.
    let of_log = FAIL.replace("device = 2", "device = 2; volume = \"log\"");
    assert!(said_on(made, &[&of_log]).contains("no volume of its own"));
    let log = "log_volume.filesystem = \"btrfs\"\nlog_volume.devices = ";
    assert_eq!(said_on(&format!("{log}2"), &[&of_log]), "");
    assert!(said_on(&format!("{made}\n{log}1"), &[&of_log]).contains("no device 2"));
    let killed = "at = \"1s\"; kill = 1; volume = \"log\"";
    assert!(said_on(made, &[killed]).contains("no effect"));
}

/// A device that failed for good may be replaced; one that comes back may not, before it does.
#[test]
fn a_failed_device_is_replaced_once() {
    let made = "volume.filesystem = \"btrfs\"\nvolume.devices = 2";
    let fail = |heal| format!("at = \"1s\"; fail_device = 1; heal = \"{heal}\"");
    let replace = "at = \"5s\"; replace_device = 1";
    assert_eq!(said_on(made, &[&fail("never"), replace]), "");
    assert!(said_on(made, &[&fail("9s"), replace]).contains("same target"));
}
