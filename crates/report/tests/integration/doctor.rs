//! What was found of a made-up host and its server, in every form.

use crate::common::{self, outline, report_of, says};
use measure::finding::{Finding, Level};
use report::Answer;
use report::text::Layout;

fn findings() -> Vec<Finding> {
    let server = "mysql://root@127.0.0.1:3306/sbtest";
    let flush = "innodb_flush_log_at_trx_commit: 0, no commit waits for the log";
    let pages = "/sys/kernel/mm/transparent_hugepage/enabled: always";
    let turbo = "/sys/devices/system/cpu/intel_pstate/no_turbo is not there";
    let findings = [
        ("commit-flush", server, Level::Severe, flush),
        ("transparent-huge-pages", "host", Level::Warning, pages),
        (
            "virtualisation",
            "host",
            Level::Note,
            "/proc/cpuinfo and /sys/class/dmi: KVM",
        ),
        ("cpu-turbo", "host", Level::Unknown, turbo),
        ("swap-used", "host", Level::Passed, "/proc/meminfo: no swap"),
    ];
    let findings = findings.map(|(id, of, level, observed)| Finding {
        id: id.into(),
        of: of.into(),
        level,
        observed: observed.into(),
        why: "It matters to the numbers, and for so long a reason that the line must be broken \
              where a terminal ends."
            .into(),
        source: "Sun and VMware paper; kernel docs, admin-guide".into(),
        remedy: match level {
            Level::Severe => Some("SET GLOBAL innodb_flush_log_at_trx_commit = 1;".into()),
            Level::Warning => {
                Some("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled".into())
            }
            _ => None,
        },
    });
    findings.to_vec()
}

#[test]
fn the_text_is_as_it_was() {
    common::golden(
        "doctor.txt",
        &report::doctor::sheet(&findings(), true).text(Layout::DEFAULT),
    );
}

#[test]
fn a_report_shows_what_may_spoil_its_numbers() {
    let (mut result, _) = common::study(&[4]);
    let title = "Conditions that may distort the results";
    let page = report_of(&result).html().unwrap();
    assert!(!page.contains(title), "there is nothing to show");
    assert!(!outline(&result).contains(title));
    result.findings = findings();
    // Whatever a host calls itself is shown as it is.
    result.findings[1].observed = "<b>always|*".into();
    let (page, markdown) = (
        report_of(&result).html().unwrap(),
        report_of(&result).markdown(),
    );
    let text = outline(&result);
    for words in [&page, &markdown, &text] {
        assert!(words.contains(title) && words.contains("commit-flush"));
    }
    assert!(page.contains("&#60;b&#62;always|*") && !page.contains("<b>always"));
    assert!(markdown.contains("\\<b\\>always\\|\\*"), "{markdown}");
    says(&text, &["transparent-huge-pages: warning: <b>always|*"]);
    assert!(markdown.contains("| virtualisation | note |"), "{markdown}");
    assert!(page.contains("cpu-turbo") && markdown.contains("cpu-turbo"));
    assert!(
        !text.contains("cpu-turbo"),
        "a terminal shows only what matters"
    );
}
