//! Where nodes run, and how much of the machine they may use.

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::{Hosts, Spanned};

choice! {
    #[derive(Default)]
    SiteKind {
        #[default]
        Process = "process",
        Limited = "limited",
        Container = "container",
        Vm = "vm",
        Ssh = "ssh",
        Url = "url",
    }
}

choice! {
    /// The program that sets up a container.
    #[derive(Default)]
    Runtime {
        #[default]
        Auto = "auto",
        Podman = "podman",
        Docker = "docker",
        Namespaces = "namespaces",
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Site {
    pub kind: Spanned<SiteKind>,
    #[serde(default)]
    pub runtime: Runtime,
    #[serde(default)]
    pub limits: Limits,
    /// The other hosts of a site of the kind `ssh`, which always has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
}

/// Limits of a node's resources. `None`: no limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time, in CPUs, from 0.01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Spanned<f64>>,
    /// The CPUs on which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<Spanned<CpuSet>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Spanned<u64>>,
}

/// A set of CPU numbers in the kernel's list format: `0-1,3`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CpuSet {
    text: String,
    numbers: Vec<u32>,
}

impl CpuSet {
    /// The highest number that a CPU can have.
    pub const MAX: u32 = 8191;

    /// Parses a list; `None` if it is malformed, empty, or has a number above [`CpuSet::MAX`].
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| -> Option<u32> {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = is_plain.then(|| text.parse().ok()).flatten();
            number.filter(|number| *number <= Self::MAX)
        };
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return None;
            }
            numbers.extend(first..=last);
        }
        numbers.sort_unstable();
        numbers.dedup();
        let text = text.to_owned();
        Some(Self { text, numbers })
    }

    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }
}

impl std::fmt::Display for CpuSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> Self {
        set.text
    }
}

impl TryFrom<String> for CpuSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is not a list of CPUs"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_listed_as_the_kernel_lists_them() {
        let numbers = |text: &str| CpuSet::parse(text).map(|set| set.numbers);
        assert_eq!(numbers("0-1,3"), Some(vec![0, 1, 3]));
        assert_eq!(numbers("3,0-3"), Some(vec![0, 1, 2, 3]));
        for bad in ["", "1-", "-1", "2-1", "1,", "a", "0x1", "+1", " 1", "9000"] {
            assert_eq!(numbers(bad), None, "{bad}");
        }
        let set = CpuSet::parse("0-1,3").unwrap();
        assert_eq!(set.to_string(), "0-1,3");
    }
}
