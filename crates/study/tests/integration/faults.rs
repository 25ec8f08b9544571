//! `[[fault]]`: what is broken during the measurement.

use crate::common::{SMALLEST, fails, plan};
use plan::{Fault, FaultTarget, Trial};
use study::fault_toml;

const CLUSTER: &str =
    "title = \"t\"\nserver.engine = \"postgres\"\ntopology.cluster = \"asynchronous\"\n";

fn faults(text: &str) -> Vec<Fault> {
    of(&format!("{CLUSTER}{text}"))
}

/// The faults of the first trial.
fn of(text: &str) -> Vec<Fault> {
    plan(text, &[]).trials.remove(0).topology.faults
}

/// How faults are shown, which tells all that is in them.
fn shown(text: &str) -> Vec<String> {
    faults(text).iter().map(Fault::to_string).collect()
}

#[test]
fn faults_are_those_of_every_trial_in_order_of_time() {
    let text = format!(
        "{CLUSTER}load.repeats = 2\n[[fault]]\nat = \"40s\"\nrestart = 2\n\
         [[fault]]\nat = \"1500ms\"\nkill = \"primary\"\nheal = \"never\"\n\
         [[fault]]\nat = \"20s\"\npause = \"replica\"\nheal = \"500ms\"\n"
    );
    let wanted = [
        "at 1s500ms: kill primary, never healed",
        "at 20s: pause replica, healed after 500ms",
        "at 40s: restart server 2",
    ];
    let plan = self::plan(&text, &[]);
    assert_eq!(plan.trials.len(), 2);
    for trial in &plan.trials {
        let faults = trial.topology.faults.iter().map(Fault::to_string);
        assert_eq!(faults.collect::<Vec<_>>(), wanted);
    }
    assert!(of(SMALLEST).is_empty());
}

/// Rejoining is measured by default, and what is over at once is not healed.
#[test]
fn what_lasts_is_healed_after_ten_seconds() {
    for kind in ["kill", "stop", "pause"] {
        let shown = shown(&format!("[[fault]]\nat = \"1s\"\n{kind} = \"primary\"\n"));
        assert_eq!(shown, [format!("at 1s: {kind} primary, healed after 10s")]);
    }
    let over = faults("[[fault]]\nat = \"1s\"\nswitchover = \"replica\"\n");
    assert_eq!(over[0].healed_at(), None);
}

#[test]
fn a_command_has_a_target_and_is_healed_by_a_command() {
    let text = "[[fault]]\nat = \"1s\"\ncommand = [\"cut\", \"it\"]\n";
    assert_eq!(shown(text), ["at 1s: command `cut it` on primary"]);
    let text = format!("{text}heal_command = [\"mend\"]\ntarget = 3\n");
    let healed = faults(&text).remove(0);
    assert_eq!(
        healed.to_string(),
        "at 1s: command `cut it` on server 3, healed after 10s"
    );
    assert_eq!(healed.action.options().heal_command, ["mend"]);
}

