//! `[chaos]`: draws a schedule of faults.
//!
//! The schedule is bounded: one fault at a time in each cluster, each healed before the next one
//! and before the end, and none that takes a cluster's quorum away.

use std::time::Duration;

use crate::error::Report;
use crate::point::Point;
use crate::servers::Servers;
use plan::key::{CHAOS, FAULT};
use plan::{
    ActsOn, Chaos, Fault, FaultKind, FaultOptions, FaultProcess, FaultTarget, SlowLink, SplitMix64,
    TextError, Trial, format_duration,
};

const START: Duration = Duration::from_secs(1);
/// For how long the servers recover after each fault.
const RECOVERY: Duration = Duration::from_secs(5);
const HEAL_MIN: Duration = Duration::from_secs(1);
const HEAL_MAX: Duration = Duration::from_secs(10);
const MIN_TIME: Duration = Duration::from_secs(15);
/// A schedule of more faults than this ends early.
const MAX_FAULTS: usize = 100;
/// Seeds that dyno draws are below this, so that people can type them.
pub(crate) const SHORT_SEEDS: u64 = 1_000_000;

/// The kinds that a study names, as the value of its key has them; `None`: every kind.
pub(crate) fn named(value: &str) -> Option<Vec<FaultKind>> {
    let words: Vec<&str> = value.split(", ").collect();
    let named = FaultKind::ALL.iter().copied();
    let named = named.filter(|kind| words.contains(&kind.name()));
    (!words.contains(&Chaos::ANY)).then(|| named.collect())
}

/// The kinds of faults that these servers can have at random. A disk of the study's is filled only
/// if the study says so.
pub(crate) fn possible(servers: &Servers<'_>) -> Vec<FaultKind> {
    let may_fill = servers.data().file_system.is_some();
    let kinds = FaultKind::ALL.iter().copied();
    let kinds = kinds.filter(|kind| may_fill || kind.rules().acts_on != ActsOn::Space);
    kinds
        .filter(|kind| refuse(*kind, servers).is_none())
        .collect()
}

/// The seed of a repeat, from 1.
pub(crate) fn seed_of_repeat(seed: u64, repeat: u32) -> u64 {
    let mut seeds = SplitMix64::new(seed);
    let others = (1..repeat).map(|_| seeds.next_u64() % SHORT_SEEDS);
    others.last().unwrap_or(seed)
}

/// The faults of a measurement of this length.
///
/// They last for up to twice the time that the cluster needs to notice them: so some cause a failover,
/// and some end before.
pub(crate) fn draw(
    chaos: &Chaos,
    time: Duration,
    servers: &Servers<'_>,
    noticed: Option<Duration>,
) -> Vec<Fault> {
    let heal_max = noticed.map_or(HEAL_MAX, |noticed| HEAL_MAX.max(noticed.saturating_mul(2)));
    let mut random = SplitMix64::new(chaos.seed);
    let last = time.saturating_sub(Chaos::HEALED_BEFORE_END + HEAL_MIN);
    let mean_s = 1.0 / chaos.per_s;
    let (mut faults, mut next) = (Vec::new(), START);
    while faults.len() < MAX_FAULTS {
        let gap = milliseconds(2.0 * mean_s * random.unit());
        // The first fault happens even if it is rarer than the measurement is long.
        let latest = match faults.is_empty() {
            true => last,
            false => Duration::MAX,
        };
        let at = next.saturating_add(gap).min(latest);
        let Some(kind) = pick(&mut random, &chaos.kinds).filter(|_| at <= last && at >= START)
        else {
            break;
        };
        let mut fault = one(&mut random, kind, at, heal_max, servers);
        let end = time.saturating_sub(Chaos::HEALED_BEFORE_END);
        fault.heal = fault.heal.map(|heal| heal.min(end.saturating_sub(at)));
        next = fault
            .healed_at()
            .unwrap_or(fault.at)
            .saturating_add(RECOVERY);
        faults.push(fault);
    }
    faults
}

/// A fault of this kind that lasts for no more than `heal_max`.
fn one(
    random: &mut SplitMix64,
    kind: FaultKind,
    at: Duration,
    heal_max: Duration,
    servers: &Servers<'_>,
) -> Fault {
    let lasts = HEAL_MIN + milliseconds((heal_max - HEAL_MIN).as_secs_f64() * random.unit());
    let seed = random.next_u64() % SHORT_SEEDS;
    let targets = match (kind.rules().acts_on, servers.members) {
        (ActsOn::Roles, _) => vec![FaultTarget::Replica, FaultTarget::Any(seed)],
        (_, 1) => vec![FaultTarget::Primary],
        _ => vec![
            FaultTarget::Primary,
            FaultTarget::Replica,
            FaultTarget::Any(seed),
        ],
    };
    let target = pick(random, &targets).unwrap_or(FaultTarget::Primary);
    let processes = match kind.has("process") && servers.has_manager() {
        true => FaultProcess::ALL,
        false => &[FaultProcess::Server],
    };
    let delay = Duration::from_millis(5 + random.next_u64() % 46);
    let bytes_per_s = (256 << 10) << (random.next_u64() % 4);
    let has_delay = random.below(2) == 0;
    let options = FaultOptions {
        process: pick(random, processes).unwrap_or_default(),
        link: SlowLink {
            bytes_per_s: (!has_delay).then_some(bytes_per_s),
            delay: has_delay.then_some(delay),
            loss: None,
        },
        ..FaultOptions::default()
    };
    Fault {
        at,
        action: kind.with(options),
        target,
        heal: kind.lasts().then_some(lasts),
        expect_outage: servers.stop_with_primary() && target != FaultTarget::Replica,
    }
}

