//! No input makes it panic, and what it says of a bad one can be shown.

use proptest::prelude::*;
use study::Study;

const VALID: &str = include_str!("../../../../studies/quickstart.toml");
/// Every part that a study can have.
const FULL: &str = r#"
title = "t"
[server]
engine = "mariadb"
version = "10.11"
port = 3501
config = { innodb_buffer_pool_size = "64M", sync-binlog = 1, a.b = true }
[load]
rate = 100
arrivals = "constant"
repeats = 3
[[variant]]
name = "a"
server.config.innodb_buffer_pool_size = "32M"
[[variant]]
name = "b"
server.url = "mysql://u:p@h/d"
"load.rate" = 50
[sweep]
"load.threads" = [1, 2]
"data.rows" = [10, 20]
[report]
tables = [{ rows = "variant", columns = ["tps", "errors"] }]
[thresholds]
response_ms.p99 = "< 25"
"tps" = ">= 0.9 * baseline"
baseline = "a"
"#;

fn try_all(text: &str, overrides: &[(&str, &str)]) {
    match Study::parse_with_overrides("study.toml", text, overrides, engine::catalog()) {
        Ok(study) => {
            whole(&study.plan());
        }
        Err(error) => {
            assert!(!error.problems().is_empty());
            assert!(error.to_string().lines().count() >= 2);
        }
    }
}

