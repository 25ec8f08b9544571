//! A study like the scale-up paper: one to eight servers at once on one host, three
//! times each, with all that the laboratory adds.

use measure::instance::{InstanceSummary, Reset, ResetHow};
use measure::metric::{METRICS, MetricSummary, Metrics, MonitorPoint, bracketed};
use measure::result::{Design, Disk, Place, RunResult, Table};
use measure::series::SeriesPoint;
use measure::setup::Outcome;
use measure::summary::{LatencySummary, TrialSummary};
use measure::verdict::{Bottleneck, Verdict};
use plan::Point;
use report::Report;

use super::{report_of, set, study, wander};

/// What a study leaves: its result, and the series of each trial.
pub(crate) struct Left {
    pub(crate) result: RunResult,
    pub(crate) series: Vec<Vec<SeriesPoint>>,
    pub(crate) monitors: Vec<Vec<MonitorPoint>>,
}

impl Left {
    pub(crate) fn report(&self) -> Report<'_> {
        Report {
            series: self.series.clone(),
            monitors: self.monitors.clone(),
            study: Some(STUDY.to_owned()),
            ..report_of(&self.result)
        }
    }
}

pub(crate) const STUDY: &str = r#"title = "Scale up: how many MariaDB servers should share this host?"

[server]
engine = "mariadb"
config = { innodb_buffer_pool_size = "1G" }

[load]
workload = "oltp_read_write"
threads = 16
repeats = 3

[sweep]
"topology.instances" = [1, 2, 3, 4, 5, 6, 7, 8]
"#;

const TPS: [f64; 8] = [
    2231.0, 3890.0, 4870.0, 5330.0, 5560.0, 5702.0, 5480.0, 5210.0,
];
/// User, nice, system, iowait, irq, softirq, steal, idle, in percent.
const CPU: [[f64; 8]; 8] = [
    [31.0, 0.0, 11.2, 7.9, 0.0, 1.6, 0.3, 48.0],
    [52.5, 0.0, 17.6, 5.1, 0.0, 2.7, 0.4, 21.7],
    [64.8, 0.0, 20.9, 3.2, 0.0, 3.3, 0.4, 7.4],
    [68.9, 0.0, 22.3, 1.6, 0.0, 3.5, 0.5, 3.2],
    [70.2, 0.0, 23.0, 0.9, 0.0, 3.6, 0.4, 1.9],
    [70.6, 0.0, 23.6, 0.5, 0.0, 3.6, 0.5, 1.2],
    [69.8, 0.0, 24.7, 0.4, 0.0, 3.5, 0.5, 1.1],
    [68.7, 0.0, 25.9, 0.4, 0.0, 3.4, 0.6, 1.0],
];
const CATEGORIES: [&str; 8] = [
    "user", "nice", "system", "iowait", "irq", "softirq", "steal", "idle",
];

/// Eight points, `repeats` times each.
pub(crate) fn scale_up(repeats: u32) -> Left {
    let (mut result, base) = study(&[8]);
    let base = (result.trials.remove(0), &base[0]);
    let mut left = Left {
        result,
        series: Vec::new(),
        monitors: Vec::new(),
    };
    for repeat in 1..=repeats {
        for step in 0..8_u32 {
            // A round goes through the points in an order of its own.
            let instances = (step * 3 + repeat) % 8 + 1;
            let number = left.series.len() as u32 + 1;
            let (trial, series, monitors) = trial(&base, number, repeat, instances);
            left.result.trials.push(trial);
            left.series.push(series);
            left.monitors.push(monitors);
        }
    }
    head(&mut left.result, repeats);
    left
}

fn head(result: &mut RunResult, repeats: u32) {
    result.title = "Scale up: how many MariaDB servers should share this host?".into();
    result.question = Some(
        "How many servers give the most transactions, and what is the price in response time?"
            .into(),
    );
    result.description = Some(
        "One to eight servers at once, each with its own load of 16 virtual users, data and \
         buffer pool."
            .into(),
    );
    result.design = Design {
        trials: 8 * repeats,
        repeats,
        axes: vec!["topology.instances".into()],
        order: "In random order within each round, seed 20240117.".into(),
        tables: vec![Table {
            rows: "topology.instances".into(),
            columns: "tps response_ms.mean response_ms.p99 cpu.user cpu.system cpu.iowait cpu.idle"
                .split(' ')
                .map(str::to_owned)
                .collect(),
        }],
        ..Design::default()
    };
    let environment = &mut result.environment;
    environment.command = "dyno run studies/p2-scale-up.toml --set load.time=60s".into();
    environment.virtualisation = Some("KVM".into());
    environment.limits = vec![("cpu.max".into(), "max 100000".into())];
    environment.places = vec![Place {
        path: "/var/cache/dyno".into(),
        mount_point: Some("/".into()),
        file_system: Some("ext4".into()),
        source: Some("/dev/vda1".into()),
        options: Some("rw,noatime".into()),
        disks: vec![Disk {
            name: "vda".into(),
            bytes: Some(256 << 30),
            scheduler: Some("none".into()),
            rotational: Some(false),
            ..Disk::default()
        }],
    }];
}

