mod page;

use engine::checks::Demand;
use host::{Chrony, IdleState, PowerSetting, RequestQueue, StackedDevice};
use measure::finding::Level::{self, Note, Passed, Severe, Unknown, Warning};
use measure::finding::check::{Observed, note, passed, severe, warning};
use measure::result::Disk;

use super::storage::DataStorage;
use super::*;
use crate::site::{Site, ThisHost};
use page::{families, server_checks};

/// Checks that pass on a machine where nothing can be read.
const FIXED: [&str; 10] = [
    "battery",
    "open-files",
    "processes",
    "virtualization",
    "virtual-devices",
    "cgroup-cpu",
    "server-quota",
    "cgroup-memory",
    "cgroup-io",
    "time-sync",
];

/// What a check observes on a machine about which nothing is known except what `set` sets.
fn observed(id: &str, set: impl FnOnce(&mut Machine)) -> Observed {
    let mut machine = Machine::default();
    set(&mut machine);
    let mut checks = FAMILIES.iter().flat_map(|(_, checks)| *checks);
    let check = checks.find(|check| check.about.id == id).unwrap();
    (check.judge)(&machine)
}

fn level(id: &str, set: impl FnOnce(&mut Machine)) -> Level {
    observed(id, set).level()
}

/// The levels that a check gives a machine with each of these values.
fn levels<T, const N: usize>(
    id: &str,
    values: [T; N],
    set: impl Fn(&mut Machine, T),
) -> [Level; N] {
    values.map(|value| level(id, |machine| set(machine, value)))
}

/// What servers with pools of this size require.
fn pools(pool_bytes: u64) -> Option<Requirements> {
    Some(Requirements {
        pool_bytes,
        ..Requirements::default()
    })
}

#[test]
fn every_check_of_this_host_has_a_finding_worst_first() {
    let directories = [PathBuf::from("/")];
    let host = ThisHost::default();
    let findings = examine(&Subject {
        directories: &directories,
        ..Subject::host(host.files())
    });
    let all: usize = families().iter().map(|(_, checks)| checks.len()).sum();
    assert_eq!(findings.len(), all - server_checks().len());
    assert!(findings.is_sorted_by_key(|finding| finding.level));
    assert!(findings.iter().all(|finding| !finding.observed.is_empty()));
}

#[test]
fn names_of_checks_are_unique_and_each_is_explained() {
    let mut names: Vec<&str> = Vec::new();
    for about in families().iter().flat_map(|(_, checks)| checks) {
        let is_explained = about.why.ends_with('.') && !about.source.is_empty();
        assert!(!names.contains(&about.id) && is_explained, "{}", about.id);
        assert!(about.worst <= Note, "{}", about.id);
        names.push(about.id);
    }
}

#[test]
fn a_machine_without_files_passes_only_what_it_cannot_have() {
    for check in FAMILIES.iter().flat_map(|(_, checks)| *checks) {
        let id = check.about.id;
        let level = (check.judge)(&Machine::default()).level();
        assert_eq!(level != Unknown, FIXED.contains(&id), "{id}");
    }
}

#[test]
fn activity_of_others() {
    let others = levels("other-load", [0.5, 6.0, 15.0], |m, share| {
        m.activity.others_pct = Some(share);
    });
    assert_eq!(others, [Passed, Warning, Severe]);
    let steal = levels("steal", [0.0, 2.0, 5.0], |m, share| {
        m.activity.steal_pct = Some(share);
    });
    assert_eq!(steal, [Passed, Warning, Severe]);
    let swapping = levels("swapping", [0, 1], |m, pages| {
        m.activity.swapped_pages = Some(pages);
    });
    assert_eq!(swapping, [Passed, Severe]);
    let disks = levels("disk-busy", [0.0, 20.0, 90.0], |m, share| {
        m.activity.disks = vec![("vda".into(), 0.3), ("vdb".into(), share)];
    });
    assert_eq!(disks, [Passed, Warning, Severe]);
    let load = levels("load-average", [0.1, 1.5], |m, load| {
        (m.activity.cpus, m.activity.load_1m) = (2, Some(load));
    });
    assert_eq!(load, [Passed, Note]);
}

