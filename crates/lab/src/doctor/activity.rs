//! The activity of the machine before the load starts.

use host::Activity;
use measure::finding::Level::{Note, Severe, Warning};
use measure::finding::check::Judged;

use super::rule::at_least;

const MAX_NAMED: usize = 3;

pub(super) fn others(activity: &Activity) -> Judged {
    let thresholds = [(15.0, Severe), (5.0, Warning)];
    let named = activity.busiest.iter().take(MAX_NAMED);
    let named: Vec<String> = named
        .map(|(name, of_one)| format!("{name} {of_one:.0} % of one CPU"))
        .collect();
    let busiest = match named.is_empty() {
        true => String::new(),
        false => format!("; busiest: {}", named.join(", ")),
    };
    at_least(activity.others_pct, &thresholds, "/proc/stat", |share| {
        format!(
            "other processes used {share:.0} % of {} CPUs for {:.1} s{busiest}",
            activity.cpus, activity.seconds
        )
    })
}

pub(super) fn load_average(activity: &Activity) -> Judged {
    let cpus = activity.cpus.max(1) as f64;
    at_least(
        activity.load_1m,
        &[(0.5 * cpus, Note)],
        "/proc/loadavg",
        |load| format!("{load:.2} on {cpus} CPUs"),
    )
}

pub(super) fn disks(activity: &Activity) -> Judged {
    let busiest = activity.disks.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (name, share) = busiest.map_or(("", None), |(name, share)| (name, Some(*share)));
    at_least(
        share,
        &[(50.0, Severe), (10.0, Warning)],
        "/proc/diskstats",
        |share| format!("{name} was busy {share:.0} % of the time"),
    )
}
