//! Checks that faults can happen in the trials of a study.

use std::time::Duration;

use crate::content::TypedFault;
use crate::error::{Located, Report};
use crate::point::Point;
use crate::servers::Servers;
use plan::{
    ActsOn, Ends, Fault, FaultProcess, FaultTarget, Span, TextError, Trial, format_duration,
};

/// Checks the faults of a trial, and reports them at its point.
pub(crate) fn check(faults: &[TypedFault], trial: &Trial, at: &Point<'_>) {
    let servers = Servers::of(trial, at.engines);
    for (i, typed) in faults.iter().enumerate() {
        within(typed, trial.load.time, at);
        let before = faults.get(..i).unwrap_or_default();
        let problem = refused(typed, &servers)
            .or_else(|| overlaps(typed, before, &servers))
            .or_else(|| loses_quorum(typed, faults, &servers));
        if let Some((span, also, error)) = problem {
            at.report(span, also, error);
        }
    }
}

/// A fault begins, and is healed, during the measurement.
fn within(typed: &TypedFault, time: Duration, at: &Point<'_>) {
    let fault = &typed.fault;
    if time.is_zero() {
        return;
    }
    let given = at.given("load.phase").or_else(|| at.given("load.time"));
    let place = given.map_or(Span::NOWHERE, |given| given.span);
    let lasts = format!("but the measurement lasts only {}", format_duration(time));
    if fault.at >= time {
        let message = format!("this fault is at {}, {lasts}", format_duration(fault.at));
        let help = "`at` counts from the start of the measurement: use an earlier `at` or a longer `load.time`";
        at.refuse_also(typed.place("at"), place, message, help);
    } else if let Some(healed) = fault.healed_at().filter(|healed| *healed >= time) {
        let message = format!(
            "this fault is healed at {}, {lasts}",
            format_duration(healed)
        );
        let help = "use a shorter `heal`, a longer `load.time`, or heal = \"never\"; the default is 10 s after `at`";
        at.refuse_also(typed.place("heal"), place, message, help);
    }
}

fn refused(typed: &TypedFault, servers: &Servers<'_>) -> Option<Located> {
    let (subject, error) = servers.refuse(&typed.fault)?;
    Some((typed.place(subject), None, error))
}

/// Two faults of one target at the same time.
fn overlaps(typed: &TypedFault, before: &[TypedFault], servers: &Servers<'_>) -> Option<Located> {
    let other = before
        .iter()
        .find(|other| overlap(&typed.fault, &other.fault, servers))?;
    let (first, second) = match other.fault.at <= typed.fault.at {
        true => (other, typed),
        false => (typed, other),
    };
    let until = match first.fault.healed_at() {
        Some(healed) => format!("until {}", format_duration(healed)),
        None => "and is never healed".to_owned(),
    };
    let message = format!(
        "this fault is at {}, while another one has the same target, from {} {until}",
        format_duration(second.fault.at),
        format_duration(first.fault.at),
    );
    let help = "choose another target, a later `at`, or an earlier `heal` of the other one";
    let (place, also) = (second.place("at"), first.place("at"));
    Some((place, Some(also), TextError::new(message, help)))
}

fn overlap(one: &Fault, other: &Fault, servers: &Servers<'_>) -> bool {
    let (first, second) = match one.at <= other.at {
        true => (one, other),
        false => (other, one),
    };
    // A server that was killed for good may be restarted by the study, and a device that failed
    // for good be replaced.
    let may_follow = || first.kind().rules().followed_by.contains(&second.kind());
    let is_active = match first.healed_at() {
        Some(healed) => second.at < healed,
        None if first.at == second.at => true,
        None => first.kind().lasts() && !may_follow(),
    };
    let is_program = |fault: &Fault| fault.kind().rules().acts_on == ActsOn::Anything;
    is_active
        && !is_program(first)
        && !is_program(second)
        && share_process(first, second)
        && share_target(first, second, servers)
}

fn share_process(one: &Fault, other: &Fault) -> bool {
    let processes = [one, other].map(|fault| fault.action.options().process);
    processes[0] == processes[1] || processes.contains(&FaultProcess::Both)
}

fn share_target(one: &Fault, other: &Fault, servers: &Servers<'_>) -> bool {
    let mut targets = one.targets();
    targets.any(|one| {
        other
            .targets()
            .any(|other| same_target(one, other, servers))
    })
}

fn same_target(one: FaultTarget, other: FaultTarget, servers: &Servers<'_>) -> bool {
    let instances = (servers.instance(one), servers.instance(other));
    match (one, other) {
        _ if matches!(instances, (Some(one), Some(other)) if one != other) => false,
        (FaultTarget::Coordinator, _) | (_, FaultTarget::Coordinator) => one == other,
        _ if servers.members == 1 => true,
        (FaultTarget::All, _) | (_, FaultTarget::All) => true,
        (FaultTarget::Primary, FaultTarget::Primary) => servers.stop_with_primary(),
        (FaultTarget::Replica, FaultTarget::Replica) => true,
        (FaultTarget::Server(one), FaultTarget::Server(other)) => one == other,
        _ => false,
    }
}

/// A cluster that accepts no commits must be the purpose of the study.
fn loses_quorum(typed: &TypedFault, all: &[TypedFault], servers: &Servers<'_>) -> Option<Located> {
    let (fault, cluster) = (&typed.fault, servers.cluster?);
    if fault.expect_outage || !isolates(fault, servers) {
        return None;
    }
    let is_also_lost = |other: &&TypedFault| {
        let instances = [fault, &other.fault].map(|fault| servers.instance(fault.target));
        !std::ptr::eq(*other, typed)
            && is_lost(&other.fault, fault.at, all, servers)
            && !matches!(instances, [Some(one), Some(other)] if one != other)
            && !share_target(fault, &other.fault, servers)
    };
    let others = all.iter().filter(is_also_lost);
    let lost = others.map(|other| &other.fault).chain([fault]);
    let left = servers.quorum_lost(lost.flat_map(|fault| servers.isolated(fault)))?;
    let message = format!(
        "this fault leaves {} of {} members, but `{}` needs {} to accept a commit",
        left.connected, left.size, cluster.name, left.needed
    );
    let help = "use more members; or, to measure the outage, add expect_outage = true";
    Some((typed.kind, None, TextError::new(message, help)))
}

/// Whether a fault that happened by then still keeps its target away.
fn is_lost(fault: &Fault, then: Duration, all: &[TypedFault], servers: &Servers<'_>) -> bool {
    let is_repair = |other: &Fault| {
        other.kind().rules().ends == Ends::AtOnce
            && (fault.at..=then).contains(&other.at)
            && share_target(other, fault, servers)
    };
    let is_over = match fault.healed_at() {
        Some(healed) => healed <= then,
        None if fault.kind().lasts() => all.iter().any(|other| is_repair(&other.fault)),
        None => fault.at < then,
    };
    fault.at <= then && !is_over && isolates(fault, servers)
}

fn isolates(fault: &Fault, servers: &Servers<'_>) -> bool {
    fault.isolated(servers.members).next().is_some()
}