#[test]
fn the_busiest_processes_are_named() {
    let busy = observed("other-load", |m| {
        (m.activity.seconds, m.activity.cpus) = (1.0, 2);
        m.activity.others_pct = Some(31.0);
        m.activity.busiest = vec![("rustc (4711)".into(), 60.0), ("sshd (2)".into(), 2.0)];
    });
    let words = "/proc/stat: other processes used 31 % of 2 CPUs for 1.0 s; \
                 busiest: rustc (4711) 60 % of one CPU, sshd (2) 2 % of one CPU";
    assert_eq!(busy, severe(words));
}

#[test]
fn governors() {
    for (governors, driver, expected) in [
        ("performance", "acpi-cpufreq", Passed),
        ("performance schedutil", "acpi-cpufreq", Warning),
        ("powersave", "intel_pstate", Warning),
        ("powersave", "acpi-cpufreq", Severe),
    ] {
        let level = level("cpu-governor", |m| {
            m.facts.cpu.governors = governors.split(' ').map(str::to_owned).collect();
            m.facts.cpu.driver = Some(driver.to_owned());
        });
        assert_eq!(level, expected, "{governors} {driver}");
    }
}

#[test]
fn the_remedy_for_turbo_depends_on_the_driver() {
    let with = |on, file: &str| {
        let turbo = Some((on, file.to_owned()));
        observed("cpu-turbo", |m| m.facts.cpu.turbo = turbo)
    };
    assert_eq!(with(false, "/x/boost").level(), Passed);
    for (file, value) in [("/x/no_turbo", 1), ("/x/boost", 0)] {
        let on = warning(format!("{file}: turbo is on"));
        assert_eq!(with(true, file), on.with("VALUE", value).with("FILE", file));
    }
}

#[test]
fn only_the_deepest_enabled_idle_state_counts() {
    let state = |name: &str, exit_us, is_disabled| IdleState {
        name: name.to_owned(),
        exit_us,
        is_disabled,
        file: format!("/{name}/latency"),
    };
    let with = |idle: &[IdleState]| {
        let idle = idle.to_vec();
        observed("cpu-idle-states", |m| m.facts.cpu.idle = idle)
    };
    let [light, deep] = [state("C1", 2, false), state("C6", 133, false)];
    let words = "/C6/latency: 133 µs to wake from C6";
    assert_eq!(with(&[light.clone(), deep]), warning(words));
    let disabled = state("C6", 133, true);
    assert_eq!(with(&[light, disabled.clone()]).level(), Passed);
    assert_eq!(with(&[disabled]).level(), Passed);
}

fn power(settings: &[(&str, &str, &str)]) -> Observed {
    let setting = |(file, all, value): &(&str, &str, &str)| PowerSetting {
        file: (*file).to_owned(),
        value: (*value).to_owned(),
        all_files: (*all).to_owned(),
    };
    let settings = settings.iter().map(setting).collect();
    observed("power-saving", |m| m.facts.cpu.power = settings)
}

#[test]
fn the_remedy_for_power_saving_covers_all_cpus() {
    let settings = [
        ("/cpu0", "/cpu*", "performance"),
        ("/cpu1", "/cpu*", "default"),
        ("/cpu5", "/cpu*", "power"),
        ("/profile", "/profile", "balanced"),
    ];
    let expected = severe("/cpu1: default, /cpu5: power, /profile: balanced");
    assert_eq!(power(&settings), expected.with("FILES", "/cpu* /profile"));
    for (value, level) in [
        ("performance", Passed),
        ("0", Passed),
        ("balance_performance", Warning),
        ("balanced-performance", Warning),
        ("200", Warning),
        ("low-power", Severe),
    ] {
        assert_eq!(power(&[("/f", "/f", value)]).level(), level, "{value}");
    }
}

#[test]
fn batteries_and_numa_nodes() {
    let battery = levels("battery", [Some(true), Some(false), None], |m, on| {
        m.facts.cpu.on_battery = on;
    });
    assert_eq!(battery, [Severe, Passed, Passed]);
    let machines = [(1, 1), (2, 1), (2, 0)];
    for (id, expected) in [
        ("numa-nodes", [Passed, Note, Note]),
        ("numa-balancing", [Passed, Warning, Passed]),
    ] {
        let found = levels(id, machines, |m, (nodes, balancing)| {
            m.facts.cpu.numa_nodes = Some(nodes);
            m.facts.cpu.numa_balancing = Some(balancing);
        });
        assert_eq!(found, expected, "{id}");
    }
}

