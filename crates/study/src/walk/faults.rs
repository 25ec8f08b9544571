//! `[[fault]]`: what is broken during the measurement.

use std::time::Duration;

use toml::de::{DeArray, DeTable, DeValue};

use super::{TomlValue, Walk};
use crate::content::TypedFault;
use crate::error::Diagnostic;
use crate::read::type_words;
use plan::key::{FAULT, Key, Kind, word};
use plan::{
    DiskLimits, Fault, FaultKind, FaultProcess, FaultTarget, FaultVolume, Loss, Origin, Span,
    Spanned, nearest, parse_bytes, shown,
};

const MAX_FAULTS: usize = 100;
const MAX_ARGUMENTS: usize = 100;
/// A cluster has at most nine members.
const MAX_SIDE: usize = 8;
const HOW: &str =
    "write [[fault]] on its own line, and below it at = \"30s\" and kill = \"primary\"";
const TARGETS: &str = "a target is \"primary\", \"replica\", \"any\", \"coordinator\", the number of a server, or, of a `restart`, \"all\"";
const HEALS: &str = "write a duration, counted from `at`, or heal = \"never\"";
const NEVER: &str = "never";
/// How long a fault lasts unless the study says otherwise.
const DEFAULT_HEAL: Duration = Duration::from_secs(10);
const MONTH: Duration = Duration::from_secs(30 * 86_400);

static AT: Key = duration("fault.at", Duration::ZERO);
static HEAL: Key = duration("fault.heal", Duration::from_millis(1));
static LOSS: Key = Key {
    kind: Kind::Percent {
        min: 0.01,
        max: 99.0,
    },
    ..word("fault.loss", 0)
};
static DELAY: Key = Key {
    kind: Kind::Duration {
        min: Duration::from_millis(1),
        max: Duration::from_secs(60),
    },
    ..word("fault.delay", 0)
};
static TARGET: Key = Key {
    kind: Kind::Integer { min: 1, max: 576 },
    ..word("fault.target", 0)
};
static PROCESS: Key = Key {
    kind: Kind::Choice(FaultProcess::WORDS),
    ..word("fault.process", 0)
};
static SEED: Key = Key {
    kind: Kind::Integer {
        min: 0,
        max: u64::MAX,
    },
    ..word("fault.seed", 0)
};
static VOLUME: Key = Key {
    kind: Kind::Choice(FaultVolume::WORDS),
    ..word("fault.volume", 0)
};
static DEVICE: Key = Key {
    kind: Kind::Integer { min: 1, max: 32 },
    ..word("fault.device", 0)
};
static READ_IOPS: Key = iops("fault.read_iops");
static WRITE_IOPS: Key = iops("fault.write_iops");
static RATE: Key = word("fault.rate", 20);
static ARGUMENT: Key = word("fault.command", 4000);
static EXPECT_OUTAGE: Key = Key {
    kind: Kind::Boolean,
    ..word("fault.expect_outage", 0)
};

/// The keys besides `at` and those that name a kind.
const OPTIONS: [&str; 17] = [
    "heal",
    "process",
    "seed",
    "rate",
    "delay",
    "loss",
    "with",
    "bridge",
    "volume",
    "device",
    "read_iops",
    "write_iops",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "target",
    "heal_command",
    "expect_outage",
];

/// Those that make a device slow.
const LIMITS: [&str; 4] = [
    "read_iops",
    "write_iops",
    "read_bytes_per_s",
    "write_bytes_per_s",
];

const fn iops(name: &'static str) -> Key {
    Key {
        kind: Kind::Integer {
            min: 1,
            max: 1_000_000_000,
        },
        ..word(name, 0)
    }
}

const fn duration(name: &'static str, min: Duration) -> Key {
    Key {
        kind: Kind::Duration { min, max: MONTH },
        ..word(name, 0)
    }
}

