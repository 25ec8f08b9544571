//! The list of agents.

use comfy_table::{CellAlignment, Table, presets};
use fleet::{Identity, Presence};
use measure::clock::Offsets;

const HEADS: [&str; 7] = [
    "label",
    "state",
    "CPUs",
    "version",
    "architecture",
    "clock ahead, ms",
    "round trip, ms",
];
/// Columns of text, which begin at their left.
const OF_TEXT: [bool; 7] = [true, true, false, true, true, false, false];

/// A line for each agent, and what keeps it from working for this coordinator.
pub(super) fn table(
    agents: &[(Presence, Option<Offsets>)],
    own: &Identity,
    public_key: &str,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(HEADS);
    for (agent, offsets) in agents {
        let identity = &agent.identity;
        let [ahead, round_trip] = clock(*offsets);
        table.add_row([
            identity.label.clone(),
            state(agent, own, public_key),
            identity.cpus.to_string(),
            identity.build.clone(),
            identity.architecture.clone(),
            ahead,
            round_trip,
        ]);
    }
    for (column, is_text) in table.column_iter_mut().zip(OF_TEXT) {
        column.set_padding((0, 2));
        if !is_text {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

fn state(agent: &Presence, own: &Identity, public_key: &str) -> String {
    let identity = &agent.identity;
    match &agent.run {
        _ if agent.trusts != public_key => "other key".to_owned(),
        _ if identity.architecture != own.architecture => "other CPU".to_owned(),
        _ if identity.build != own.build => "other version".to_owned(),
        Some(run) => format!("busy ({run})"),
        None => "free".to_owned(),
    }
}

fn clock(offsets: Option<Offsets>) -> [String; 2] {
    let Some(Offsets { steady, wall }) = offsets else {
        return ["no answer", ""].map(str::to_owned);
    };
    let [ahead_ms, bound_ms] = [wall.ahead_ns as f64, wall.bound_ns as f64].map(|ns| ns / 1e6);
    let round_trip_ms = steady.round_trip_ns as f64 / 1e6;
    [
        format!("{ahead_ms:+.3} ± {bound_ms:.3}"),
        format!("{round_trip_ms:.3}"),
    ]
}

#[cfg(test)]
mod tests {
    use measure::clock::Offset;

    use super::*;

    fn agent(label: &str, build: &str, architecture: &str, run: Option<&str>) -> Presence {
        Presence {
            identity: Identity {
                label: label.to_owned(),
                id: String::new(),
                build: build.to_owned(),
                architecture: architecture.to_owned(),
                cpus: 16,
                machine: String::new(),
                network: String::new(),
                process: 1,
            },
            run: run.map(str::to_owned),
            trusts: "key".to_owned(),
        }
    }

    #[test]
    fn a_line_says_what_an_agent_is() {
        let offset = Offset {
            at_ns: 0,
            ahead_ns: -2_000_500_000,
            bound_ns: 90_000,
            round_trip_ns: 180_000,
        };
        let offset = Offsets {
            steady: offset,
            wall: offset,
        };
        let own = agent("own", "1.0+aa", "x86_64", None).identity;
        let mut stranger = agent("d", "1.0+aa", "x86_64", None);
        stranger.trusts = "another".to_owned();
        let agents = [
            (agent("a", "1.0+aa", "x86_64", None), Some(offset)),
            (
                agent("load-2", "1.0+aa", "x86_64", Some("5e1c")),
                Some(offset),
            ),
            (agent("b", "1.0+bb", "x86_64", None), None),
            (agent("c", "1.0+cc", "aarch64", None), None),
            (stranger, None),
        ];
        let table = table(&agents, &own, "key");
        let wanted = "\
label   state          CPUs  version  architecture    clock ahead, ms  round trip, ms
a       free             16  1.0+aa   x86_64        -2000.500 ± 0.090           0.180
load-2  busy (5e1c)      16  1.0+aa   x86_64        -2000.500 ± 0.090           0.180
b       other version    16  1.0+bb   x86_64                no answer
c       other CPU        16  1.0+cc   aarch64               no answer
d       other key        16  1.0+aa   x86_64                no answer";
        assert_eq!(table, wanted, "\n{table}");
    }
}