fn pick<T: Copy>(random: &mut SplitMix64, from: &[T]) -> Option<T> {
    from.get(random.below(from.len())).copied()
}

/// Whole milliseconds, which a study can be written with.
fn milliseconds(seconds: f64) -> Duration {
    Duration::from_millis((seconds * 1000.0) as u64)
}

/// Whether a kind can be drawn at all: what is left of a volume's devices decides what they can suffer.
fn is_drawn(kind: FaultKind) -> bool {
    let acts_on = kind.rules().acts_on;
    ![ActsOn::Devices, ActsOn::Anything].contains(&acts_on)
}

/// Why a kind cannot be drawn for these servers, and what to do.
fn refuse(kind: FaultKind, servers: &Servers<'_>) -> Option<TextError> {
    if !is_drawn(kind) {
        let message = format!("`{kind}` cannot be drawn at random");
        let help = format!("list it as [[{FAULT}]], without [chaos]");
        return Some(TextError::new(message, help));
    }
    let refused = servers.refuse_kind(kind, servers.data());
    if let Some((_, refusal)) = refused.or_else(|| servers.refuse_reboot(kind, None)) {
        return Some(refusal);
    }
    let cluster = servers.cluster.filter(|_| servers.members > 1)?;
    let isolated = std::iter::repeat_n(kind.rules().isolates, servers.hit_with(kind));
    servers.quorum_lost(isolated)?;
    let message = format!(
        "`{kind}` would take away the quorum of a `{}` cluster of {} members",
        cluster.name, servers.members
    );
    let help = "use more members, or other kinds of faults";
    Some(TextError::new(message, help))
}

