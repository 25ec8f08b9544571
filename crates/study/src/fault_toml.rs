//! Writes a fault as a study has it.

use plan::{
    Fault, FaultKind, FaultProcess, FaultTarget, FaultVolume, Loss, format_duration, format_percent,
};

/// A fault as `[[fault]]`, to be pasted into a study file. It ends with a line break.
pub fn fault_toml(fault: &Fault) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let list = |parts: &[String]| serde_json::Value::from(parts).to_string();
    let named = |target: FaultTarget| match target {
        FaultTarget::Primary => text("primary"),
        FaultTarget::Replica => text("replica"),
        FaultTarget::Any(_) => text("any"),
        FaultTarget::All => text("all"),
        FaultTarget::Server(number) => number.to_string(),
        FaultTarget::Coordinator => text("coordinator"),
    };
    let target = named(fault.target);
    let mut lines = vec![format!("at = {}", text(&format_duration(fault.at)))];
    let mut line = |key: &str, value: String| lines.push(format!("{key} = {value}"));
    match fault.kind {
        FaultKind::Command => {
            line("command", list(&fault.command));
            line("target", target);
        }
        kind => line(kind.name(), target),
    }
    match (fault.target, fault.loss) {
        (FaultTarget::Any(seed), _) | (_, Some(Loss { seed, .. })) => {
            line("seed", seed.to_string())
        }
        _ => {}
    }
    if !fault.with.is_empty() {
        let with: Vec<String> = fault.with.iter().map(|with| named(*with)).collect();
        line("with", format!("[{}]", with.join(", ")));
    }
    if let Some(bridge) = fault.bridge {
        line("bridge", named(bridge));
    }
    if fault.process != FaultProcess::default() {
        line("process", text(fault.process.name()));
    }
    if let Some(rate) = fault.bytes_per_s {
        line("rate", text(&rate.to_string()));
    }
    if fault.volume != FaultVolume::default() {
        line("volume", text(fault.volume.name()));
    }
    if let Some(device) = fault.device {
        line("device", device.to_string());
    }
    let limits = fault.limits;
    for (name, limit) in [
        ("read_iops", limits.read_iops),
        ("write_iops", limits.write_iops),
        ("read_bytes_per_s", limits.read_bytes_per_s),
        ("write_bytes_per_s", limits.write_bytes_per_s),
    ] {
        if let Some(limit) = limit {
            line(name, limit.to_string());
        }
    }
    if let Some(delay) = fault.delay {
        line("delay", text(&format_duration(delay)));
    }
    if let Some(loss) = fault.loss {
        line("loss", text(&format_percent(loss.share)));
    }
    if !fault.heal_command.is_empty() {
        line("heal_command", list(&fault.heal_command));
    }
    match fault.heal {
        Some(heal) => line("heal", text(&format_duration(heal))),
        None if fault.kind.lasts() || !fault.heal_command.is_empty() => line("heal", text("never")),
        None => {}
    }
    if fault.expect_outage {
        line("expect_outage", "true".to_owned());
    }
    format!("[[fault]]\n{}\n", lines.join("\n"))
}
