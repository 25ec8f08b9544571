//! What differs between two sides besides their numbers, and what to know before a comparison is
//! trusted.

use crate::common::platforms::{compare, platform, side, study, unwrapped, variants};
use crate::common::{self, says};
use measure::finding::{Finding, Level};
use measure::setup::Outcome;
use measure::warning::Warning;
use report::Answer;
use report::compare::{IntendedSetting, ResultComparison};
use report::text::Layout;

/// Blocks that all ran one side first do not balance an effect of the order.
#[test]
fn one_order_in_every_block_is_told() {
    let mut study = study(3);
    assert!(!unwrapped(&variants(&study)).contains("in every block"));
    for trial in &mut study.trials {
        trial.setup.planned.number = trial.setup.planned.repeat * 2
            + u32::from(trial.setup.planned.point["variant"] == "HW".into());
    }
    let words = unwrapped(&variants(&study));
    assert!(words.contains("VM ran before HW in every block"), "{words}");
}

#[test]
fn what_is_missing_on_a_side_is_shown_as_missing() {
    let (hardware, mut machine) = (platform(0, 3), platform(1, 3));
    machine
        .trials
        .retain(|trial| trial.setup.planned.load.threads != 16);
    machine.trials[0].outcome = Outcome::Failed {
        reason: "no memory".into(),
    };
    let both = compare(&hardware, &machine);
    let words = unwrapped(&both);
    says(
        &words,
        &[
            "VM has no trials at threads=16.",
            "VM: threads=4, repeat 1 failed, and is excluded: no memory",
            "VM: 9 of 12 planned trials were run",
            "Throughput: -4.84 % (-5.31 to -4.36) on average. 95th",
        ],
    );
    assert!(words.contains("one side has no trial that measured this"));
    let text = both.text(Layout::DEFAULT);
    let line = text.lines().find(|line| line.starts_with("VM tps"));
    says(line.unwrap(), &["–"]);
}

#[test]
fn what_else_differs_is_listed() {
    let (mut hardware, mut machine) = (platform(0, 3), platform(1, 3));
    machine.environment.virtualisation = Some("KVM".into());
    machine.environment.started = "2025-01-01T00:00:00Z".into();
    for (result, pool, port) in [(&mut hardware, "1G", "3501"), (&mut machine, "4G", "3502")] {
        for trial in &mut result.trials {
            let mut instance = common::scale_up::scale_up(1).result.trials[0].instances[0].clone();
            instance.settings = vec![
                ("innodb_buffer_pool_size".into(), pool.into()),
                ("innodb_io_capacity".into(), port.into()),
                ("plugin_dir".into(), format!("/default/{pool}")),
            ];
            trial.instances = vec![instance];
        }
    }
    machine
        .trials
        .iter_mut()
        .for_each(|trial| trial.setup.planned.load.warmup = std::time::Duration::from_secs(99));
    let intended = |name: &str, base: Option<&str>, new: Option<&str>| IntendedSetting {
        name: name.to_owned(),
        base: base.map(str::to_owned),
        new: new.map(str::to_owned),
    };
    let intended = [
        intended("innodb_buffer_pool_size", Some("1G"), Some("4G")),
        intended("plugin_dir", Some("1"), Some("4")),
        // A server reports only what is not its default.
        intended("innodb_flush_log_at_trx_commit", None, Some("1")),
    ];
    let both = ResultComparison::of(&side("HW", &hardware), &side("VM", &machine), &intended);
    let text = both.text(Layout::DEFAULT);
    let (intended, others) = text.split_once("Other differences\n").unwrap();
    let (_, intended) = intended.split_once("Intended differences\n").unwrap();
    assert!(intended.contains("innodb_buffer_pool_size") && !intended.contains("io_capacity"));
    says(intended, &["/default/1G", "/default/4G"]);
    let flush = intended.lines().find(|line| line.contains("trx_commit"));
    let flush: Vec<&str> = flush.unwrap().split_whitespace().collect();
    assert_eq!(
        flush,
        ["server", "innodb_flush_log_at_trx_commit", "default", "1"]
    );
    says(
        others,
        &[
            "Virtualization",
            "KVM",
            "innodb_io_capacity",
            "Warm-up",
            "99 s",
        ],
    );
    assert!(!others.contains("Started"), "{text}");
}