fn trial(
    (base, seconds): &(TrialSummary, &Vec<SeriesPoint>),
    number: u32,
    repeat: u32,
    instances: u32,
) -> (TrialSummary, Vec<SeriesPoint>, Vec<MonitorPoint>) {
    let place = instances as usize - 1;
    let luck = 1.0 + (wander(u64::from(number)) % 100) as f64 / 4000.0;
    let rate = TPS[place] * luck / base.transactions.per_s.unwrap().value;
    let time = 16.0 * f64::from(instances) * 1000.0
        / (TPS[place] * luck)
        / base.response_ms.unwrap().mean.value;
    let monitors = monitors(number, instances, luck);
    let mut trial = base.clone();
    trial.setup.server = "mysql://root@127.0.0.1:3501/sbtest".into();
    let planned = &mut trial.setup.planned;
    (planned.number, planned.repeat) = (number, repeat);
    planned.label = format!("instances={instances}");
    planned.point = Point::from_iter([("topology.instances", instances)]);
    planned.topology.instances = instances;
    (planned.load.threads, planned.load.preload) = (16, true);
    scale_rate(&mut trial.transactions, rate);
    scale_rate(&mut trial.statements, rate);
    for statement in &mut trial.by_statement {
        statement.count = (statement.count as f64 * rate) as u64;
        statement.per_s = statement.per_s.map(|per_s| per_s * rate);
        statement.latency_ms = statement.latency_ms.map(|times| scaled(times, time));
    }
    trial.response_ms = trial.response_ms.map(|times| scaled(times, time));
    for point in &mut trial.response_curve {
        point.ms *= time;
    }
    trial.metrics = summary(&monitors);
    trial.instances = (1..=instances)
        .map(|of| instance(&trial, of, instances))
        .collect();
    let idle = trial.metrics["cpu.idle"].mean;
    let (bound, rest) = match idle < 10.0 {
        true => (Bottleneck::Cpu, "; of that time, servers 88 %"),
        false => {
            let rest = ", disks 34 % busy; of the response time, commits 3 %";
            (Bottleneck::Nothing, rest)
        }
    };
    let evidence = format!("CPUs {:.0} % busy{rest}", 100.0 - idle);
    trial.verdict = Some(Verdict { bound, evidence });
    trial.reset = Some(Reset {
        how: match number {
            1 => ResetHow::BuiltAndCopied,
            _ => ResetHow::Copied,
        },
        took_s: 0.21 * f64::from(instances),
        settle_s: Some(0.05 * f64::from(instances)),
        startup_s: Some(0.5),
        load_s: None,
        build_s: 9.4,
        bytes: 160 << 20,
        checksum: Some("5be1f00dcafe0042".into()),
    });
    let series = seconds.iter().map(|point| {
        let mut point = point.clone();
        point.tps = point.tps.map(|tps| tps * rate);
        if let Some(times) = &mut point.response_ms {
            times.mean *= time;
            times.p50 *= time;
            times.p95 *= time;
            times.p99 *= time;
            times.max *= time;
        }
        point
    });
    (trial, series.collect(), monitors)
}

fn scale_rate(rate: &mut measure::summary::Rate, factor: f64) {
    rate.count = (rate.count as f64 * factor) as u64;
    rate.per_s = rate.per_s.map(|mut per_s| {
        per_s.value *= factor;
        per_s.half_width = per_s.half_width.map(|half| half * factor);
        per_s
    });
}

pub(crate) fn scaled(mut times: LatencySummary, factor: f64) -> LatencySummary {
    times.mean.value *= factor;
    times.mean.half_width = times.mean.half_width.map(|half| half * factor);
    for value in [
        &mut times.stddev,
        &mut times.min,
        &mut times.p50,
        &mut times.p75,
        &mut times.p90,
        &mut times.p95,
        &mut times.p99,
        &mut times.p999,
        &mut times.max,
    ] {
        *value *= factor;
    }
    times
}

fn instance(trial: &TrialSummary, number: u32, of: u32) -> InstanceSummary {
    let mut transactions = trial.transactions;
    scale_rate(&mut transactions, 1.0 / f64::from(of));
    InstanceSummary {
        number,
        server: format!("mysql://root@127.0.0.1:{}/sbtest", 3500 + number),
        transactions,
        response_ms: trial.response_ms,
        errors: 0,
        restarts: 0,
        outcome: Outcome::Completed,
        process: None,
        formation_s: None,
        settings: vec![
            ("innodb_buffer_pool_size".into(), "1073741824".into()),
            ("innodb_flush_log_at_trx_commit".into(), "1".into()),
        ],
    }
}

