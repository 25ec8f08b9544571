//! What well-known programs look for in sysbench's output, as they look for it.

use regex::Regex;

use super::tests::{interval, report, totals};
use crate::options::Dialect;

const TESTS: [&str; 7] = ["sql", "none", "cpu", "memory", "threads", "mutex", "fileio"];

/// The only group of a pattern.
#[track_caller]
fn found(pattern: &str, text: &str) -> String {
    let captures = Regex::new(pattern).unwrap().captures(text);
    let Some(captures) = captures else {
        panic!("nothing matches {pattern} in:\n{text}")
    };
    captures[1].to_owned()
}

/// A line's field, as awk numbers them.
#[track_caller]
fn field(line_with: &str, number: usize, text: &str) -> String {
    let line = text.lines().find(|line| line.contains(line_with)).unwrap();
    line.split_whitespace().nth(number - 1).unwrap().to_owned()
}

fn cumulative(dialect: Dialect, test: &'static str) -> String {
    report(dialect, test, &[]).cumulative(&totals())
}

#[test]
fn perfkitbenchmarker() {
    let number = "([0-9]*[.]?[0-9]+)";
    for dialect in [Dialect::V10, Dialect::Master] {
        let report = report(dialect, "sql", &[]);
        let line = report.interval(&interval());
        assert_eq!(found(r"tps: (.*?) ", &line), "4.00");
        assert_eq!(found(r"lat \(.*?\): (.*?) ", &line), "48.34");
        assert_eq!(found(r"qps: (.*?) \(.*?\) ", &line), "80.00");
        assert_eq!(found(r"\[ ([0-9]+)s \]", &line), "5");
        let text = report.cumulative(&totals());
        for (label, expected) in [("transactions", "4.00"), ("queries", "80.00")] {
            let pattern = format!(r"{label}: *[0-9]* *\({number} per sec.\)");
            assert_eq!(found(&pattern, &text), expected);
        }
        for (label, expected) in [
            ("min", "0.53"),
            ("avg", "1250.00"),
            ("max", "7000.00"),
            ("95th percentile", "2.11"),
        ] {
            assert_eq!(found(&format!("{label}: *{number}"), &text), expected);
        }
    }
}

/// It raises an error for any other line that begins with a bracket.
#[test]
fn only_intervals_begin_with_a_bracket() {
    for (_, dialect) in Dialect::NAMED {
        for test in TESTS {
            let text = report(dialect, test, &[]).head() + &cumulative(dialect, test);
            assert!(!text.lines().any(|line| line.starts_with('[')), "{text}");
        }
    }
}

/// It takes every number after `SQL statistics:` by its position.
#[test]
fn virtualclient() {
    let header = Dialect::Master.header("bundled LuaJIT 2.1.0-beta2");
    assert_eq!(
        found(r"sysbench\s+(\d+\.\d+\.\d+(?:-\w+)?)", &header),
        "1.1.0"
    );
    let numbers = |dialect| {
        let text = cumulative(dialect, "sql");
        let (_, text) = text.split_once("SQL statistics:").unwrap();
        let number = Regex::new(r"\d+(?:\.\d+)?").unwrap();
        let all = number.find_iter(text);
        all.map(|one| one.as_str().to_owned()).collect::<Vec<_>>()
    };
    let counts = "140 40 20 200 10 4.00 200 80.00 1 0.40 0 0.00";
    let latency = "0.53 1250.00 7000.00 95 2.11 12500.00";
    let fairness = "5.0000 1.00 6.2500 0.25";
    assert_eq!(
        numbers(Dialect::Master).join(" "),
        format!("{counts} 4.0000 2.5023 10 {latency} {fairness}")
    );
    assert_eq!(
        numbers(Dialect::V10).join(" "),
        format!("{counts} 2.5023 10 {latency} {fairness}")
    );
}

#[test]
fn common_patterns() {
    let text = cumulative(Dialect::V10, "sql");
    for (pattern, expected) in [
        (r"transactions:\s+(\d+)\s+\([\d.]+ per sec\.\)", "10"),
        (r"queries:\s+\d+\s+\(([\d.]+) per sec\.\)", "80.00"),
        (r"ignored errors:\s+(\d+)", "1"),
        (r"reconnects:\s+(\d+)", "0"),
        (r"total time:\s+([\d.]+)s", "2.5023"),
        (r"total number of events:\s+(\d+)", "10"),
        (
            r"Latency \(ms\):\s+min:\s+[\d.]+\s+avg:\s+([\d.]+)\s+max:",
            "1250.00",
        ),
        (r"events \(avg/stddev\):\s+([\d.]+)/[\d.]+", "5.0000"),
        (r"(?m)^\s*read:\s+(\d+)", "140"),
        (r"(\d+\.\d+\s+per sec\.)", "4.00 per sec."),
    ] {
        assert_eq!(found(pattern, &text), expected);
    }
    let cpu = cumulative(Dialect::V10, "cpu");
    assert_eq!(found(r"events per second:\s*([\d.]+)", &cpu), "4.00");
    let memory = cumulative(Dialect::V10, "memory");
    let pattern = r"Total operations:\s+\d+\s*\(\s*([\d.]+) per second";
    assert_eq!(found(pattern, &memory), "4.00");
    let pattern = r"([\d.]+) MiB transferred \([\d.]+ MiB/sec\)";
    assert_eq!(found(pattern, &memory), "0.01");
}

#[test]
fn intervals() {
    let line = report(Dialect::V10, "sql", &[]).interval(&interval());
    for (pattern, expected) in [
        (r"\[ (.*)s \]", "5"),
        (r"thds: (\d+)", "8"),
        (r"tps: (\d+\.\d+)", "4.00"),
        (r"qps: (\d+\.\d+)", "80.00"),
        (r"r/w/o: ([\d.]+/[\d.]+/[\d.]+)", "56.00/16.00/8.00"),
        (r"err/s: ([\d.]+)", "0.40"),
    ] {
        assert_eq!(found(pattern, &line), expected);
    }
    let fields = [2, 5, 7, 9].map(|number| field("thds:", number, &line));
    assert_eq!(fields, ["5s", "8", "4.00", "80.00"]);
}

#[test]
fn versions_before_1_0() {
    for dialect in [Dialect::V04, Dialect::V05] {
        let sql = cumulative(dialect, "sql");
        assert_eq!(field("approx.  95 percentile:", 4, &sql), "2.11ms");
        assert_eq!(field("read/write requests:", 3, &sql), "180");
        assert_eq!(field("transactions:", 2, &sql), "10");
        assert_eq!(field("avg:", 2, &sql).trim_end_matches("ms"), "1250.00");
        let pattern = r"total time taken by event execution:\s*([\d.]+)";
        assert_eq!(found(pattern, &sql), "12.5000");
        let fileio = cumulative(dialect, "fileio");
        let fields = [3, 5, 7].map(|number| field("Operations performed:", number, &fileio));
        assert_eq!(fields, ["140", "40", "20"]);
        assert_eq!(field("Requests/sec executed", 1, &fileio), "72.00");
        assert!(fileio.contains("Total transferred 750Mb"));
    }
}
