//! What well-known programs look for in sysbench's output, as they look for it.

use regex::Regex;

use super::tests::{interval, report, totals};
use crate::options::Dialect;

const TESTS: [&str; 7] = ["sql", "none", "cpu", "memory", "threads", "mutex", "fileio"];

/// The versions, the test, what is found, and how: by the only group of an expression between
/// slashes, or as a field of the line with a label, as awk numbers it. The first 10 are those of
/// PerfKitBenchmarker.
const PATTERNS: &str = r"
1.x | interval | 4.00              | /tps: (.*?) /
1.x | interval | 48.34             | /lat \(.*?\): (.*?) /
1.x | interval | 80.00             | /qps: (.*?) \(.*?\) /
1.x | interval | 5                 | /\[ ([0-9]+)s \]/
1.x | sql      | 4.00              | /transactions: *[0-9]* *\(([0-9]*[.]?[0-9]+) per sec.\)/
1.x | sql      | 80.00             | /queries: *[0-9]* *\(([0-9]*[.]?[0-9]+) per sec.\)/
1.x | sql      | 0.53              | /min: *([0-9]*[.]?[0-9]+)/
1.x | sql      | 1250.00           | /avg: *([0-9]*[.]?[0-9]+)/
1.x | sql      | 7000.00           | /max: *([0-9]*[.]?[0-9]+)/
1.x | sql      | 2.11              | /95th percentile: *([0-9]*[.]?[0-9]+)/
1.0 | sql      | 10                | /transactions:\s+(\d+)\s+\([\d.]+ per sec\.\)/
1.0 | sql      | 80.00             | /queries:\s+\d+\s+\(([\d.]+) per sec\.\)/
1.0 | sql      | 1                 | /ignored errors:\s+(\d+)/
1.0 | sql      | 0                 | /reconnects:\s+(\d+)/
1.0 | sql      | 2.5023            | /total time:\s+([\d.]+)s/
1.0 | sql      | 10                | /total number of events:\s+(\d+)/
1.0 | sql      | 1250.00           | /Latency \(ms\):\s+min:\s+[\d.]+\s+avg:\s+([\d.]+)\s+max:/
1.0 | sql      | 5.0000            | /events \(avg/stddev\):\s+([\d.]+)/[\d.]+/
1.0 | sql      | 140               | /(?m)^\s*read:\s+(\d+)/
1.0 | sql      | 4.00 per sec.     | /(\d+\.\d+\s+per sec\.)/
1.0 | cpu      | 4.00              | /events per second:\s*([\d.]+)/
1.0 | memory   | 4.00              | /Total operations:\s+\d+\s*\(\s*([\d.]+) per second/
1.0 | memory   | 0.01              | /([\d.]+) MiB transferred \([\d.]+ MiB/sec\)/
1.0 | interval | 5                 | /\[ (.*)s \]/
1.0 | interval | 8                 | /thds: (\d+)/
1.0 | interval | 4.00              | /tps: (\d+\.\d+)/
1.0 | interval | 80.00             | /qps: (\d+\.\d+)/
1.0 | interval | 56.00/16.00/8.00  | /r/w/o: ([\d.]+/[\d.]+/[\d.]+)/
1.0 | interval | 0.40              | /err/s: ([\d.]+)/
1.0 | interval | 5s                | thds: $2
1.0 | interval | 8                 | thds: $5
1.0 | interval | 4.00              | thds: $7
1.0 | interval | 80.00             | thds: $9
0.x | sql      | 2.11ms            | approx.  95 percentile: $4
0.x | sql      | 180               | read/write requests: $3
0.x | sql      | 10                | transactions: $2
0.x | sql      | 1250.00ms         | avg: $2
0.x | sql      | 12.5000           | /total time taken by event execution:\s*([\d.]+)/
0.x | fileio   | 140               | Operations performed: $3
0.x | fileio   | 40                | Operations performed: $5
0.x | fileio   | 20                | Operations performed: $7
0.x | fileio   | 72.00             | Requests/sec executed $1
0.x | fileio   | 750Mb             | /Total transferred (\S+)/
";

fn found(pattern: &str, text: &str) -> Option<String> {
    let expression = pattern
        .strip_prefix('/')
        .and_then(|rest| rest.strip_suffix('/'));
    if let Some(expression) = expression {
        let captures = Regex::new(expression).unwrap().captures(text)?;
        return Some(captures[1].to_owned());
    }
    let (label, field) = pattern.rsplit_once(" $")?;
    let line = text.lines().find(|line| line.contains(label))?;
    let field: usize = field.parse().unwrap();
    line.split_whitespace().nth(field - 1).map(str::to_owned)
}

fn cumulative(dialect: Dialect, test: &'static str) -> String {
    report(dialect, test, &[]).cumulative(&totals())
}

#[test]
fn patterns_find_their_numbers() {
    for row in PATTERNS.trim().lines() {
        let mut cells = row.splitn(4, '|').map(str::trim);
        let [versions, test, expected, pattern] = std::array::from_fn(|_| cells.next().unwrap());
        let dialects = Dialect::NAMED.into_iter().map(|(_, dialect)| dialect);
        for dialect in dialects.filter(|dialect| dialect.is_one_of(versions)) {
            let text = match test {
                "interval" => report(dialect, "sql", &[]).interval(&interval()),
                _ => cumulative(dialect, test),
            };
            assert_eq!(
                found(pattern, &text).as_deref(),
                Some(expected),
                "{row}\n{text}"
            );
        }
    }
}

/// PerfKitBenchmarker raises an error for any other line that begins with a bracket.
#[test]
fn only_intervals_begin_with_a_bracket() {
    for (_, dialect) in Dialect::NAMED {
        for test in TESTS {
            let text = report(dialect, test, &[]).head() + &cumulative(dialect, test);
            assert!(!text.lines().any(|line| line.starts_with('[')), "{text}");
        }
    }
}

/// VirtualClient takes every number after `SQL statistics:` by its position.
#[test]
fn numbers_keep_their_positions() {
    let header = Dialect::Master.header("bundled LuaJIT 2.1.0-beta2");
    let version = found(r"/sysbench\s+(\d+\.\d+\.\d+(?:-\w+)?)/", &header);
    assert_eq!(version.as_deref(), Some("1.1.0"));
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
