//! Where a study runs, as far as the host tells.

pub(crate) mod cpu;
pub(crate) mod limits;
pub(crate) mod place;
pub(crate) mod virtualisation;

use std::path::Path;

use measure::result::Environment;

use crate::kernel;
use crate::monitors::memory::field_bytes;

/// Most of a line of the kernel that is kept, in characters.
const LINE_LIMIT: usize = 4096;

/// The fingerprint of this host, and of what is under `places`: where data and results
/// lie. `command` is stored as given: it must be without secrets.
#[must_use]
pub fn fingerprint(dyno_version: &str, command: &str, places: &[&Path]) -> Environment {
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| {
        let text = text.to_string_lossy().into_owned();
        (!text.is_empty()).then_some(text)
    };
    let parts = [uname.sysname(), uname.release(), uname.machine()];
    let parts: Vec<String> = parts.into_iter().filter_map(text).collect();
    let cpuinfo = kernel::text("/proc/cpuinfo").unwrap_or_default();
    let meminfo = kernel::text("/proc/meminfo").unwrap_or_default();
    let os_release = kernel::text("/etc/os-release").unwrap_or_default();
    Environment {
        dyno_version: dyno_version.to_owned(),
        started: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        command: command.to_owned(),
        hostname: text(uname.nodename()),
        os: field(&os_release, "PRETTY_NAME", '=').map(|name| name.replace('"', "")),
        kernel: (!parts.is_empty()).then(|| parts.join(" ")),
        cpu_model: field(&cpuinfo, "model name", ':'),
        cores: std::thread::available_parallelism()
            .ok()
            .map(|cores| cores.get() as u64),
        memory_bytes: field_bytes(&meminfo, "MemTotal"),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        cpu_threads: cpu::threads(),
        cpu_cores: cpu::cores(),
        cpu_sockets: cpu::sockets(),
        numa_nodes: cpu::numa_nodes(),
        turbo: cpu::turbo(),
        virtualisation: virtualisation::detect(&cpuinfo),
        transparent_hugepages: line("/sys/kernel/mm/transparent_hugepage/enabled").map(chosen),
        swap_bytes: field_bytes(&meminfo, "SwapTotal"),
        swappiness: kernel::number("/proc/sys/vm/swappiness"),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        limits: limits::all(),
        places: place::describe(places),
    }
}

/// The value of the first line `key<separator>value`.
fn field(text: &str, key: &str, separator: char) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(separator));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    short(value)
}

fn line(path: impl AsRef<Path>) -> Option<String> {
    short(&kernel::line(path)?)
}

fn short(text: &str) -> Option<String> {
    let text: String = text.trim().chars().take(LINE_LIMIT).collect();
    (!text.is_empty()).then_some(text)
}

/// Of a choice as the kernel shows it, `always [madvise] never`, the chosen one.
pub(crate) fn chosen(choice: String) -> String {
    let inside = choice
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    match inside {
        Some((chosen, _)) => chosen.to_owned(),
        None => choice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_host() {
        let here = fingerprint("0.1.0", "dyno bench", &[Path::new("/")]);
        assert!(here.started.ends_with('Z'), "{}", here.started);
        assert!(here.kernel.unwrap().starts_with("Linux "));
        assert!(here.memory_bytes.unwrap() > 1 << 20);
        assert!(here.cores.unwrap() >= 1);
        assert!(here.cpu_threads >= here.cores, "{:?}", here.cpu_threads);
        assert_eq!(here.places[0].mount_point.as_deref(), Some("/"));
        assert!(here.places[0].options.as_deref().unwrap().contains("rw"));
    }

    #[test]
    fn of_a_choice_the_chosen() {
        assert_eq!(chosen("always [madvise] never".into()), "madvise");
        assert_eq!(chosen("none".into()), "none");
        assert_eq!(field("a : 1\nb: 2\n", "b", ':').as_deref(), Some("2"));
    }
}