/// A fault as far as it has been read. What was given but is invalid has been reported.
#[derive(Default)]
struct Parts {
    kinds: Vec<(FaultKind, Span)>,
    /// Its options, and where their names are.
    given: Vec<(&'static str, Span)>,
    has_at: bool,
    at: Option<Spanned<Duration>>,
    target: Option<Spanned<FaultTarget>>,
    heal: Option<Spanned<Option<Duration>>>,
    process: Option<Spanned<FaultProcess>>,
    seed: Option<u64>,
    bytes_per_s: Option<u64>,
    delay: Option<Duration>,
    loss: Option<f64>,
    with: Vec<FaultTarget>,
    bridge: Option<FaultTarget>,
    volume: Option<Spanned<FaultVolume>>,
    device: Option<u32>,
    limits: DiskLimits,
    command: Vec<String>,
    heal_command: Vec<String>,
    expect_outage: bool,
}

impl Parts {
    fn place(&self, option: &str) -> Option<Span> {
        let mut given = self.given.iter();
        given.find(|(name, _)| *name == option).map(|(_, at)| *at)
    }

    fn has(&self, option: &str) -> bool {
        self.place(option).is_some()
    }

    /// Why an option has no effect on a fault of this kind.
    fn no_effect(&self, option: &str, kind: FaultKind) -> Option<&'static str> {
        let target = self.target.as_ref();
        let is_any = target.is_none_or(|target| matches!(target.value, FaultTarget::Any(_)));
        let is_coordinator = target.is_some_and(|one| one.value == FaultTarget::Coordinator);
        let is_command = kind == FaultKind::Command;
        let (has_effect, why) = match option {
            "heal" if is_command => (
                self.has("heal_command"),
                "dyno does not know how to heal it: add heal_command = [\"program\", \"argument\"]",
            ),
            "heal" => (kind.lasts(), "it ends by itself: remove `heal`"),
            "process" if is_coordinator => (false, "the coordinator is one program"),
            "process" => (
                kind.is_of_processes(),
                "only `kill`, `stop`, and `pause` are done to processes",
            ),
            "seed" => (
                is_any || self.has("loss"),
                "only the target \"any\" and lost packets are drawn at random",
            ),
            "rate" | "delay" | "loss" => (
                kind == FaultKind::SlowLink,
                "only `slow_link` has a rate, a delay, and a loss",
            ),
            "with" | "bridge" => (
                kind == FaultKind::Partition && !is_coordinator,
                "only a `partition` of members has two sides and a bridge between them",
            ),
            "volume" => (
                kind.is_of_volume(),
                "only faults of devices, `scrub`, and `fill_disk` are done to a volume",
            ),
            "device" => (
                kind.is_of_device(),
                "only `fail_device`, `slow_device`, and `replace_device` are done to one device",
            ),
            name if LIMITS.contains(&name) => (
                kind == FaultKind::SlowDevice,
                "only `slow_device` limits a device",
            ),
            "target" => (
                is_command,
                "write the target after the kind: kill = \"primary\"",
            ),
            "heal_command" => (is_command, "only `command` is healed by a command"),
            _ => (true, ""),
        };
        (!has_effect).then_some(why)
    }

    fn heal(&self, kind: FaultKind) -> Option<Duration> {
        match &self.heal {
            Some(heal) => heal.value,
            None => (kind.lasts() || !self.heal_command.is_empty()).then_some(DEFAULT_HEAL),
        }
    }
}

impl Walk {
    pub(super) fn faults(&mut self, list: &DeArray<'_>) {
        for (i, typed) in list.iter().enumerate() {
            let at = Span::new(Origin::File, typed.span());
            match typed.get_ref() {
                _ if i == MAX_FAULTS => {
                    let message = format!("the study has {} faults", list.len());
                    let help = format!("a study has at most {MAX_FAULTS}");
                    return self.diagnostics.add(at, Diagnostic::new(message, help));
                }
                DeValue::Table(table) => self.fault(table, at),
                other => self.not_faults(other, at),
            }
        }
    }

    pub(super) fn not_faults(&mut self, value: &DeValue<'_>, at: Span) {
        let found = match value {
            DeValue::Table(_) => "one table",
            other => type_words(other),
        };
        let message = format!("`{FAULT}` is a list of tables, not {found}");
        self.diagnostics.add(at, Diagnostic::new(message, HOW));
    }

