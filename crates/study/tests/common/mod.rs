//! What the tests of whole studies share: a study's text to its plan, or to its error.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses its part; the panic is the test's failure message"
)]

use plan::{EngineSpec, Plan, ServerSpec, Trial};
use study::Study;

pub const SMALLEST: &str = "title = \"t\"\nserver.engine = \"mariadb\"\n";

pub fn study(text: &str, overrides: &[(&str, &str)]) -> Study {
    let study = Study::parse_with_overrides("s.toml", text, overrides, engine::catalog());
    study.map_err(|e| e.to_string()).unwrap()
}

pub fn plan(text: &str, overrides: &[(&str, &str)]) -> Plan {
    study(text, overrides).plan().unwrap()
}

/// What is said of a study that is none.
pub fn fails(text: &str, overrides: &[(&str, &str)]) -> String {
    let study = Study::parse_with_overrides("s.toml", text, overrides, engine::catalog());
    study.unwrap_err().to_string()
}

pub fn labels(plan: &Plan) -> Vec<&str> {
    plan.trials.iter().map(|t| t.label.as_str()).collect()
}

pub fn engine(trial: &Trial) -> &EngineSpec {
    let ServerSpec::Engine(engine) = &trial.server else {
        panic!("no engine")
    };
    engine
}

/// The server's settings, by name.
pub fn config(trial: &Trial) -> Vec<(&str, &str)> {
    let config = engine(trial).config.iter();
    config.map(|(n, v)| (n.as_str(), v.as_str())).collect()
}
