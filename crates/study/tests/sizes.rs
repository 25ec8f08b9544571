//! Named sizes of a study: all of their keys with one override.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use study::{Plan, ServerSpec, Study};

const STUDY: &str = "title = \"t\"
[server]
url = \"mysql://root@h/d\"
[data]
rows = 10
[load]
time = \"1s\"
[sweep]
\"load.threads\" = [1, 2]
\"data.tables\" = [3, 4]
[[variant]]
name = \"short\"
load.warmup = \"0s\"
[[variant]]
name = \"long\"
load.warmup = \"9s\"
[sizes.paper]
server.engine = \"mysql\"
server.config.innodb-buffer-pool-size = \"50G\"
data.rows = 1_000
data.tables = 8
load.warmup = \"1h\"
sweep.\"load.threads\" = [16, 32, 64]
sweep.\"topology.instances\" = [1, 2]
[sizes.medium]
data.rows = 100
";

fn study(overrides: &[(&str, &str)]) -> Result<Study, String> {
    Study::parse_with_overrides("s.toml", STUDY, overrides).map_err(|error| error.to_string())
}

fn plan(overrides: &[(&str, &str)]) -> Plan {
    study(overrides).unwrap().plan().unwrap()
}

#[test]
fn a_size_that_is_not_chosen_changes_nothing() {
    let plan = plan(&[]);
    assert_eq!(plan.trials.len(), 8);
    assert!(plan.trials.iter().all(|trial| trial.data.rows == 10));
    assert_eq!(plan.sizes, ["medium", "paper"]);
    assert_eq!(plan.size, None);
}

#[test]
fn a_size_speaks_instead_of_the_file_its_variants_and_its_axes() {
    let plan = plan(&[("sizes", "paper")]);
    assert_eq!(plan.size.as_deref(), Some("paper"));
    assert_eq!(
        plan.axes,
        [
            "variant",
            "load.threads",
            "data.tables",
            "topology.instances"
        ]
    );
    assert_eq!(plan.trials.len(), 2 * 3 * 2);
    for trial in &plan.trials {
        assert_eq!((trial.data.rows, trial.data.tables), (1_000, 8));
        assert_eq!(trial.load.warmup, Duration::from_secs(3600));
        let ServerSpec::Engine(engine) = &trial.server else {
            panic!("the engine takes the place of the url")
        };
        let (name, value) = &engine.config[0];
        assert_eq!(
            (name.as_str(), value.as_str()),
            ("innodb_buffer_pool_size", "50G")
        );
    }
}

#[test]
fn other_overrides_speak_instead_of_the_size_wherever_they_stand() {
    for overrides in [
        [
            ("sizes", "paper"),
            ("data.rows", "5"),
            ("load.threads", "7"),
        ],
        [
            ("load.threads", "7"),
            ("data.rows", "5"),
            ("sizes", "paper"),
        ],
    ] {
        let plan = plan(&overrides);
        assert!(
            plan.trials
                .iter()
                .all(|t| (t.data.rows, t.load.threads) == (5, 7))
        );
    }
    let last = plan(&[("sizes", "paper"), ("sizes", "medium")]);
    assert_eq!((last.trials.len(), last.trials[0].data.rows), (8, 100));
}

#[test]
fn the_result_tells_which_size_was_chosen() {
    let text = study(&[("sizes", "paper")]).unwrap().as_run();
    assert!(text.starts_with("# --set sizes=paper\n"), "{text}");
    assert_ne!(text, study(&[]).unwrap().as_run());
}

#[test]
fn what_cannot_be_chosen_is_told() {
    let fails = |name| study(&[("sizes", name)]).unwrap_err();
    assert_eq!(
        fails("papr"),
        "error: there is no size `papr`\n --> --set sizes=papr\n  = help: did you mean `paper`?"
    );
    assert!(
        fails("huge").contains("this study has medium, paper"),
        "{}",
        fails("huge")
    );
    let text = "title = \"t\"\nserver.engine = \"sqlite\"\n";
    let none = Study::parse_with_overrides("s.toml", text, &[("sizes", "paper")]);
    assert!(none.unwrap_err().to_string().contains("[sizes.NAME]"));
    let below = study(&[("sizes.paper.data.rows", "5")]).unwrap_err();
    assert!(below.contains("choose one with sizes=NAME"), "{below}");
}

/// Its keys are checked like the file's, with the place where they stand.
#[test]
fn a_chosen_size_is_checked_with_the_rest() {
    let text = STUDY.replace("server.engine = \"mysql\"", "server.engine = \"sqlite\"");
    let study = Study::parse_with_overrides("s.toml", &text, &[("sizes", "paper")]);
    let error = study.unwrap_err().to_string();
    assert!(error.contains("s.toml:19:"), "{error}");
    assert!(Study::parse("s.toml", &text).is_ok());
}

#[test]
fn a_password_in_a_size_is_not_kept() {
    let text = STUDY.replace(
        "data.rows = 100\n",
        "server.url = \"mysql://u:hunter2@h/d\"\n",
    );
    let study = Study::parse_with_overrides("s.toml", &text, &[("sizes", "medium")]).unwrap();
    assert!(!study.as_run().contains("hunter2") && !format!("{study:?}").contains("hunter2"));
}