    fn fault(&mut self, table: &DeTable<'_>, place: Span) {
        let mut parts = Parts::default();
        for (typed, value) in table.iter() {
            let span = Span::new(Origin::File, typed.span());
            self.part(typed.get_ref(), span, value, &mut parts);
        }
        if !parts.has_at {
            let diagnostic = Diagnostic::new("this fault has no `at`", HOW);
            self.diagnostics.add(place, diagnostic);
        }
        let &[(kind, kind_at)] = parts.kinds.as_slice() else {
            let message = match parts.kinds.len() {
                0 => "this fault does not say what to do".to_owned(),
                count => format!("a fault does one thing, not {count}"),
            };
            let kinds: Vec<_> = FaultKind::WORDS.iter().map(|w| format!("`{w}`")).collect();
            let help = format!("a fault has `at` and one of {}", kinds.join(", "));
            return self.diagnostics.add(place, Diagnostic::new(message, help));
        };
        self.options_have_an_effect(&parts, kind, kind_at);
        self.complete(parts, kind, kind_at);
    }

    fn options_have_an_effect(&mut self, parts: &Parts, kind: FaultKind, kind_at: Span) {
        for (option, at) in &parts.given {
            if let Some(why) = parts.no_effect(option, kind) {
                let message = format!("`{option}` has no effect on `{kind}` here");
                let diagnostic = Diagnostic::new(message, why).also(kind_at);
                self.diagnostics.add(*at, diagnostic);
            }
        }
        if kind == FaultKind::SlowLink && !["rate", "delay", "loss"].iter().any(|o| parts.has(o)) {
            let message = "this link is not slow";
            let help = "add a rate in bytes per second, rate = \"1M\", delay = \"20ms\", loss = \"1%\", or several of them";
            self.diagnostics
                .add(kind_at, Diagnostic::new(message, help));
        }
        if kind == FaultKind::SlowDevice && !LIMITS.iter().any(|limit| parts.has(limit)) {
            let message = "this device is not slow";
            let help = "add `read_iops`, `write_iops`, `read_bytes_per_s`, or `write_bytes_per_s`";
            self.diagnostics
                .add(kind_at, Diagnostic::new(message, help));
        }
        let target = parts.target.as_ref();
        if let (FaultKind::Switchover, Some(target)) = (kind, target)
            && target.value == FaultTarget::Primary
        {
            let message = "the primary cannot take over from itself";
            let help = "name the member that takes over: switchover = \"replica\"";
            self.diagnostics
                .add(target.span, Diagnostic::new(message, help));
        }
        if let Some(target) = target.filter(|target| target.value == FaultTarget::All)
            && kind != FaultKind::Restart
        {
            let message = format!("`{kind}` is not done to all members");
            let help =
                "only `restart` is, to one member after the other; give others one fault each";
            self.diagnostics
                .add(target.span, Diagnostic::new(message, help));
        }
        self.sides_differ(parts);
    }

    /// Rejects partitions that name a member twice; each `replica` stands for a different member.
    fn sides_differ(&mut self, parts: &Parts) {
        let target = parts.target.iter().map(|target| target.value);
        let mut named: Vec<_> = target.chain(parts.with.iter().copied()).collect();
        named.extend(parts.bridge);
        let is_twice = |(i, one): (usize, &FaultTarget)| {
            *one != FaultTarget::Replica && named.iter().skip(i + 1).any(|other| other == one)
        };
        let twice = named.iter().enumerate().find(|named| is_twice(*named));
        let place = parts.place("bridge").or(parts.place("with"));
        if let (Some((_, twice)), Some(place)) = (twice, place) {
            let message = format!("this partition names {twice} twice");
            let help = "name each member once: on the target's side in `with`, or as the `bridge`";
            self.diagnostics.add(place, Diagnostic::new(message, help));
        }
    }

