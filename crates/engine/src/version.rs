//! Versions of servers.

/// The version number: `10.11.14` for `10.11.14-MariaDB-0+deb12u2`.
pub(crate) fn number(build: &str) -> &str {
    // MariaDB 10 reports "5.5.5-10.11.14-MariaDB-…", for old replicas.
    let build = build.trim_start_matches("5.5.5-");
    let end = build.find(|c: char| !c.is_ascii_digit() && c != '.');
    build[..end.unwrap_or(build.len())].trim_end_matches('.')
}

/// The first component: `15` for `15.10 (Debian 15.10-0+deb12u1)` and for `15beta1`.
pub(crate) fn major(version: &str) -> u64 {
    components(version).0
}

pub(crate) fn is_since(version: &str, major: u64, minor: u64) -> bool {
    components(version) >= (major, minor)
}

fn components(version: &str) -> (u64, u64) {
    let mut components = number(version)
        .split('.')
        .map_while(|part| part.parse().ok());
    (
        components.next().unwrap_or(0),
        components.next().unwrap_or(0),
    )
}

/// Whether a version begins with the components of `wanted`.
pub(crate) fn begins_with(version: &str, wanted: &str) -> bool {
    let mut components = version.split('.');
    wanted
        .split('.')
        .all(|wanted| components.next() == Some(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_by_components() {
        assert!(begins_with("10.11.14", "10.11") && begins_with("10.11.14", "10"));
        assert!(begins_with("9.7.0", "9.7.0"));
        assert!(!begins_with("10.11.14", "10.1") && !begins_with("9.7", "9.7.0"));
        assert!(is_since("10.11.14", 10, 6) && !is_since("10.11.14", 11, 0));
    }

    #[test]
    fn what_a_distribution_adds_is_no_part_of_the_number() {
        for (build, expected) in [
            ("10.11.14-MariaDB-0+deb12u2", "10.11.14"),
            ("5.5.5-10.11.14-MariaDB", "10.11.14"),
            ("9.7.4-2", "9.7.4"),
            ("8.0.36", "8.0.36"),
            ("15.10 (Debian 15.10-0+deb12u1)", "15.10"),
            ("18beta1", "18"),
            ("", ""),
        ] {
            assert_eq!(number(build), expected);
        }
        assert_eq!(
            (major("15.10 (Debian)"), major("18beta1"), major("")),
            (15, 18, 0)
        );
    }
}
