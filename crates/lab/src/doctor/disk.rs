//! The disks below a directory that holds data, and the kernel's settings for them.

use host::{RequestQueue, StackedDevice};
use measure::finding::check::{Observed, note, passed, severe, unknown, warning};

use super::rule::joined;
use super::storage::DataStorage;

/// A shorter queue keeps a disk from serving requests in parallel.
const SHORT_QUEUE: u64 = 32;
/// The depth that the remedy sets.
const LONG_QUEUE: u64 = 128;

impl DataStorage {
    fn no_disk(&self) -> Observed {
        unknown(format!("{}: no disk known to the kernel", self.mount()))
    }
}

pub(super) fn scheduler(data: &DataStorage) -> Observed {
    let disks = data.storage.described.disks.iter();
    let known = disks.filter_map(|disk| {
        let file = format!("/sys/block/{}/queue/scheduler", disk.name);
        Some((file, disk.scheduler.as_deref()?))
    });
    let (fair, others): (Vec<_>, Vec<_>) =
        known.partition(|(_, name)| ["cfq", "bfq", "anticipatory"].contains(name));
    let shown = |(file, name): &(String, &str)| format!("{file}: {name}");
    let better = match fair.first() {
        None if others.is_empty() => return data.no_disk(),
        None => return passed(joined(&others, shown)),
        Some((_, "bfq")) => "mq-deadline",
        // The schedulers of kernels before blk-mq have names without `mq-`.
        Some(_) => "deadline",
    };
    let files: Vec<&str> = fair.iter().map(|(file, _)| file.as_str()).collect();
    severe(joined(&fair, shown))
        .with("SCHEDULER", better)
        .with("FILES", files.join(" "))
}

pub(super) fn beside_system(data: &DataStorage) -> Observed {
    let (disks, system) = (&data.storage.described.disks, &data.system_disks);
    if disks.is_empty() || system.is_empty() {
        return data.no_disk();
    }
    let mount = data.mount();
    let Some(disk) = disks.iter().find(|disk| system.contains(&disk.name)) else {
        let disks = joined(disks, |disk| disk.name.clone());
        return passed(format!("{mount} is on {disks}, / on {}", system.join(", ")));
    };
    let observed = format!("{mount} and / are both on {}", disk.name);
    match data.disks {
        1 => note(format!("{observed}, the only disk")),
        _ => warning(observed),
    }
}

pub(super) fn raid(data: &DataStorage) -> Observed {
    let stacked = &data.storage.stacked;
    let shown = |device: &StackedDevice| format!("/sys/block/{}: {}", device.name, device.level);
    let is_busy = |device: &&StackedDevice| device.degraded > 0 || device.action.is_some();
    if let Some(device) = stacked.iter().find(is_busy) {
        let missing = || format!("missing disks: {}", device.degraded);
        let state = device.action.clone().unwrap_or_else(missing);
        return severe(format!("{}, {state}", shown(device)));
    }
    match stacked.as_slice() {
        _ if data.storage.described.disks.is_empty() => data.no_disk(),
        [] => passed("/sys/block: no software RAID or logical volume"),
        stacked => note(joined(stacked, shown)),
    }
}

pub(super) fn queue(data: &DataStorage) -> Observed {
    let queues = &data.storage.queues;
    let shown = |queue: &RequestQueue| format!("{}: depth {}", queue.file, queue.depth);
    let Some(shortest) = queues.iter().min_by_key(|queue| queue.depth) else {
        return data.no_disk();
    };
    if shortest.depth >= SHORT_QUEUE {
        return passed(shown(shortest));
    }
    let mut short = queues.clone();
    short.retain(|queue| queue.depth < SHORT_QUEUE);
    let commands: Vec<String> = short.iter().filter_map(lengthen).collect();
    note(joined(&short, shown)).with_remedy(match commands.is_empty() {
        true => "none: this is the device's maximum".to_owned(),
        false => commands.join("; "),
    })
}

/// The command that lengthens a queue, up to the maximum depth that the kernel accepts.
fn lengthen(queue: &RequestQueue) -> Option<String> {
    let depth = queue.max.unwrap_or(LONG_QUEUE).min(LONG_QUEUE);
    (depth > queue.depth).then(|| format!("echo {depth} > {}", queue.file))
}
