//! Where a study runs, as far as the host tells.

use std::fs;

use measure::result::Environment;

/// Most of a file of the kernel that is read, in bytes.
const LINE_LIMIT: usize = 4096;

/// The fingerprint of this host. `command` is stored as given: it must be
/// without secrets.
#[must_use]
pub fn fingerprint(dyno_version: &str, command: &str) -> Environment {
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| {
        let text = text.to_string_lossy().into_owned();
        (!text.is_empty()).then_some(text)
    };
    let parts = [uname.sysname(), uname.release(), uname.machine()];
    let parts: Vec<String> = parts.into_iter().filter_map(text).collect();
    Environment {
        dyno_version: dyno_version.to_owned(),
        started: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        command: command.to_owned(),
        hostname: text(uname.nodename()),
        os: field("/etc/os-release", "PRETTY_NAME", '=').map(|name| name.replace('"', "")),
        kernel: (!parts.is_empty()).then(|| parts.join(" ")),
        cpu_model: field("/proc/cpuinfo", "model name", ':'),
        cores: std::thread::available_parallelism()
            .ok()
            .map(|cores| cores.get() as u64),
        memory_bytes: memory_bytes(),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }
}

fn memory_bytes() -> Option<u64> {
    let value = field("/proc/meminfo", "MemTotal", ':')?;
    let kib: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The value of the first line `key<separator>value`.
fn field(path: &str, key: &str, separator: char) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(separator));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    short(value)
}

fn line(path: &str) -> Option<String> {
    short(&fs::read_to_string(path).ok()?)
}

fn short(text: &str) -> Option<String> {
    let text: String = text.trim().chars().take(LINE_LIMIT).collect();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_host() {
        let here = fingerprint("0.1.0", "dyno bench");
        assert!(here.started.ends_with('Z'), "{}", here.started);
        assert!(here.kernel.unwrap().starts_with("Linux "));
        assert!(here.memory_bytes.unwrap() > 1 << 20);
        assert!(here.cores.unwrap() >= 1);
    }
}