    fn complete(&mut self, parts: Parts, kind: FaultKind, kind_at: Span) {
        let heal = parts.heal(kind);
        let [device, with, bridge] = ["device", "with", "bridge"].map(|name| parts.place(name));
        let default = Spanned {
            value: FaultTarget::Primary,
            span: kind_at,
        };
        let target = match kind {
            FaultKind::Command if !parts.has("target") => Some(default),
            _ => parts.target,
        };
        let (Some(at), Some(target)) = (parts.at, target) else {
            return;
        };
        self.content.faults.push(TypedFault {
            fault: Fault {
                at: at.value,
                kind,
                target: match (target.value, parts.seed) {
                    (FaultTarget::Any(_), Some(seed)) => FaultTarget::Any(seed),
                    (other, _) => other,
                },
                heal,
                process: parts
                    .process
                    .as_ref()
                    .map_or_else(FaultProcess::default, |p| p.value),
                bytes_per_s: parts.bytes_per_s,
                delay: parts.delay,
                loss: parts.loss.map(|share| Loss {
                    share,
                    seed: parts.seed.unwrap_or_default(),
                }),
                with: parts.with,
                bridge: parts.bridge,
                volume: parts
                    .volume
                    .as_ref()
                    .map_or_else(FaultVolume::default, |v| v.value),
                device: kind.is_of_device().then(|| parts.device.unwrap_or(1)),
                limits: parts.limits,
                command: parts.command,
                heal_command: parts.heal_command,
                expect_outage: parts.expect_outage,
            },
            has_seed: parts.seed.is_some(),
            kind: kind_at,
            at: at.span,
            target: target.span,
            heal: parts.heal.map(|heal| heal.span),
            process: parts.process.map(|process| process.span),
            device,
            with,
            bridge,
            volume: parts.volume.map(|volume| volume.span),
        });
    }

    fn part(&mut self, name: &str, span: Span, value: &TomlValue<'_>, parts: &mut Parts) {
        if let Some(&kind) = FaultKind::ALL.iter().find(|kind| kind.name() == name) {
            parts.kinds.push((kind, span));
            match kind {
                FaultKind::Command => parts.command = self.arguments(value),
                _ => parts.target = self.target(value),
            }
            return;
        }
        let option = OPTIONS.iter().find(|option| **option == name);
        parts.given.extend(option.map(|option| (*option, span)));
        match name {
            "at" => {
                parts.has_at = true;
                parts.at = self.typed(&AT, value);
            }
            "heal" => parts.heal = self.heal(value),
            "process" => parts.process = self.typed(&PROCESS, value),
            "seed" => parts.seed = self.typed(&SEED, value).map(|seed| seed.value),
            "rate" => parts.bytes_per_s = self.bytes_per_s(value),
            "delay" => parts.delay = self.typed(&DELAY, value).map(|delay| delay.value),
            "loss" => parts.loss = self.typed(&LOSS, value).map(|loss| loss.value),
            "with" => parts.with = self.side(value),
            "bridge" => parts.bridge = self.member(value),
            "volume" => parts.volume = self.typed(&VOLUME, value),
            "device" => parts.device = self.typed(&DEVICE, value).map(|device| device.value),
            "read_iops" => parts.limits.read_iops = self.iops(&READ_IOPS, value),
            "write_iops" => parts.limits.write_iops = self.iops(&WRITE_IOPS, value),
            "read_bytes_per_s" => parts.limits.read_bytes_per_s = self.bytes_per_s(value),
            "write_bytes_per_s" => parts.limits.write_bytes_per_s = self.bytes_per_s(value),
            "target" => parts.target = self.target(value),
            "heal_command" => parts.heal_command = self.arguments(value),
            "expect_outage" => {
                let is_expected = self.typed(&EXPECT_OUTAGE, value);
                parts.expect_outage = is_expected.is_some_and(|is| is.value);
            }
            _ => self.unknown("key", name, span, || suggestion(name)),
        }
    }

    fn target(&mut self, value: &TomlValue<'_>) -> Option<Spanned<FaultTarget>> {
        let span = Span::new(Origin::File, value.span());
        let value = match value.get_ref() {
            DeValue::String(word) => match word.as_ref() {
                "primary" => FaultTarget::Primary,
                "replica" => FaultTarget::Replica,
                "any" => FaultTarget::Any(0),
                "coordinator" => FaultTarget::Coordinator,
                "all" => FaultTarget::All,
                other => {
                    let message = format!("`{}` is not the target of a fault", shown(other));
                    self.diagnostics
                        .add(span, Diagnostic::new(message, TARGETS));
                    return None;
                }
            },
            DeValue::Integer(_) => FaultTarget::Server(self.typed(&TARGET, value)?.value),
            other => {
                let message = format!("the target of a fault is not {}", type_words(other));
                self.diagnostics
                    .add(span, Diagnostic::new(message, TARGETS));
                return None;
            }
        };
        Some(Spanned { value, span })
    }

