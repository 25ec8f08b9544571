//! How fast the CPUs run.

use measure::finding::Level;

use super::Cpu;
use measure::finding::check::{About, Check, Mend, Seen};

pub(super) const CHECKS: &[Check<Cpu>] = &[
    Check {
        about: About {
            id: "cpu-governor",
            worst: Level::Spoils,
            why: "A governor that follows the load lowers the clock of a CPU that waits for IO or locks, so that the same work takes longer under a smaller load.",
            source: "kernel docs, admin-guide/pm/cpufreq",
            mend: Mend::Words("cpupower frequency-set -g performance"),
        },
        judge: governor,
    },
    Check {
        about: About {
            id: "cpu-turbo",
            worst: Level::Careful,
            why: "How far a CPU goes above its nominal clock depends on its temperature and on how many cores are busy, which differs from trial to trial and along a sweep.",
            source: "MySQL on Optimus SSDs (SanDisk) (measured with turbo off); kernel docs, admin-guide/pm/intel_pstate",
            mend: Mend::Words("echo VALUE > FILE"),
        },
        judge: turbo,
    },
];

fn governor(cpu: &Cpu) -> Seen {
    const FILE: &str = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    if cpu.governors.is_empty() {
        return Seen::unseen(format!(
            "{FILE} is not there: whoever owns the hardware sets the clock, as is usual in a virtual machine"
        ));
    }
    let driver = cpu.driver.as_deref().unwrap_or("a driver without a name");
    let seen = format!("{FILE}: {} ({driver})", cpu.governors.join(", "));
    // These drivers call it powersave when the hardware itself follows the load.
    let follows = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"].contains(&driver);
    match cpu.governors.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["performance"] => Seen::passed(seen),
        _ if cpu.governors.iter().any(|name| name == "powersave") && !follows => Seen::spoils(seen),
        _ => Seen::careful(seen),
    }
}

fn turbo(cpu: &Cpu) -> Seen {
    match &cpu.turbo {
        None => Seen::unseen(
            "neither /sys/devices/system/cpu/intel_pstate/no_turbo nor /sys/devices/system/cpu/cpufreq/boost is there",
        ),
        Some((false, file)) => Seen::passed(format!("{file}: turbo is off")),
        Some((true, file)) => Seen::careful(format!("{file}: turbo is on"))
            .with("VALUE", u8::from(file.ends_with("no_turbo")))
            .with("FILE", file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Careful, Passed, Spoils, Unseen};

    #[test]
    fn governors() {
        let with = |governors: &[&str], driver: &str| {
            let governors = governors.iter().map(ToString::to_string).collect();
            let cpu = Cpu {
                governors,
                driver: Some(driver.to_owned()),
                ..Cpu::default()
            };
            governor(&cpu).level()
        };
        assert_eq!(with(&["performance"], "acpi-cpufreq"), Passed);
        assert_eq!(with(&["performance", "schedutil"], "acpi-cpufreq"), Careful);
        assert_eq!(with(&["powersave"], "intel_pstate"), Careful);
        assert_eq!(with(&["powersave"], "acpi-cpufreq"), Spoils);
        assert_eq!(governor(&Cpu::default()).level(), Unseen);
    }

    #[test]
    fn turbo_is_switched_off_in_the_drivers_own_way() {
        let with = |on, file: &str| {
            let turbo_is = Some((on, file.to_owned()));
            turbo(&Cpu {
                turbo: turbo_is,
                ..Cpu::default()
            })
        };
        assert_eq!(with(false, "/x/boost").level(), Passed);
        assert_eq!(
            with(true, "/x/no_turbo"),
            Seen::careful("/x/no_turbo: turbo is on")
                .with("VALUE", 1)
                .with("FILE", "/x/no_turbo")
        );
        assert_eq!(
            with(true, "/x/boost"),
            Seen::careful("/x/boost: turbo is on")
                .with("VALUE", 0)
                .with("FILE", "/x/boost")
        );
        assert_eq!(turbo(&Cpu::default()).level(), Unseen);
    }
}
