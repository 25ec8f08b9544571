//! Servers that replicate: how, and how many.

use crate::common::{labels, plan, trial};

const CLUSTER: &str = "title = \"t\"\nserver.engine = \"postgres\"\n[topology]\n";

#[test]
fn a_cluster_has_three_members_unless_the_study_says_otherwise() {
    let topology = trial(&format!("{CLUSTER}cluster = \"quorum\"\n"), &[]).topology;
    assert_eq!(topology.cluster.as_ref().unwrap().kind.value, "quorum");
    assert_eq!((topology.members(), topology.nodes()), (3, 3));
    let single = trial(CLUSTER, &[]).topology;
    assert_eq!((single.nodes(), single.cluster), (1, None));
}

#[test]
fn kinds_and_members_are_axes() {
    let text = format!(
        "{CLUSTER}instances = 2\n[sweep]\n\"topology.cluster\" = [\"asynchronous\", \"quorum\"]\n\
         \"topology.members\" = [1, 5]\n"
    );
    let plan = plan(&text, &[]);
    assert_eq!(
        labels(&plan),
        [
            "cluster=asynchronous, members=1",
            "cluster=asynchronous, members=5",
            "cluster=quorum, members=1",
            "cluster=quorum, members=5"
        ]
    );
    assert_eq!(plan.trials[3].topology.nodes(), 10);
}

#[test]
fn a_time_to_live_needs_a_manager_in_every_trial_that_it_distinguishes() {
    let parsed = |rest: &str| {
        let text = format!("{CLUSTER}{rest}");
        study::Study::parse("s.toml", &text, engine::catalog())
    };
    let both = "[sweep]\n\"topology.cluster\" = [\"patroni\", \"quorum\"]\n";
    assert!(parsed(&format!("ttl = \"5s\"\n{both}")).is_ok());
    for text in [
        "cluster = \"quorum\"\nttl = \"5s\"\n",
        &format!("{both}\"topology.ttl\" = [\"5s\", \"10s\"]\n"),
    ] {
        let error = parsed(text).unwrap_err().to_string();
        assert!(
            error.contains("`topology.ttl` has no effect on") && error.contains("`quorum`"),
            "{error}"
        );
    }
}
