//! What was found of a made-up host and its server, in every form.

use crate::common::{self, outline, report_of};
use measure::finding::{Finding, Level};
use measure::result::RunResult;
use measure::series::SeriesPoint;
use report::text::Layout;
use report::{Answer, Report};

fn finding(id: &str, of: &str, level: Level, observed: &str, remedy: Option<&str>) -> Finding {
    Finding {
        id: id.into(),
        of: of.into(),
        level,
        observed: observed.into(),
        why: "It matters to the numbers, and for so long a reason that the line must be broken \
              where a terminal ends."
            .into(),
        source: "Sun and VMware paper; kernel docs, admin-guide".into(),
        remedy: remedy.map(str::to_owned),
    }
}

fn findings() -> Vec<Finding> {
    let server = "mysql://root@127.0.0.1:3306/sbtest";
    vec![
        finding(
            "commit-flush",
            server,
            Level::Severe,
            "innodb_flush_log_at_trx_commit: 0, no commit waits for the log",
            Some("SET GLOBAL innodb_flush_log_at_trx_commit = 1;"),
        ),
        finding(
            "transparent-huge-pages",
            "host",
            Level::Warning,
            "/sys/kernel/mm/transparent_hugepage/enabled: always",
            Some("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        ),
        finding(
            "virtualisation",
            "host",
            Level::Note,
            "/proc/cpuinfo and /sys/class/dmi: KVM",
            None,
        ),
        finding(
            "cpu-turbo",
            "host",
            Level::Unknown,
            "/sys/devices/system/cpu/intel_pstate/no_turbo is not there",
            None,
        ),
        finding(
            "swap-used",
            "host",
            Level::Passed,
            "/proc/meminfo: no swap",
            None,
        ),
    ]
}

#[test]
fn the_text_is_as_it_was() {
    common::golden(
        "doctor.txt",
        &report::doctor::sheet(&findings(), true).text(Layout::DEFAULT),
    );
}

fn whole<'a>(result: &'a RunResult, series: &'a [Vec<SeriesPoint>]) -> Report<'a> {
    Report {
        series,
        ..report_of(result)
    }
}

#[test]
fn a_report_shows_what_may_spoil_its_numbers() {
    let (mut result, series) = common::study(&[4]);
    let title = "Conditions that may distort the results";
    let page = whole(&result, &series).html().unwrap();
    assert!(!page.contains(title), "there is nothing to show");
    assert!(!outline(&result).contains(title));
    result.findings = findings();
    // Whatever a host calls itself is shown as it is.
    result.findings[1].observed = "<b>always|*".into();
    let page = whole(&result, &series).html().unwrap();
    let markdown = whole(&result, &series).markdown();
    let text = outline(&result);
    for words in [&page, &markdown, &text] {
        assert!(words.contains(title) && words.contains("commit-flush"));
    }
    assert!(page.contains("&#60;b&#62;always|*") && !page.contains("<b>always"));
    assert!(markdown.contains("\\<b\\>always\\|\\*"), "{markdown}");
    assert!(
        text.contains("transparent-huge-pages: warning: <b>always|*"),
        "{text}"
    );
    assert!(markdown.contains("| virtualisation | note |"), "{markdown}");
    assert!(page.contains("cpu-turbo") && markdown.contains("cpu-turbo"));
    assert!(
        !text.contains("cpu-turbo"),
        "a terminal shows only what matters"
    );
}
