//! What the tests of whole studies share: a study's text to its plan, or to its error.

use plan::{EngineSpec, Plan, ServerSpec, Trial};
use study::Study;

pub(crate) const SMALLEST: &str = "title = \"t\"\nserver.engine = \"mariadb\"\n";

pub(crate) fn study(text: &str, overrides: &[(&str, &str)]) -> Study {
    let study = Study::parse_with_overrides("s.toml", text, overrides, engine::catalog());
    study.map_err(|e| e.to_string()).unwrap()
}

pub(crate) fn plan(text: &str, overrides: &[(&str, &str)]) -> Plan {
    study(text, overrides).plan()
}

/// The first trial of a study.
pub(crate) fn trial(text: &str, overrides: &[(&str, &str)]) -> Trial {
    plan(text, overrides).trials.remove(0)
}

/// What is said of a study that is none.
pub(crate) fn fails(text: &str, overrides: &[(&str, &str)]) -> String {
    let study = Study::parse_with_overrides("s.toml", text, overrides, engine::catalog());
    study.unwrap_err().to_string()
}

pub(crate) fn labels(plan: &Plan) -> Vec<&str> {
    plan.trials.iter().map(|t| t.label.as_str()).collect()
}

pub(crate) fn engine(trial: &Trial) -> &EngineSpec {
    let ServerSpec::Engine(engine) = &trial.server else {
        panic!("no engine")
    };
    engine
}

/// The server's settings, by name.
pub(crate) fn config(trial: &Trial) -> Vec<(&str, &str)> {
    let config = engine(trial).config.iter();
    config.map(|(n, v)| (n.as_str(), v.as_str())).collect()
}
