//! Where a study ran, as names and values; what the host did not tell is left out.

use measure::result::{Disk, Environment, Place};
use plan::shown_bytes;

use crate::number;

/// Names and values, the host first, then the places of data and results.
pub(crate) fn facts(environment: &Environment) -> Vec<(String, String)> {
    // Named one by one, so that a new field cannot be forgotten here.
    let Environment {
        dyno_version,
        started,
        command: _, // stands where it says how to run it again
        hostname,
        os,
        kernel,
        cpu_model,
        cores,
        memory_bytes,
        governor,
        cpu_threads,
        cpu_cores,
        cpu_sockets,
        numa_nodes,
        turbo,
        virtualisation,
        transparent_hugepages,
        swap_bytes,
        swappiness,
        clock_source,
        limits,
        places,
    } = environment;
    let number = |value: &Option<u64>| value.map(number::count);
    let known = [
        ("dyno", Some(dyno_version.clone())),
        ("Started", Some(started.clone())),
        ("Host", hostname.clone()),
        ("Virtualization", virtualisation.clone()),
        ("System", os.clone()),
        ("Kernel", kernel.clone()),
        ("CPU", cpu_model.clone()),
        ("CPUs available to dyno", number(cores)),
        (
            "Threads, cores, sockets",
            topology([cpu_threads, cpu_cores, cpu_sockets]),
        ),
        ("NUMA nodes", number(numa_nodes)),
        ("CPU governor", governor.clone()),
        (
            "Turbo",
            turbo.map(|on| if on { "on" } else { "off" }.to_owned()),
        ),
        ("Memory", memory_bytes.map(shown_bytes)),
        ("Swap", swap_bytes.map(shown_bytes)),
        ("Swappiness", number(swappiness)),
        ("Transparent huge pages", transparent_hugepages.clone()),
        ("Clock source", clock_source.clone()),
    ];
    let known = known.into_iter();
    let mut facts: Vec<(String, String)> = known
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    let limits = limits.iter();
    facts.extend(limits.map(|(name, value)| (format!("Limit {name}"), value.clone())));
    facts.extend(
        places
            .iter()
            .map(|place| (place.path.clone(), words(place))),
    );
    facts
}

/// `16, 8, 1`, with a dash for what is not known.
fn topology(counts: [&Option<u64>; 3]) -> Option<String> {
    let shown = counts.map(|count| count.map_or(number::ABSENT.to_owned(), number::count));
    counts
        .iter()
        .any(|count| count.is_some())
        .then(|| shown.join(", "))
}

fn words(place: &Place) -> String {
    let Place {
        path: _,
        mount_point,
        file_system,
        source,
        options,
        disks,
    } = place;
    let mut parts = Vec::new();
    parts.extend(file_system.clone());
    parts.extend(source.as_ref().map(|source| format!("from {source}")));
    parts.extend(mount_point.as_ref().map(|point| format!("at {point}")));
    parts.extend(options.as_ref().map(|options| format!("({options})")));
    let mut text = parts.join(" ");
    for disk in disks {
        text.push_str(&format!("; disk {}", disk_words(disk)));
    }
    text.trim_start_matches("; ").to_owned()
}

fn disk_words(disk: &Disk) -> String {
    let Disk {
        name,
        model,
        bytes,
        scheduler,
        rotational,
        cache,
    } = disk;
    let mut parts = vec![name.clone()];
    parts.extend(model.clone());
    parts.extend(bytes.map(shown_bytes));
    parts.extend(rotational.map(|turns| {
        if turns {
            "rotational"
        } else {
            "non-rotational"
        }
        .to_owned()
    }));
    parts.extend(
        scheduler
            .as_ref()
            .map(|scheduler| format!("scheduler {scheduler}")),
    );
    parts.extend(cache.as_ref().map(|cache| format!("cache {cache}")));
    parts.join(", ")
}