    /// A member that a partition names besides its target: not one of many.
    fn member(&mut self, value: &TomlValue<'_>) -> Option<FaultTarget> {
        let named = self.target(value)?;
        let is_role = matches!(named.value, FaultTarget::Primary | FaultTarget::Replica);
        if !is_role && !matches!(named.value, FaultTarget::Server(_)) {
            let message = "a partition names its other members by role or number";
            let help = "write \"primary\", \"replica\", or the number of a server";
            self.diagnostics
                .add(named.span, Diagnostic::new(message, help));
            return None;
        }
        Some(named.value)
    }

    /// The other members on the target's side of a partition.
    fn side(&mut self, value: &TomlValue<'_>) -> Vec<FaultTarget> {
        let list = value.get_ref().as_array();
        let Some(list) = list.filter(|list| (1..=MAX_SIDE).contains(&list.len())) else {
            let message = match value.get_ref() {
                DeValue::Array(list) => format!("this side has {} more members", list.len()),
                other => format!("a side of a partition is a list, not {}", type_words(other)),
            };
            let help = format!(
                "name 1 to {MAX_SIDE} members that stay with the target: with = [\"replica\", 3]"
            );
            let span = Span::new(Origin::File, value.span());
            self.diagnostics.add(span, Diagnostic::new(message, help));
            return Vec::new();
        };
        list.iter().filter_map(|named| self.member(named)).collect()
    }

    fn heal(&mut self, value: &TomlValue<'_>) -> Option<Spanned<Option<Duration>>> {
        let span = Span::new(Origin::File, value.span());
        let value = match value.get_ref().as_str() {
            Some(NEVER) => None,
            Some(word) if !word.contains(|c: char| c.is_ascii_digit()) => {
                let message = format!("`{}` is no time to heal a fault", shown(word));
                self.diagnostics.add(span, Diagnostic::new(message, HEALS));
                return None;
            }
            _ => Some(self.typed(&HEAL, value)?.value),
        };
        Some(Spanned { value, span })
    }

    fn iops(&mut self, key: &'static Key, value: &TomlValue<'_>) -> Option<u64> {
        Some(self.typed(key, value)?.value)
    }

    fn bytes_per_s(&mut self, value: &TomlValue<'_>) -> Option<u64> {
        let text = self.text(&RATE, value, Origin::File)?;
        let rate = parse_bytes(&text).filter(|rate| *rate > 0);
        if rate.is_none() {
            let message = format!("`{}` is not a rate", shown(&text));
            let help = "write bytes per second, such as \"500K\" or \"1M\"";
            self.diagnostics
                .add(text.span, Diagnostic::new(message, help));
        }
        rate
    }

    /// A program and its arguments.
    fn arguments(&mut self, value: &TomlValue<'_>) -> Vec<String> {
        let span = Span::new(Origin::File, value.span());
        let list = value.get_ref().as_array();
        let Some(list) = list.filter(|list| (1..=MAX_ARGUMENTS).contains(&list.len())) else {
            let message = match value.get_ref() {
                DeValue::Array(list) => format!("the command has {} parts", list.len()),
                other => format!("a command is a list of strings, not {}", type_words(other)),
            };
            let help = format!(
                "write the program and its arguments, at most {MAX_ARGUMENTS} parts: command = [\"/path/to/program\", \"argument\"]"
            );
            self.diagnostics.add(span, Diagnostic::new(message, help));
            return Vec::new();
        };
        let parts = list.iter();
        let parts = parts.filter_map(|part| self.text(&ARGUMENT, part, Origin::File));
        parts.map(|part| part.value).collect()
    }
}

fn suggestion(name: &str) -> String {
    let words = || {
        let kinds = FaultKind::WORDS.iter().copied();
        kinds.chain(OPTIONS).chain(["at"])
    };
    match nearest(name, words()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let words: Vec<_> = words().map(|word| format!("`{word}`")).collect();
            format!("a fault has {}", words.join(", "))
        }
    }
}
