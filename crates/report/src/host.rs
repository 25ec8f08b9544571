//! The host in words.

use measure::result::{Disk, Environment, Place};
use plan::shown_bytes;

use crate::list::{joined, joined_any, joined_known};
use crate::number;
use crate::sheet::{Facts, known};

/// The dyno, the host and the places of the data, as far as they are known.
pub(crate) fn host(environment: &Environment) -> Facts {
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
    let topology = topology([cpu_threads, cpu_cores, cpu_sockets]);
    let turbo = turbo.map(|on| if on { "on" } else { "off" }.to_owned());
    let mut facts = known([
        ("dyno", Some(dyno_version.clone())),
        ("Started", Some(started.clone())),
        ("Host", hostname.clone()),
        ("Virtualization", virtualisation.clone()),
        ("System", os.clone()),
        ("Kernel", kernel.clone()),
        ("CPU", cpu_model.clone()),
        ("CPUs available to dyno", number(cores)),
        ("Threads, cores, sockets", topology),
        ("NUMA nodes", number(numa_nodes)),
        ("CPU governor", governor.clone()),
        ("Turbo", turbo),
        ("Memory", memory_bytes.map(shown_bytes)),
        ("Swap", swap_bytes.map(shown_bytes)),
        ("Swappiness", number(swappiness)),
        ("Transparent huge pages", transparent_hugepages.clone()),
        ("Clock source", clock_source.clone()),
    ]);
    let limits = limits.iter();
    facts.extend(limits.map(|(name, value)| (format!("Limit {name}"), value.clone())));
    let places = places.iter();
    facts.extend(places.map(|place| (place.path.clone(), place_words(place))));
    facts
}

/// `16, 8, 1`, with a dash for what is not known.
fn topology(counts: [&Option<u64>; 3]) -> Option<String> {
    let shown = counts.map(|count| count.map_or(number::ABSENT.to_owned(), number::count));
    let is_known = counts.iter().any(|count| count.is_some());
    is_known.then(|| shown.join(", "))
}

fn place_words(place: &Place) -> String {
    let Place {
        path: _,
        mount_point,
        file_system,
        source,
        options,
        disks,
    } = place;
    let parts = [
        file_system.clone(),
        source.as_ref().map(|source| format!("from {source}")),
        mount_point.as_ref().map(|point| format!("at {point}")),
        options.as_ref().map(|options| format!("({options})")),
    ];
    let place = joined_any(parts.into_iter().flatten(), " ");
    let disks = disks.iter().map(disk_words);
    joined(place.into_iter().chain(disks), "; ")
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
    let rotates = |turns| match turns {
        true => "rotational".to_owned(),
        false => "non-rotational".to_owned(),
    };
    let parts = [
        Some(format!("disk {name}")),
        model.clone(),
        bytes.map(shown_bytes),
        rotational.map(rotates),
        scheduler.as_ref().map(|name| format!("scheduler {name}")),
        cache.as_ref().map(|cache| format!("cache {cache}")),
    ];
    joined_known(parts, ", ")
}
