//! Writes a fault as a study has it.

use plan::{
    ActsOn, Fault, FaultProcess, FaultTarget, FaultVolume, Loss, format_duration, format_percent,
};

/// A fault as `[[fault]]`, to be pasted into a study file. It ends with a line break.
pub fn fault_toml(fault: &Fault) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let list = |parts: &[String]| serde_json::Value::from(parts).to_string();
    let time = |time| text(&format_duration(time));
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let named = |target: FaultTarget| match target {
        FaultTarget::Primary => text("primary"),
        FaultTarget::Replica => text("replica"),
        FaultTarget::Any(_) => text("any"),
        FaultTarget::All => text("all"),
        FaultTarget::Server(number) => number.to_string(),
        FaultTarget::Coordinator => text("coordinator"),
    };
    let (kind, options) = (fault.kind(), fault.action.options());
    let is_command = kind.rules().acts_on == ActsOn::Anything;
    let has_heal_command = !options.heal_command.is_empty();
    let target = named(fault.target);
    let seed = match (fault.target, options.link.loss) {
        (FaultTarget::Any(seed), _) | (_, Some(Loss { seed, .. })) => Some(seed),
        _ => None,
    };
    let with: Vec<String> = options.with.iter().map(|with| named(*with)).collect();
    let is_never = fault.heal.is_none() && (kind.lasts() || has_heal_command);
    let other_process = Some(options.process).filter(|one| *one != FaultProcess::default());
    let other_volume = Some(options.volume).filter(|one| *one != FaultVolume::default());
    let limits = options.limits;
    let what = match is_command {
        true => list(&options.command),
        false => target.clone(),
    };
    let lines = [
        ("at", Some(time(fault.at))),
        (kind.name(), Some(what)),
        ("target", is_command.then_some(target)),
        ("seed", number(seed)),
        (
            "with",
            (!with.is_empty()).then(|| format!("[{}]", with.join(", "))),
        ),
        ("bridge", options.bridge.map(named)),
        ("process", other_process.map(|process| text(process.name()))),
        (
            "rate",
            options.link.bytes_per_s.map(|rate| text(&rate.to_string())),
        ),
        ("volume", other_volume.map(|volume| text(volume.name()))),
        ("device", number(options.device.map(u64::from))),
        ("read_iops", number(limits.read_iops)),
        ("write_iops", number(limits.write_iops)),
        ("read_bytes_per_s", number(limits.read_bytes_per_s)),
        ("write_bytes_per_s", number(limits.write_bytes_per_s)),
        ("delay", options.link.delay.map(time)),
        (
            "loss",
            options
                .link
                .loss
                .map(|loss| text(&format_percent(loss.share))),
        ),
        (
            "heal_command",
            has_heal_command.then(|| list(&options.heal_command)),
        ),
        (
            "heal",
            fault.heal.map(time).or(is_never.then(|| text("never"))),
        ),
        (
            "expect_outage",
            fault.expect_outage.then(|| true.to_string()),
        ),
    ];
    let lines = lines.into_iter();
    let lines = lines.filter_map(|(key, value)| Some(format!("{key} = {}\n", value?)));
    format!("[[fault]]\n{}", lines.collect::<String>())
}