/// Checks the random faults of a trial, and reports them at its point.
pub(crate) fn check(trial: &Trial, at: &Point<'_>) {
    let Some(typed) = at.given(CHAOS) else { return };
    let time = trial.load.time;
    let help = format!(
        "[chaos] needs a `load.time` of {} or more",
        format_duration(MIN_TIME)
    );
    if time.is_zero() {
        let message = "random faults need a measurement of a known length";
        at.refuse(typed.span, message, help);
    } else if time < MIN_TIME {
        let message = format!(
            "a measurement of {} is too short for random faults",
            format_duration(time)
        );
        let typed_time = at.given("load.time").map(|time| time.span);
        at.refuse_also(typed.span, typed_time.unwrap_or_default(), message, help);
    }
    let servers = Servers::of(trial, at.engines);
    let named = named(&typed.to_string()).unwrap_or_default().into_iter();
    if possible(&servers).is_empty() {
        let message = "random faults need servers that dyno starts";
        let help =
            "remove [chaos], or let dyno start the servers of every trial with `server.engine`";
        at.refuse(typed.span, message, help);
    } else if let Some(refusal) = named.filter_map(|kind| refuse(kind, &servers)).next() {
        at.add(typed.span, refusal);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plan::{ClusterTraits, EngineTraits, Quorum};
    use proptest::prelude::*;

    use super::*;
    use crate::{Study, fault_toml};

    const fn kind(
        name: &'static str,
        elects: bool,
        has_manager: bool,
        quorum: Quorum,
    ) -> ClusterTraits {
        ClusterTraits {
            name,
            elects,
            has_manager,
            has_coordinator: false,
            quorum,
            conduct: plan::Conduct {
                detector: |_| None,
                acknowledged: |_| String::new(),
                durable: &[],
                tuned: &[],
            },
        }
    }

    static KINDS: [ClusterTraits; 3] = [
        kind("loose", false, false, Quorum::One),
        kind("strict", false, false, Quorum::Two),
        kind("managed", true, true, Quorum::Majority),
    ];
    static ENGINES: [EngineTraits; 1] = [EngineTraits {
        name: "any",
        schemes: &["any"],
        is_process: true,
        clusters: &KINDS,
        reserved_setting: |_| None,
    }];

    fn text(cluster: Option<&str>, members: u32, rest: &str) -> String {
        let cluster = cluster.map_or_else(String::new, |kind| {
            format!("cluster = \"{kind}\"\nmembers = {members}\nnetwork = \"namespaces\"\n")
        });
        format!(
            "title = \"t\"\nserver.engine = \"any\"\nvolume.filesystem = \"ext4\"\n{rest}[topology]\n{cluster}"
        )
    }

    fn trials(text: &str) -> Vec<Trial> {
        Study::parse("s.toml", text, &ENGINES)
            .unwrap()
            .plan()
            .trials
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Bounded, healed in time, never two at once, no quorum lost, and all faults written out
        /// are the same trial.
        #[test]
        fn a_schedule_is_safe_and_can_be_replayed(
            seed in any::<u64>(),
            time_s in 15u64..600,
            period_s in 1u64..100,
            members in 1u32..6,
            cluster in prop::sample::select(vec![None, Some("loose"), Some("strict"), Some("managed")]),
        ) {
            let load = format!("load.time = \"{time_s}s\"\n");
            let chaos = format!("chaos = {{ rate = \"1 per {period_s}s\", seed = {seed} }}\n");
            let trial = &trials(&text(cluster, members, &format!("{load}{chaos}")))[0];
            let faults = &trial.topology.faults;
            let time = Duration::from_secs(time_s);
            prop_assert!((1..=MAX_FAULTS).contains(&faults.len()));
            for fault in faults {
                let end = fault.healed_at().unwrap_or(fault.at);
                prop_assert!(fault.at >= START && end <= time - Chaos::HEALED_BEFORE_END, "{:?}", fault);
                prop_assert!(fault.heal.is_none_or(|heal| heal >= HEAL_MIN && heal <= HEAL_MAX));
                prop_assert_eq!(fault.heal.is_some(), fault.kind().lasts());
            }
            for pair in faults.windows(2) {
                let healed = pair[0].healed_at().unwrap_or(pair[0].at);
                prop_assert!(pair[1].at >= healed + RECOVERY);
            }
            let listed: String = faults.iter().map(fault_toml).collect();
            let replayed = &trials(&format!("{}{listed}", text(cluster, members, &load)))[0];
            prop_assert_eq!(&replayed.topology.faults, faults);
        }
    }

    /// What happens is drawn, too, with each kind in its turn.
    #[test]
    fn every_possible_kind_and_target_is_drawn() {
        let faults = |cluster| {
            let rest = "load = { time = \"1000s\", repeats = 20 }\nchaos.rate = \"1 per 1s\"\nchaos.faults = \"any\"\n";
            let trials = trials(&text(cluster, 3, rest));
            let faults = trials.into_iter().flat_map(|trial| trial.topology.faults);
            faults.collect::<Vec<_>>()
        };
        let kinds =
            |cluster| -> BTreeSet<FaultKind> { faults(cluster).iter().map(Fault::kind).collect() };
        let all: BTreeSet<_> = FaultKind::ALL
            .iter()
            .copied()
            // The members of this cluster run in no guests, and on no other hosts.
            .filter(|kind| {
                is_drawn(*kind) && !["cut_power", "silence", "reboot"].contains(&kind.name())
            })
            .collect();
        assert_eq!(kinds(Some("managed")), all);
        let alone = kinds(None).into_iter().map(|kind| kind.name());
        let wanted = ["kill", "stop", "pause", "restart", "fill_disk"];
        assert_eq!(alone.collect::<Vec<_>>(), wanted);
        let elsewhere = text(None, 1, "load.time = \"1000s\"\nchaos.faults = \"any\"\n");
        let elsewhere = elsewhere.replace("filesystem = \"ext4\"", "directory = \"/d\"");
        let of_disk = |fault: &Fault| fault.kind().name() == "fill_disk";
        assert!(!trials(&elsewhere)[0].topology.faults.iter().any(of_disk));
        let wanted = elsewhere.replace("faults = \"any\"", "faults = [\"fill_disk\"]");
        assert!(trials(&wanted)[0].topology.faults.iter().all(of_disk));
        let managed = faults(Some("managed"));
        for process in FaultProcess::ALL {
            assert!(
                managed
                    .iter()
                    .any(|fault| fault.action.options().process == *process)
            );
        }
        for target in [FaultTarget::Primary, FaultTarget::Replica] {
            assert!(managed.iter().any(|fault| fault.target == target));
        }
        // A single server is expected to be away, a cluster that elects is not.
        assert!(faults(None).iter().all(|fault| fault.expect_outage));
        assert!(managed.iter().all(|fault| !fault.expect_outage));
    }

    #[test]
    fn each_repeat_has_a_schedule_of_its_own() {
        let rest = "load = { time = \"60s\", repeats = 3 }\nchaos.faults = [\"kill\", \"pause\"]\nchaos.seed = 7\n";
        let trials = trials(&text(Some("loose"), 3, rest));
        let seeds: Vec<_> = trials
            .iter()
            .filter_map(|t| Some(t.chaos.as_ref()?.seed))
            .collect();
        assert_eq!(seeds[0], 7);
        assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), 3);
        for trial in &trials {
            let alone = text(Some("loose"), 3, rest)
                .replace("repeats = 3", "repeats = 1")
                .replace(
                    "seed = 7",
                    &format!("seed = {}", trial.chaos.as_ref().unwrap().seed),
                );
            assert_eq!(
                self::trials(&alone)[0].topology.faults,
                trial.topology.faults
            );
            let chaos = trial.chaos.as_ref().unwrap();
            let kinds: Vec<_> = chaos.kinds.iter().map(|kind| kind.name()).collect();
            assert_eq!(kinds, ["kill", "pause"]);
            assert_eq!(trial.ledger.as_ref().map(|ledger| ledger.rate), Some(50.0));
        }
    }
}
