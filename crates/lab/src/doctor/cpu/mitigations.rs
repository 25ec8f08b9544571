//! Weaknesses of the CPUs, and what the kernel does about them.

use measure::finding::Level;

use super::Cpu;
use measure::finding::check::{About, Check, Mend, Seen};

pub(super) const CHECKS: &[Check<Cpu>] = &[Check {
    about: About {
        id: "cpu-mitigations",
        worst: Level::Note,
        why: "Workarounds for weaknesses of the CPU make each system call dearer, so two hosts compare only with the same ones.",
        source: "kernel docs, admin-guide/hw-vuln",
        mend: Mend::Nothing,
    },
    judge: mitigations,
}];

fn mitigations(cpu: &Cpu) -> Seen {
    const DIR: &str = "/sys/devices/system/cpu/vulnerabilities";
    let Some(weaknesses) = &cpu.weaknesses else {
        return Seen::unseen(format!("{DIR} is not there"));
    };
    let names = |wanted: &str| {
        let with = weaknesses
            .iter()
            .filter(|(_, state)| state.starts_with(wanted));
        with.map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    let (around, open) = (names("Mitigation"), names("Vulnerable"));
    match (around.as_slice(), open.as_slice()) {
        ([], []) => Seen::passed(format!("{DIR}: none is worked around")),
        (around, []) => Seen::note(format!("{DIR}: worked around: {}", around.join(", "))),
        ([], open) => Seen::note(format!("{DIR}: left open: {}", open.join(", "))),
        (around, open) => Seen::note(format!(
            "{DIR}: worked around: {}; left open: {}",
            around.join(", "),
            open.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Passed, Unseen};

    #[test]
    fn weaknesses_are_named() {
        let told = |states: &[(&str, &str)]| {
            let states = states
                .iter()
                .map(|(name, state)| ((*name).to_owned(), (*state).to_owned()));
            mitigations(&Cpu {
                weaknesses: Some(states.collect()),
                ..Cpu::default()
            })
        };
        assert_eq!(told(&[("meltdown", "Not affected")]).level(), Passed);
        let both = told(&[("mds", "Mitigation: Clear"), ("srbds", "Vulnerable")]);
        assert_eq!(
            both,
            Seen::note(
                "/sys/devices/system/cpu/vulnerabilities: worked around: mds; left open: srbds"
            )
        );
        assert_eq!(mitigations(&Cpu::default()).level(), Unseen);
    }
}