#[test]
fn vulnerabilities_are_named() {
    let with = |states: &[(&str, &str)]| {
        let owned = |(name, state): &(&str, &str)| ((*name).to_owned(), (*state).to_owned());
        let states = states.iter().map(owned).collect();
        observed("cpu-mitigations", |m| {
            m.facts.cpu.vulnerabilities = Some(states)
        })
    };
    assert_eq!(with(&[("meltdown", "Not affected")]).level(), Passed);
    let both = with(&[("mds", "Mitigation: Clear"), ("srbds", "Vulnerable")]);
    let words = "/sys/devices/system/cpu/vulnerabilities: mitigated: mds; not mitigated: srbds";
    assert_eq!(both, note(words));
}

#[test]
fn settings_for_memory() {
    let huge = levels(
        "transparent-huge-pages",
        ["always", "madvise", "never"],
        |m, choice| m.facts.memory.transparent_hugepages = Some(choice.to_owned()),
    );
    assert_eq!(huge, [Warning, Passed, Passed]);
    let used = levels("swap-used", [0, 4096], |m, bytes| {
        m.facts.memory.swap_used_bytes = Some(bytes);
    });
    assert_eq!(used, [Passed, Warning]);
    let values = [(60, 0), (60, 1 << 30), (10, 1 << 30)];
    let swappiness = levels("swappiness", values, |m, (value, swap_bytes)| {
        m.facts.memory.swappiness = Some(value);
        m.facts.memory.swap_bytes = Some(swap_bytes);
    });
    assert_eq!(swappiness, [Passed, Warning, Passed]);
    let overcommit = levels("overcommit", [0, 2], |m, policy| {
        m.facts.memory.overcommit = Some(policy);
    });
    assert_eq!(overcommit, [Passed, Warning]);
    let dirty = levels("dirty-pages", [1 << 30, 8 << 30], |m, bytes| {
        m.facts.memory.dirty_bytes = Some(bytes);
    });
    assert_eq!(dirty, [Passed, Note]);
}

#[test]
fn buffer_pools_must_fit() {
    let cases = [
        (0, Some(100)),
        (80, Some(100)),
        (95, Some(100)),
        (101, Some(100)),
        (1, None),
    ];
    let found = levels("memory-for-servers", cases, |m, (pool_bytes, available)| {
        m.facts.memory.available_bytes = available;
        m.required = pools(pool_bytes);
    });
    assert_eq!(found, [Passed, Passed, Warning, Severe, Unknown]);
}