/// Each metric that the monitors know, as large as its unit makes likely.
fn monitors(number: u32, instances: u32, luck: f64) -> Vec<MonitorPoint> {
    let point = |second: u32| {
        let noise = |salt: usize| {
            let seed = u64::from(number) * 1_000_003 + u64::from(second) * 1009 + salt as u64;
            0.92 + (wander(seed) % 1000) as f64 / 6250.0
        };
        let mut values = std::collections::BTreeMap::new();
        // Only servers with limits or in containers have groups, and only those in turns are idle.
        let absent = ["server.group_", "server.idle_"];
        let is_known = |name: &str| !absent.iter().any(|prefix| name.starts_with(prefix));
        let metrics = METRICS.iter().enumerate();
        for (salt, metric) in metrics.filter(|(_, metric)| is_known(metric.name)) {
            let size = match metric.unit {
                "%" => 34.0,
                "bytes" => 300e6,
                "% of one CPU" => 90.0,
                "1/s" => 1500.0,
                _ => 4.2,
            };
            let value = size * luck * noise(salt);
            let (kind, category) = metric.name.split_once('.').unwrap_or_default();
            let place = CATEGORIES.iter().position(|known| *known == category);
            let all = match kind {
                "cpu" => CPU[instances as usize - 1][place.unwrap()],
                _ => value,
            };
            let parts = match kind {
                "cpu" => ["0", "1", "2", "3"].map(str::to_owned).to_vec(),
                "server" => (1..=instances).map(|server| server.to_string()).collect(),
                "disk" => vec!["vda".to_owned()],
                "net" => vec!["lo".to_owned()],
                _ => Vec::new(),
            };
            for part in parts {
                let share = match kind {
                    "cpu" => all * noise(salt),
                    "server" => all / f64::from(instances),
                    _ => all,
                };
                values.insert(bracketed(metric.name, &part), share);
            }
            if kind != "net" {
                values.insert(metric.name.to_owned(), all);
            }
        }
        MonitorPoint {
            t_s: f64::from(second),
            seconds: 1.0,
            values,
        }
    };
    (0..71).map(point).collect()
}

fn summary(points: &[MonitorPoint]) -> Metrics {
    let measured = &points[10..70];
    let names = measured[0].values.keys();
    let summary = |name: &String| {
        let values = || measured.iter().map(|point| point.values[name]);
        MetricSummary {
            mean: values().sum::<f64>() / measured.len() as f64,
            min: values().fold(f64::MAX, f64::min),
            max: values().fold(f64::MIN, f64::max),
        }
    };
    names.map(|name| (name.clone(), summary(name))).collect()
}

/// Eight points three times; one trial failed, one was stopped, three are missing.
pub(crate) fn incomplete() -> Left {
    let mut left = scale_up(3);
    left.result.trials.truncate(21);
    left.series.truncate(21);
    left.monitors.truncate(21);
    left.result.trials[4].outcome = Outcome::Failed {
        reason: "server 2 died: signal 9; its log ends with: [ERROR] Out of memory".into(),
    };
    left.result.trials[9].outcome = Outcome::Stopped {
        error: "1114: The table 'sbtest3' is full".into(),
    };
    left
}

/// Instances by file system and virtual users: a table for each number of users, its
/// columns side by side for each file system.
pub(crate) fn with_variants() -> Left {
    let mut left = scale_up(1);
    let mut all = Left {
        result: left.result.clone(),
        series: Vec::new(),
        monitors: Vec::new(),
    };
    all.result.trials.clear();
    for (variant, threads) in [("ext4", 8), ("ext4", 16), ("btrfs", 8), ("btrfs", 16)] {
        let slower = if variant == "ext4" { 1.0 } else { 0.8 } * f64::from(threads) / 16.0;
        for trial in &mut left.result.trials {
            let mut trial = trial.clone();
            trial.setup.planned.number = all.result.trials.len() as u32 + 1;
            trial.setup.planned.load.threads = threads;
            set(&mut trial, "variant", variant);
            set(&mut trial, "load.threads", threads);
            scale_rate(&mut trial.transactions, slower);
            all.result.trials.push(trial);
        }
        all.series.extend(left.series.iter().cloned());
        all.monitors.extend(left.monitors.iter().cloned());
    }
    let design = &mut all.result.design;
    design.axes = ["variant", "load.threads", "topology.instances"]
        .map(str::to_owned)
        .to_vec();
    design.trials = 32;
    design.tables[0].columns.truncate(3);
    all
}