#[test]
fn other_work_is_told() {
    let (one, mut other) = (platform(0, 1), platform(1, 1));
    assert_eq!(
        report::workload_differences(&one, &other),
        Vec::<String>::new()
    );
    for trial in &mut other.trials {
        trial.setup.planned.load.distribution.value = "zipfian".into();
        trial.setup.planned.load.protocol = plan::StatementProtocol::Text;
    }
    assert_eq!(
        report::workload_differences(&one, &other),
        [
            "load.distribution: uniform / zipfian",
            "load.protocol: prepared / text"
        ]
    );
}

#[test]
fn hostile_words_stay_words_in_a_comparison() {
    let bad = "</script><img src=x>|\u{1b}[2J";
    let (one, other) = (platform(0, 1), platform(1, 1));
    let both = ResultComparison::of(&side("HW", &one), &side(bad, &other), &[]);
    let html = both.html().unwrap();
    assert!(!html.contains("<img") && html.matches("</script>").count() == 3);
    assert!(!both.text(Layout::DEFAULT).contains('\u{1b}'));
}

#[test]
fn what_the_reports_of_both_warn_of_is_said_again() {
    let (mut hardware, mut machine) = (platform(0, 2), platform(1, 2));
    let saturated = Warning::GeneratorSaturated {
        worker: 0,
        running: 0.99,
    };
    hardware.trials[0].warnings = vec![Warning::NoWarmup, saturated];
    hardware.trials[1].warnings = vec![Warning::NoWarmup];
    machine.findings = vec![Finding {
        id: "governor".into(),
        of: "host".into(),
        level: Level::Severe,
        observed: String::new(),
        why: String::new(),
        source: String::new(),
        remedy: None,
    }];
    machine.trials[3].setup.planned.load.rate = Some(120.0);
    let text = unwrapped(&compare(&hardware, &machine));
    says(
        &text,
        &[
            "HW: 2 of 8 trials have warnings: no warm-up (2), generator saturated (1).",
            "VM: Conditions that distort measurements: governor.",
            "had a fixed arrival rate, which determines their throughput",
        ],
    );
}

/// Apples to apples: above the table of two platforms.
#[test]
fn platforms_say_what_is_the_same_and_what_is_not() {
    use plan::{SiteKind, Spanned};
    let mut both = study(2);
    assert!(!unwrapped(&variants(&both)).contains("The same on both"));
    fn given<T>(value: T) -> Option<Spanned<T>> {
        let span = plan::Span::NOWHERE;
        Some(Spanned { value, span })
    }
    for trial in &mut both.trials {
        let setup = &mut trial.setup;
        setup.directory = Some("/var/cache/dyno".to_owned());
        let site = &mut setup.planned.topology.node.site;
        site.kind.value = SiteKind::Process;
        site.limits.cpus = given(2.0);
        if setup.planned.point["variant"] == "VM".into() {
            site.kind.value = SiteKind::Container;
            site.limits.memory = given(4 << 30);
            setup.platform = Some("podman 4.3".to_owned());
        }
    }
    // A trial that failed before its load began does not know what it would have driven.
    let failed = &mut both.trials[0];
    failed.outcome = Outcome::Failed {
        reason: "no memory".into(),
    };
    failed.setup.workers = 0;
    failed.setup.engine.clear();
    let text = unwrapped(&variants(&both));
    let (statement, _) = text.split_once("By threads.").unwrap();
    says(
        statement,
        &[
            "Site of HW: process; of VM: container (podman 4.3).",
            "The same on both: Engine MariaDB 10.11.14; CPUs per server at most 2;",
            "Different as the study says: Memory per server (all / at most 4.0 GiB).",
            "Otherwise different: HW uses the host's page cache without a limit; VM counts",
        ],
    );
    let report = common::outline(&both);
    assert!(report.contains("The same on both:"), "{report}");
}