/// Sides, a bridge, a loss, and a rolling restart are read, shown, and written out again.
#[test]
fn a_partition_has_sides_and_a_link_loses_packets() {
    let text = "topology.members = 5\ntopology.network = \"namespaces\"\n\
        [[fault]]\nat = \"1s\"\npartition = \"primary\"\nwith = [\"replica\", 3]\nbridge = 5\n\
        [[fault]]\nat = \"20s\"\nslow_link = \"primary\"\nloss = \"2.5%\"\nseed = 7\n\
        [[fault]]\nat = \"40s\"\nrestart = \"all\"\n";
    let found = faults(text);
    assert_eq!(
        shown(text),
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
    let of = |text: &str| self::of(&format!("{SMALLEST}{text}"));
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
    for (elsewhere, way_out) in [
        (
            "[[variant]]\nname = \"a\"\n[[variant.fault]]\nat = \"1s\"\n",
            "[[fault]]",
        ),
        ("[sizes.a]\nfault.at = \"1s\"\n", "[[sizes.a.fault]]"),
    ] {
        let error = fails(&format!("{text}{elsewhere}"), &[]);
        assert!(error.contains(way_out), "{error}");
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
    said_of(&format!("server.engine = \"postgres\"\n{keys}"), faults)
}

fn said_of(keys: &str, faults: &[&str]) -> String {
    let mut text = format!("title = \"t\"\n{keys}\n");
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
    for (second, at_once) in [
        ("at = \"10s\"; kill = 2", true),
        ("at = \"1s\"; kill = 2; heal = \"never\"", true),
        ("at = \"10s\"; restart = 2", true),
        ("at = \"11s\"; kill = 2", false),
        ("at = \"10s\"; kill = 3", false),
        ("at = \"10s\"; kill = 5", false),
        (
            "at = \"10s\"; command = [\"x\"]; target = 2; heal_command = [\"y\"]",
            false,
        ),
    ] {
        let said = said("asynchronous", 3, &[first, second]);
        assert_eq!(said.contains("same target"), at_once, "{second}: {said}");
    }
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
    let expected = format!("{second}; expect_outage = true");
    let restart = "at = \"10s\"; restart = \"replica\"";
    let elsewhere = [
        "at = \"5s\"; kill = 1; heal = \"never\"",
        &second.replace('3', "6"),
    ];
    let healed = "at = \"5s\"; kill = \"replica\"";
    let alone = "at = \"5s\"; restart = \"primary\"";
    for (cluster, members, faults, is_lost) in [
        ("asynchronous", 2, &[kill][..], false),
        ("synchronous", 2, &[kill], true),
        ("synchronous", 3, &[kill], false),
        ("synchronous", 3, &[kill, second], true),
        ("quorum", 3, &[kill], false),
        ("quorum", 3, &[kill, second], true),
        ("quorum", 5, &[kill, second], false),
        ("quorum", 3, &[kill, &expected], false),
        // Of the other instance, or healed by then.
        ("quorum", 3, &elsewhere, false),
        ("quorum", 3, &[kill, restart, second], false),
        ("quorum", 3, &[healed, second], false),
        // A cluster of one has no quorum while its member restarts.
        ("asynchronous", 1, &[alone], true),
    ] {
        let said = said(cluster, members, faults);
        assert!(
            said.is_empty() || said.starts_with("this fault leaves"),
            "{said}"
        );
        assert_eq!(
            !said.is_empty(),
            is_lost,
            "{cluster} of {members}: {faults:?}"
        );
    }
}

/// Servers that are running already are broken only by a command of the study's.
#[test]
fn a_command_is_for_any_server() {
    for (fault, wrong) in [
        ("command = [\"x\"]; target = \"replica\"", ""),
        ("command = [\"x\"]; target = 2", ""),
        ("command = [\"x\"]; target = 3", "the trial has 2"),
        ("kill = \"primary\"", "only servers that it started"),
    ] {
        let said = said_of(
            "server.url = \"postgres://u@a,b:5433/d\"",
            &[&format!("at = \"1s\"; {fault}")],
        );
        assert!(
            said.contains(wrong) && said.is_empty() == wrong.is_empty(),
            "{said}"
        );
    }
}

#[test]
fn only_devices_of_a_volume_fail() {
    const FAIL: &str = "at = \"1s\"; fail_device = \"primary\"; device = 2; heal = \"5s\"";
    const REPLACE: &str = "at = \"10s\"; replace_device = \"primary\"; device = 2";
    let made = "volume.filesystem = \"btrfs\"\nvolume.devices = 2";
    assert_eq!(said_on(made, &[FAIL, REPLACE]), "");
    let swept = "volume.filesystem = \"btrfs\"\n[sweep]\n\"volume.devices\" = [2, 1]";
    let one_of_two =
        "volume.filesystem = \"btrfs\"\n[sweep]\n\"volume.filesystem\" = [\"btrfs\", \"xfs\"]";
    let scrub = "at = \"1s\"; scrub = 1";
    let named = "volume.filesystem = \"btrfs\"\nvolume.device = \"/dev/sdx\"\n\
                 volume.allow_format = [\"/dev/sdx\"]";
    // The log has devices of its own.
    let of_log = FAIL.replace("device = 2", "device = 2; volume = \"log\"");
    let log =
        |devices| format!("log_volume.filesystem = \"btrfs\"\nlog_volume.devices = {devices}");
    for (keys, fault, wrong) in [
        (swept, FAIL, "no device 2"),
        (one_of_two, scrub, "needs a btrfs volume"),
        ("volume.directory = \"/mnt\"", FAIL, "loop devices"),
        (named, &FAIL.replace('2', "1"), "loop devices"),
        (made, &of_log, "no volume of its own"),
        (&format!("{made}\n{}", log(1)), &of_log, "no device 2"),
        (made, "at = \"1s\"; kill = 1; volume = \"log\"", "no effect"),
    ] {
        let said = said_on(keys, &[fault]);
        assert!(said.contains(wrong), "{keys}, {fault}: {said}");
    }
    assert_eq!(said_on(named, &[scrub]), "");
    assert_eq!(said_on(&log(2), &[&of_log]), "");
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
