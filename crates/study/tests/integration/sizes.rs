//! Named sizes of a study: all of their keys with one override.

use std::time::Duration;

use crate::common::{SMALLEST, config, fails, plan, study};
use study::Study;

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

#[test]
fn a_size_that_is_not_chosen_changes_nothing() {
    let plan = plan(STUDY, &[]);
    assert_eq!(plan.trials.len(), 8);
    assert!(plan.trials.iter().all(|trial| trial.data.rows == 10));
    assert_eq!(plan.sizes, ["medium", "paper"]);
    assert_eq!(plan.size, None);
}

#[test]
fn a_size_speaks_instead_of_the_file_its_variants_and_its_axes() {
    let plan = plan(STUDY, &[("sizes", "paper")]);
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
        // The engine takes the place of the url.
        assert_eq!(config(trial), [("innodb_buffer_pool_size", "50G")]);
    }
}

/// Values of one variant, and faults at other times.
#[test]
fn a_size_changes_single_variants_and_replaces_faults() {
    let text = "title = \"t\"
[server]
engine = \"mysql\"
[load]
time = \"20s\"
[[variant]]
name = \"one\"
data.rows = 10
[[variant]]
name = \"two\"
data.rows = 20
[[fault]]
at = \"5s\"
kill = \"primary\"
heal = \"never\"
[sizes.paper]
load.time = \"30m\"
variant.two.data.rows = 2_000
[[sizes.paper.fault]]
at = \"15m\"
stop = \"primary\"
[sizes.wrong]
variant.three.data.rows = 1
";
    let facts = |sets: &[(&str, &str)]| {
        let trials = plan(text, sets).trials.into_iter();
        let facts = trials.map(|trial| (trial.data.rows, trial.topology.faults[0].at.as_secs()));
        facts.collect::<Vec<_>>()
    };
    assert_eq!(facts(&[]), [(10, 5), (20, 5)]);
    assert_eq!(facts(&[("sizes", "paper")]), [(10, 900), (2_000, 900)]);
    let set = ("variant.two.data.rows", "3");
    assert_eq!(facts(&[("sizes", "paper"), set]), [(10, 900), (3, 900)]);
    let said = fails(text, &[("sizes", "wrong")]);
    assert!(
        said.starts_with("error: there is no variant `three`"),
        "{said}"
    );
}

#[test]
fn other_overrides_speak_instead_of_the_size_wherever_they_stand() {
    let mut sets = [
        ("sizes", "paper"),
        ("data.rows", "5"),
        ("load.threads", "7"),
    ];
    for _ in 0..2 {
        for trial in plan(STUDY, &sets).trials {
            assert_eq!((trial.data.rows, trial.load.threads), (5, 7));
        }
        sets.reverse();
    }
    let last = plan(STUDY, &[("sizes", "paper"), ("sizes", "medium")]);
    assert_eq!((last.trials.len(), last.trials[0].data.rows), (8, 100));
}

#[test]
fn the_result_tells_which_size_was_chosen() {
    let text = study(STUDY, &[("sizes", "paper")]).as_run();
    assert!(text.starts_with("# --set sizes=paper\n"), "{text}");
    assert_ne!(text, study(STUDY, &[]).as_run());
}

#[test]
fn what_cannot_be_chosen_is_told() {
    let said = |name| fails(STUDY, &[("sizes", name)]);
    assert_eq!(
        said("papr"),
        "error: there is no size `papr`\n --> --set sizes=papr\n  = help: did you mean `paper`?"
    );
    assert!(said("huge").contains("medium, paper"), "{}", said("huge"));
    let none = fails(SMALLEST, &[("sizes", "paper")]);
    assert!(none.contains("[sizes.NAME]"), "{none}");
    let below = fails(STUDY, &[("sizes.paper.data.rows", "5")]);
    assert!(below.contains("choose one with sizes=NAME"), "{below}");
}

/// Its keys are checked like the file's, with the place where they stand.
#[test]
fn a_chosen_size_is_checked_with_the_rest() {
    let text = STUDY.replace("server.engine = \"mysql\"", "server.engine = \"sqlite\"");
    let error = fails(&text, &[("sizes", "paper")]);
    assert!(error.contains("s.toml:19:"), "{error}");
    assert!(Study::parse("s.toml", &text, engine::catalog()).is_ok());
}

#[test]
fn a_password_in_a_size_is_not_kept() {
    let text = STUDY.replace(
        "data.rows = 100\n",
        "server.url = \"mysql://u:hunter2@h/d\"\n",
    );
    let study = study(&text, &[("sizes", "medium")]);
    assert!(!study.as_run().contains("hunter2") && !format!("{study:?}").contains("hunter2"));
}