/// What holds of every plan.
fn whole(plan: &plan::Plan) {
    let (trials, repeats) = (&plan.trials, plan.repeats as usize);
    assert!((1..=study::MAX_TRIALS).contains(&trials.len()));
    assert_eq!(trials.len() % repeats, 0);
    let points = trials.len() / repeats;
    let mut labels = std::collections::HashSet::new();
    for (i, trial) in trials.iter().enumerate() {
        assert_eq!(trial.number as usize, i + 1);
        assert_eq!(trial.repeat as usize, i / points + 1);
        assert_eq!(trial.point.len(), plan.axes.len());
        assert!(plan.axes.iter().all(|axis| trial.point.contains_key(axis)));
        assert!(labels.insert(&trial.label), "{} twice", trial.label);
    }
    assert!(
        plan.tables
            .iter()
            .all(|table| plan.axes.contains(&table.rows))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        try_all(&text, &[]);
    }

    #[test]
    fn toml_like_text(text in "[\\[\\]{}=.,#\"'\\\\ \ta-z0-9_:@/\r\n]{0,200}") {
        try_all(&text, &[]);
    }

    #[test]
    fn a_mutated_study(
        at in 0..VALID.len(),
        gone in 0usize..40,
        put in "(\\PC{0,12})|[\\[\\]{}=.,#\"'\\\\0-9\n-]{1,6}|\"load\\.time\" = \\[|-?[0-9]{1,40}",
    ) {
        let boundary = |i: usize| (0..=i.min(VALID.len())).rev().find(|i| VALID.is_char_boundary(*i)).unwrap();
        let (from, to) = (boundary(at), boundary(at + gone));
        try_all(&format!("{}{put}{}", &VALID[..from], &VALID[to..]), &[]);
    }

    /// Whole lines of a full study, left out, doubled and mixed.
    #[test]
    fn a_study_of_mixed_lines(picked in prop::collection::vec(0..FULL.lines().count(), 0..60)) {
        let lines: Vec<_> = FULL.lines().collect();
        let text: Vec<_> = picked.iter().map(|i| lines[*i]).collect();
        try_all(&text.join("\n"), &[]);
    }

    #[test]
    fn a_full_study_without_some_lines(kept in prop::collection::vec(any::<bool>(), FULL.lines().count())) {
        let text: Vec<_> = FULL.lines().zip(kept).filter(|(_, kept)| *kept).map(|(line, _)| line).collect();
        try_all(&text.join("\n"), &[]);
    }

    #[test]
    fn any_value_of_any_key(
        key in prop::sample::select(vec!["title", "server.url", "server.engine", "data.rows", "load.threads",
            "load.rate", "load.time", "load.workload", "sweep.load.time", "sweep.\"data.seed\"", "sweep", "load", "",
            "load.script", "load.options.a", "load.variables", "sweep.load.options.a", "server.config", "server.config.a", "sweep.server.config.a-b", "server.config.", "server.port",
            "server.version", "server.basedir", "load.repeats", "load.order_seed", "topology.instances",
            "sweep.topology.instances", "topology.cluster", "topology.members", "topology.follow", "topology.failover",
            "ledger.rate", "chaos.faults", "chaos.rate", "chaos.seed", "sweep.chaos.faults", "monitors.enabled", "report.tables", "variant", "sweep.server.url"]),
        value in "\\PC{0,20}|-?[0-9]{1,40}(\\.[0-9]+)?(e[0-9]+)?|nan|-inf|true|0x[0-9a-f]{1,40}|\\[[0-9, ]{0,9}\\]|[0-9]{1,30}[smhd]|\\{ [a-z.-]{1,9} = [0-9]{1,3} \\}",
    ) {
        try_all(VALID, &[(key, &value)]);
        try_all(FULL, &[(key, &value)]);
    }

    /// A study that has it has it in every trial, in order of time and healed before the end.
    #[test]
    fn any_fault(
        lines in prop::collection::vec((
            prop::sample::select(vec!["at", "kill", "stop", "pause", "restart", "partition", "drop", "slow_link", "with", "bridge", "loss",
                "fill_disk", "switchover", "command", "heal", "process", "seed", "rate", "delay", "target",
                "heal_command", "expect_outage"]),
            prop::sample::select(vec!["\"1s\"", "\"59s\"", "\"5ms\"", "\"never\"", "\"primary\"", "\"any\"", "\"replica\"",
                "1", "3", "7", "0", "-1", "true", "[\"a\"]", "[]", "\"both\"", "\"1M\"", "{}", "18446744073709551615"]),
        ), 0..8),
        kind in prop::sample::select(vec!["", "asynchronous", "quorum"]),
    ) {
        let lines: String = lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        let cluster = if kind.is_empty() { String::new() } else { format!("topology.cluster = \"{kind}\"\n") };
        let text = format!("title = \"t\"\nserver.engine = \"postgres\"\n{cluster}[[fault]]\n{lines}");
        try_all(&text, &[]);
        let Ok(study) = Study::parse("s.toml", &text, engine::catalog()) else { return Ok(()) };
        for trial in study.plan().trials {
            prop_assert_eq!(trial.topology.faults.len(), 1);
            let fault = &trial.topology.faults[0];
            prop_assert!(fault.healed_at().unwrap_or(fault.at) < trial.load.time);
        }
    }

    /// Nothing that a setting can be leaves its line of an option file.
    #[test]
    fn any_setting(name in "\\PC{0,8}|[a-z_.-]{0,12}|.{0,5}", value in any::<String>()) {
        let key = format!("server.config.{name}");
        let base = "title = \"t\"\nserver.engine = \"mysql\"";
        let Ok(study) = Study::parse_with_overrides("s.toml", base, &[(&key, &value)], engine::catalog()) else { return Ok(()) };
        let plan::ServerSpec::Engine(spec) = &study.plan().trials[0].server else { panic!() };
        for (name, value) in &spec.config {
            prop_assert!(name.starts_with(|c: char| c.is_ascii_alphabetic()));
            prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c)));
            prop_assert!(!value.chars().any(char::is_control) && value.len() <= 1000);
        }
    }

    #[test]
    fn any_duration(text in "\\PC{0,20}|[0-9]{1,25}[a-zµ]{0,3}") {
        if let Ok(d) = plan::parse_duration(&text) {
            prop_assert_eq!(plan::parse_duration(&plan::format_duration(d)), Ok(d));
        }
    }
}

#[test]
fn the_full_study_is_one() {
    let plan = Study::parse("s.toml", FULL, engine::catalog())
        .unwrap()
        .plan();
    assert_eq!(plan.trials.len(), 2 * 4 * 3);
    let largest = Study::parse("s.toml", &largest_plan(), engine::catalog()).unwrap();
    assert_eq!(largest.plan().trials.len(), study::MAX_TRIALS);
}

/// On a stack far smaller than any real one.
#[test]
fn deep_nesting() {
    let small = std::thread::Builder::new().stack_size(512 * 1024);
    small.spawn(deepest).unwrap().join().unwrap();
}

