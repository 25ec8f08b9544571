//! The environment of a result: the machine on which it was measured.

use std::path::Path;

use measure::result::Environment;

use crate::facts::HostFacts;
use crate::files::LOCAL;
use crate::storage::Storage;

/// The fingerprint of this host and of the storage below `dirs`, the directories of data and
/// results. `command` is stored verbatim and must not contain secrets.
pub fn fingerprint(dyno_version: &str, command: &str, dirs: &[&Path]) -> Environment {
    let storage = dirs.iter().map(|path| Storage::read(&LOCAL, path));
    Environment {
        dyno_version: dyno_version.to_owned(),
        started: jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string(),
        command: command.to_owned(),
        places: storage.map(|storage| storage.described).collect(),
        ..environment(HostFacts::read(&LOCAL))
    }
}

fn environment(facts: HostFacts) -> Environment {
    let HostFacts { cpu, memory, .. } = facts;
    Environment {
        hostname: facts.hostname,
        os: facts.os,
        kernel: facts.kernel,
        cpu_model: cpu.model,
        cores: facts.limits.cpus,
        memory_bytes: memory.total_bytes,
        governor: cpu.governor,
        cpu_threads: cpu.threads,
        cpu_cores: cpu.cores,
        cpu_sockets: cpu.sockets,
        numa_nodes: cpu.numa_nodes,
        turbo: cpu.turbo.map(|(is_on, _)| is_on),
        virtualisation: facts.virtualization,
        transparent_hugepages: memory.transparent_hugepages,
        swap_bytes: memory.swap_bytes,
        swappiness: memory.swappiness,
        clock_source: facts.timekeeping.source,
        limits: facts.limits.groups,
        ..Environment::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_fingerprint() {
        let here = fingerprint("0.1.0", "dyno bench", &[Path::new("/")]);
        assert!(here.started.ends_with('Z'), "{}", here.started);
        assert!(here.kernel.unwrap().starts_with("Linux "));
        assert!(here.memory_bytes.unwrap() > 1 << 20);
        assert!(here.cores.unwrap() >= 1);
        assert!(here.cpu_threads >= here.cores, "{:?}", here.cpu_threads);
        assert_eq!(here.places[0].mount_point.as_deref(), Some("/"));
        assert!(here.places[0].options.as_deref().unwrap().contains("rw"));
    }
}