#[test]
fn limits_of_control_groups() {
    let with = |id: &str, pool_bytes| {
        observed(id, |m| {
            m.facts.limits.groups = [
                ("cpu.max", "50000 100000"),
                ("memory.max of /a", "1073741824"),
                ("io.max", "254:0 riops=100"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
            m.required = pools(pool_bytes);
        })
    };
    for id in ["cgroup-cpu", "cgroup-io"] {
        assert_eq!(with(id, 0).level(), Warning, "{id}");
    }
    let expected = note("memory.max of /a: 1073741824 (1.0 GiB)");
    assert_eq!(with("cgroup-memory", 0), expected);
    let levels = [1 << 29, 1 << 30].map(|pools| with("cgroup-memory", pools).level());
    assert_eq!(levels, [Warning, Severe]);
}

#[test]
fn virtual_machines() {
    let drives = |virtualization: Option<&str>| {
        let virtualization = virtualization.map(str::to_owned);
        ["virtualization", "virtual-devices"].map(|id| {
            level(id, |m| {
                m.facts.virtualization.clone_from(&virtualization);
                m.facts.removable_drives = vec!["sr0".into()];
            })
        })
    };
    assert_eq!(drives(None), [Passed; 2]);
    assert_eq!(drives(Some("KVM")), [Note; 2]);
}

#[test]
fn a_quota_of_more_cpus_than_the_machine_has_is_a_finding() {
    let with = |cpu_thousandths| {
        observed("server-quota", |m| {
            m.facts.limits.cpus = Some(2);
            m.required = Some(Requirements {
                cpu_thousandths,
                ..Requirements::default()
            });
        })
    };
    let found = [0, 2000].map(|required| with(required).level());
    assert_eq!(found, [Passed; 2]);
    assert_eq!(with(2500), warning("site.cpus: 2.5 of 2 CPUs"));
}

#[test]
fn variants_that_take_turns_require_the_pools_of_all() {
    let text = "title = 't'\nserver.engine = 'mariadb'\n[load]\nworkload = 'oltp_point_select'\n\
        [compare]\nstarts = 2\nalternate = 'always'\n\
        [[variant]]\nname = 'small'\n\"server.config.innodb_buffer_pool_size\" = '1G'\n\
        [[variant]]\nname = 'large'\n\"server.config.innodb_buffer_pool_size\" = '3G'\n";
    let study = study::Study::parse("test", text, engine::catalog()).unwrap();
    let trials = study.plan().trials.into_iter().map(|planned| {
        let plan::ServerSpec::Engine(spec) = planned.server.clone() else {
            panic!("{planned:?}");
        };
        Trial {
            target: crate::Target::Private(spec),
            planned,
            ..crate::for_tests::trial()
        }
    });
    let trials: Vec<Trial> = trials.collect();
    assert_eq!(trials.len(), 4);
    for trial in &trials {
        let required = Requirements::at_once(trial, &trials, false);
        assert_eq!(
            (required.private_servers, required.pool_bytes),
            (2, 4 << 30)
        );
    }
}

fn required(users: u64, tables: u64, servers: u64) -> Option<Requirements> {
    Some(Requirements {
        server: Demand {
            users,
            tables,
            ..Demand::default()
        },
        load_files: users * servers.max(1),
        private_servers: servers,
        ..Requirements::default()
    })
}

#[test]
fn open_files_of_dyno_and_of_a_server() {
    let with = |open_files, required| {
        observed("open-files", |m| {
            (m.facts.limits.open_files, m.required) = (open_files, required);
        })
    };
    assert_eq!(with(Some(1024), required(100, 4, 0)).level(), Passed);
    assert_eq!(with(Some(1024), required(200, 4, 5)).level(), Severe);
    assert_eq!(with(Some(1024), required(10, 4000, 1)).level(), Severe);
    assert_eq!(with(None, required(1000, 4, 0)).level(), Passed);
    let expected = passed("/proc/self/limits: 10 open files");
    assert_eq!(with(Some(10), None), expected);
    let expected = severe("/proc/self/limits: 1024 open files; the load needs 1320");
    let wanted = expected.with("NEEDED", 1320);
    assert_eq!(with(Some(1024), required(1000, 4, 0)), wanted);
}

#[test]
fn threads_of_all_servers_against_the_lower_limit() {
    let cases = [
        (Some(4096), None, 8),
        (Some(4096), Some(1000), 8),
        (Some(1000), Some(4096), 8),
        (Some(1000), None, 0),
        (None, None, 8),
    ];
    let found = levels("processes", cases, |m, (account, group, servers)| {
        let group = group.map(|limit: u64| ("pids.max of /a".to_owned(), limit.to_string()));
        m.facts.limits.processes = account;
        m.facts.limits.groups = group.into_iter().collect();
        m.required = required(100, 1, servers);
    });
    assert_eq!(found, [Passed, Severe, Severe, Passed, Passed]);
}

#[test]
fn ports_for_connections_to_one_server() {
    let loads = [(10_000, 8), (30_000, 0)];
    let found = levels("local-ports", loads, |m, (users, servers)| {
        m.facts.limits.ports = Some((32768, 60999));
        m.required = required(users, 1, servers);
    });
    assert_eq!(found, [Passed, Severe]);
}

#[test]
fn clock_sources_that_need_a_system_call_are_slow() {
    let with = |source: &str, available: &str| {
        observed("clock-source", |m| {
            m.facts.timekeeping.source = Some(source.to_owned());
            m.facts.timekeeping.available = Some(available.to_owned());
        })
    };
    for (source, level) in [("tsc", Passed), ("kvm-clock", Passed), ("acpi_pm", Severe)] {
        assert_eq!(with(source, "tsc hpet").level(), level, "{source}");
    }
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    // Only an available clock source is suggested.
    for (available, fast) in [("hpet tsc acpi_pm", "tsc"), ("kvm-clock hpet", "kvm-clock")] {
        let expected = severe(format!("{file}: hpet; available: {available}"));
        assert_eq!(with("hpet", available), expected.with("SOURCE", fast));
    }
    let none = format!("{:?}", with("hpet", "hpet acpi_pm"));
    assert!(
        none.contains("measure on another machine") && !none.contains("SOURCE"),
        "{none}"
    );
}

fn synchronized_by(service: &str, chrony: Option<Chrony>) -> Observed {
    observed("time-sync", |m| {
        m.facts.timekeeping.service = Some(service.to_owned());
        m.facts.timekeeping.chrony = chrony;
    })
}

#[test]
fn services_that_step_the_clock_are_noted() {
    assert_eq!(level("time-sync", |_| {}), Note);
    for (service, level) in [
        ("systemd-timesyn", Note),
        ("ntpd", Note),
        ("ntp-daemon", Note),
        ("openntpd", Passed),
        ("ptp4l", Passed),
    ] {
        assert_eq!(synchronized_by(service, None).level(), level, "{service}");
    }
    let timesyncd = format!("{:?}", synchronized_by("systemd-timesyn", None));
    assert!(timesyncd.contains("0.4 s"), "{timesyncd}");
}

#[test]
fn chrony_steps_as_configured() {
    let configured = |makestep: Option<&str>| {
        let file = "/etc/chrony.conf".to_owned();
        let chrony = Chrony {
            makestep: makestep.map(|line| (line.to_owned(), file.clone())),
            file,
            unread: None,
        };
        synchronized_by("chronyd", Some(chrony)).level()
    };
    let levels = [None, Some("makestep 1 3"), Some("makestep 1 -1")].map(configured);
    assert_eq!(levels, [Passed, Passed, Note]);
    assert_eq!(synchronized_by("chronyd", None).level(), Unknown);
    let closed = Chrony {
        unread: Some("/etc/chrony.conf".into()),
        ..Chrony::default()
    };
    assert_eq!(synchronized_by("chronyd", Some(closed)).level(), Unknown);
}

/// A file system at /srv on disks with the given schedulers.
fn storage(file_system: &str, options: &str, disks: &[(&str, &str)]) -> DataStorage {
    let disk = |(name, scheduler): &(&str, &str)| Disk {
        name: (*name).to_owned(),
        scheduler: Some((*scheduler).to_owned()),
        ..Disk::default()
    };
    let mut data = DataStorage {
        system_disks: vec!["sda".into()],
        disks: 2,
        ..DataStorage::default()
    };
    let storage = &mut data.storage;
    storage.described.mount_point = Some("/srv".into());
    storage.described.file_system = Some(file_system.into());
    storage.described.options = Some(options.into());
    storage.described.disks = disks.iter().map(disk).collect();
    (storage.free_bytes, storage.total_bytes) = (Some(50), Some(100));
    storage.queues = vec![queue("/nr_requests", 128, None)];
    data
}

fn sound() -> DataStorage {
    storage("ext4", "rw,noatime", &[("sdb", "mq-deadline")])
}

fn queue(file: &str, depth: u64, max: Option<u64>) -> RequestQueue {
    RequestQueue {
        file: file.into(),
        depth,
        max,
    }
}

fn of_storage(id: &str, data: &DataStorage) -> Observed {
    let check = storage::CHECKS.iter().find(|check| check.about.id == id);
    (check.unwrap().judge)(data)
}

#[test]
fn a_dedicated_disk_passes_and_a_missing_one_is_unknown() {
    for check in storage::CHECKS {
        let (id, judge) = (check.about.id, check.judge);
        assert_eq!(judge(&sound()).level(), Passed, "{id}");
        assert_eq!(judge(&DataStorage::default()).level(), Unknown, "{id}");
    }
}

#[test]
fn file_systems() {
    for (name, level) in [
        ("tmpfs", Severe),
        ("overlay", Warning),
        ("fuse.sshfs", Warning),
        ("fuseblk", Warning),
        ("nfs4", Warning),
        ("btrfs", Note),
        ("xfs", Passed),
        ("ext4", Passed),
    ] {
        let data = storage(name, "rw", &[]);
        assert_eq!(of_storage("file-system", &data).level(), level, "{name}");
    }
}

#[test]
fn mount_options() {
    for (options, expected) in [
        ("rw,relatime", [Passed; 4]),
        ("rw,nobarrier", [Warning, Severe, Passed, Passed]),
        ("rw,noatime,barrier=0", [Passed, Severe, Passed, Passed]),
        ("rw,noatime,data=journal", [Passed, Passed, Warning, Passed]),
        (
            "rw,noatime,data=writeback,discard",
            [Passed, Passed, Note, Note],
        ),
    ] {
        let data = storage("ext4", options, &[]);
        let ids = ["atime", "barrier", "journal", "discard"];
        let levels = ids.map(|id| of_storage(&format!("mount-{id}"), &data).level());
        assert_eq!(levels, expected, "{options}");
    }
    let data = storage("ext4", "rw,nobarrier,noatime", &[]);
    let expected = severe("ext4 at /srv: nobarrier").with("MOUNT", "/srv");
    assert_eq!(of_storage("mount-barrier", &data), expected);
}

#[test]
fn free_space() {
    let needing = |needed_bytes| {
        let mut data = sound();
        data.needed_bytes = needed_bytes;
        of_storage("disk-free", &data).level()
    };
    let levels = [0, 40, 41, 51].map(needing);
    assert_eq!(levels, [Passed, Passed, Warning, Severe]);
}

#[test]
fn every_fair_scheduler_is_replaced() {
    let with = |disks: &[(&str, &str)]| of_storage("io-scheduler", &storage("ext4", "rw", disks));
    let file = |disk: &str| format!("/sys/block/{disk}/queue/scheduler");
    let (c, d) = (file("sdc"), file("sdd"));
    assert_eq!(
        with(&[("sdb", "none"), ("sdc", "bfq"), ("sdd", "bfq")]),
        severe(format!("{c}: bfq, {d}: bfq"))
            .with("SCHEDULER", "mq-deadline")
            .with("FILES", format!("{c} {d}"))
    );
    let old = severe(format!("{c}: cfq"));
    let old = old.with("SCHEDULER", "deadline").with("FILES", &c);
    assert_eq!(with(&[("sdc", "cfq")]), old);
    assert_eq!(with(&[("sdb", "kyber")]).level(), Passed);
}

#[test]
fn data_and_system_on_the_same_disk() {
    let shared = storage("ext4", "rw", &[("sda", "none")]);
    assert_eq!(of_storage("data-beside-system", &shared).level(), Warning);
    let only = DataStorage { disks: 1, ..shared };
    assert_eq!(of_storage("data-beside-system", &only).level(), Note);
}

#[test]
fn arrays() {
    let with = |degraded, action: Option<&str>| {
        let mut data = sound();
        data.storage.stacked = vec![StackedDevice {
            name: "md0".into(),
            level: "raid10 of sda, sdb".into(),
            degraded,
            action: action.map(str::to_owned),
        }];
        of_storage("raid", &data)
    };
    let words = "/sys/block/md0: raid10 of sda, sdb";
    assert_eq!(with(0, None), note(words));
    let missing = format!("{words}, missing disks: 1");
    assert_eq!(with(1, None), severe(missing));
    let resync = format!("{words}, resync");
    assert_eq!(with(0, Some("resync")), severe(resync));
}

#[test]
fn the_remedy_for_a_short_queue_stays_within_its_limit() {
    let with = |queues: &[RequestQueue]| {
        let mut data = sound();
        data.storage.queues = queues.to_vec();
        of_storage("queue-depth", &data)
    };
    let [long, scheduled] = [queue("/long", 128, None), queue("/nr_requests", 16, None)];
    let two = note("/nr_requests: depth 16, /queue_depth: depth 1");
    let remedy = "echo 128 > /nr_requests; echo 32 > /queue_depth";
    let sata = queue("/queue_depth", 1, Some(32));
    assert_eq!(with(&[long, scheduled, sata]), two.with_remedy(remedy));
    let one = note("/queue_depth: depth 31");
    let full = with(&[queue("/queue_depth", 31, Some(31))]);
    assert_eq!(full, one.with_remedy("none: this is the device's maximum"));
}

fn finding(id: &str, of: &str) -> Finding {
    Finding {
        id: id.into(),
        of: of.into(),
        level: Note,
        observed: "value".into(),
        why: String::new(),
        source: String::new(),
        remedy: None,
    }
}

#[test]
fn equal_findings_are_merged() {
    let all = ["/a", "/b", "/c", "/d"].map(|of| finding("x", of));
    let mut all = all.to_vec();
    all.push(finding("y", "/a"));
    let merged = merged(all);
    let of: Vec<&str> = merged.iter().map(|finding| finding.of.as_str()).collect();
    assert_eq!(of, ["/a, /b, /c and 1 more", "/a"]);
}
