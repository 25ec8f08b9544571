//! Merges findings that differ only in their subject.

use measure::finding::Finding;

const MAX_NAMED: usize = 3;

pub(super) fn equal_findings(findings: Vec<Finding>) -> Vec<Finding> {
    let mut merged: Vec<(Finding, Vec<String>)> = Vec::new();
    for finding in findings {
        match merged
            .iter_mut()
            .find(|(known, _)| is_equal(known, &finding))
        {
            Some((_, subjects)) => subjects.push(finding.of),
            None => merged.push((finding.clone(), vec![finding.of])),
        }
    }
    let named = merged.into_iter().map(|(finding, mut subjects)| {
        let more = subjects.len().saturating_sub(MAX_NAMED);
        subjects.truncate(MAX_NAMED);
        let rest = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Finding {
            of: format!("{}{rest}", subjects.join(", ")),
            ..finding
        }
    });
    named.collect()
}

fn is_equal(one: &Finding, other: &Finding) -> bool {
    (&one.id, one.level, &one.observed, &one.remedy)
        == (&other.id, other.level, &other.observed, &other.remedy)
}

#[cfg(test)]
mod tests {
    use measure::finding::Level;

    use super::*;

    fn finding(id: &str, of: &str) -> Finding {
        Finding {
            id: id.into(),
            of: of.into(),
            level: Level::Note,
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
        let merged = equal_findings(all);
        let of: Vec<&str> = merged.iter().map(|finding| finding.of.as_str()).collect();
        assert_eq!(of, ["/a, /b, /c and 1 more", "/a"]);
    }
}