fn deepest() {
    for parts in [9, 10, 79] {
        nested(parts);
    }
    unclosed();
}

fn nested(parts: usize) {
    let part = vec!["a"; parts].join(".");
    let inline = (0..79).fold("1".to_owned(), |inner, _| format!("{{ {part} = {inner} }}"));
    try_all(&format!("sweep.{part} = {inline}"), &[]);
    try_all(&format!("[{part}]\n{part} = {inline}"), &[]);
    try_all(VALID, &[("sweep.load.threads", &inline)]);
}

fn unclosed() {
    try_all(&"[".repeat(100_000), &[]);
    try_all(&format!("a = {}", "[".repeat(100_000)), &[]);
    try_all(&format!("a{} = 1", ".a".repeat(100_000)), &[]);
}

/// As many trials as there may be, with as many settings as there may be.
fn largest_plan() -> String {
    let settings = |count: usize| {
        (0..count)
            .map(|i| format!("a{i} = {:?}\n", "x".repeat(90)))
            .collect::<String>()
    };
    let numbers = |count: usize| (1..=count).map(|i| format!("{i}, ")).collect::<String>();
    let axes: String = (1..19)
        .map(|i| format!("server.config.b{i} = [1]\n"))
        .collect();
    format!(
        "title = \"t\"\nserver.engine = \"mysql\"\nload.repeats = 100\n[server.config]\n{}[sweep]\nload.threads = [{}]\n{axes}",
        settings(82),
        numbers(100)
    )
}

/// As many points as there may be, each of which is built and checked.
fn largest_sweep() -> String {
    let numbers: Vec<_> = (1..=100).map(|n| n.to_string()).collect();
    let numbers = numbers.join(", ");
    let faults: String = (1..=50)
        .map(|i| format!("[[fault]]\nat = \"{i}s\"\nkill = 2\nheal = \"500ms\"\n"))
        .collect();
    format!(
        "title = \"t\"\nserver.engine = \"mysql\"\ntopology.cluster = \"group-replication\"\n\
         [sweep]\nload.threads = [{numbers}]\ndata.seed = [{numbers}]\n{faults}"
    )
}

/// CPU time of this thread, which is the same beside other programs.
fn cpu_s() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let on_cpu_ns: u64 = text.split(' ').next().unwrap().parse().unwrap();
    on_cpu_ns / 1_000_000_000
}

/// The largest file that is read is read in a moment, whatever is in it.
#[test]
fn large_and_hostile_is_not_slow() {
    let numbers: Vec<_> = (0..130_000).map(|i| i.to_string()).collect();
    for text in [
        format!("[sweep]\n\"load.threads\" = [{}]", numbers.join(",")),
        (0..60_000).map(|i| format!("thread{i} = 1\n")).collect(),
        "a\n".repeat(500_000),
        "a://b:c@d ".repeat(100_000),
        "a://".repeat(250_000),
        "password=".repeat(100_000),
        "password   ".repeat(90_000),
        format!("password{}", " ".repeat(1_000_000)),
        // Many keys below one long name, many settings, variants and axes.
        format!("[sweep.{}]\n{}", "x".repeat(500_000), "a=1\n")
            + &(0..60_000).map(|i| format!("k{i}=1\n")).collect::<String>(),
        format!(
            "title=\"t\"\n[server.config]\n{}",
            (0..60_000)
                .map(|i| format!("a{i} = 1\n"))
                .collect::<String>()
        ),
        (0..30_000)
            .map(|i| format!("[[variant]]\nname = \"{i}\"\n"))
            .collect(),
        format!(
            "[sweep]\n{}",
            (0..30_000)
                .map(|i| format!("server.config.a{i} = [1]\n"))
                .collect::<String>()
        ),
        largest_plan(),
        largest_sweep(),
        "x".repeat(1 << 20),
    ] {
        let start = cpu_s();
        try_all(&text, &[]);
        let seconds = cpu_s() - start;
        // A slow machine needs far less; a quadratic algorithm would need more.
        assert!(seconds < 60, "{seconds} s for {:.20}", text);
    }
}
