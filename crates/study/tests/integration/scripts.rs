//! Scripts in place of workloads: their names, weights, options, and variables.

use std::collections::BTreeMap;

use crate::common::{SMALLEST, fails, labels, plan, study, trial};
use study::Vocabulary;

const SCRIPTS: &str = "[load]
script = [\"tpcb-like@2\", \"own.sql\"]
options.scale = 10
[load.variables]
rows = 5
name = \"x y\"
";

fn texts(all: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    all.iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect()
}

#[test]
fn a_list_and_its_text_are_the_same() {
    let listed = trial(&format!("{SMALLEST}{SCRIPTS}"), &[]).load;
    assert_eq!(listed.workload.value, "tpcb-like@2, own.sql");
    let scripts = listed
        .scripts
        .iter()
        .map(|one| (one.path.as_str(), one.weight));
    assert_eq!(
        scripts.collect::<Vec<_>>(),
        [("tpcb-like", 2), ("own.sql", 1)]
    );
    assert_eq!(texts(&listed.options), [("scale", "10")]);
    assert_eq!(texts(&listed.variables), [("name", "x y"), ("rows", "5")]);
    let sets = [
        ("load.script", "tpcb-like@2,own.sql"),
        ("load.options.scale", "10"),
        ("load.variables.rows", "5"),
        ("load.variables.name", "x y"),
    ];
    assert_eq!(trial(SMALLEST, &sets).load, listed);
}

#[test]
fn a_script_in_lua_is_a_workload_with_options_of_all_types() {
    let text = format!(
        "{SMALLEST}[load]\nworkload = \"lua/tpcc.lua\"\n[load.options]\nscale = 2\n\
         force-pk = true\nratio = 0.5\nengine = \"innodb\"\nnames = [\"a\", \"b\"]\n"
    );
    let load = trial(&text, &[]).load;
    assert_eq!(
        (load.scripts.len(), load.scripts[0].name()),
        (1, "tpcc.lua")
    );
    let expected = [
        ("engine", "innodb"),
        ("force_pk", "true"),
        ("names", "a,b"),
        ("ratio", "0.5"),
        ("scale", "2"),
    ];
    assert_eq!(texts(&load.options), expected);
    let known = Vocabulary {
        workloads: &["oltp_read_only"],
        unknown_column: |_, _| None,
        invalid_condition: |_, _| None,
    };
    study(&text, &[]).check(&known).unwrap();
    let said = fails(&text, &[("load.variables.x", "1")]);
    assert!(
        said.contains("`load.variables.x` has no effect on this workload"),
        "{said}"
    );
}

#[test]
fn options_are_for_scripts_and_tables_for_other_workloads() {
    let said = fails(SMALLEST, &[("load.options.scale", "1")]);
    assert!(
        said.contains("`load.options.scale` has no effect on this workload"),
        "{said}"
    );
    // Each applies to some trials.
    let both = "data.rows = 100\n[load]\noptions.scale = 3\n\
                [[variant]]\nname = \"own\"\nload.script = \"select-only\"\n\
                [[variant]]\nname = \"ours\"\nload.workload = \"oltp_point_select\"\n";
    let trials = plan(&format!("{SMALLEST}{both}"), &[]).trials;
    assert_eq!((trials[0].data.rows, trials[1].data.rows), (10_000, 100));
    assert_eq!(texts(&trials[0].load.options), [("scale", "3")]);
    assert!(trials[1].load.options.is_empty() && trials[1].load.scripts.is_empty());
}

#[test]
fn an_option_can_be_swept() {
    let sweep = "[load]\nscript = \"select-only\"\n[sweep]\n\"load.options.scale\" = [1, 10]\n";
    let plan = plan(&format!("{SMALLEST}{sweep}"), &[]);
    assert_eq!(labels(&plan), ["scale=1", "scale=10"]);
    assert_eq!(texts(&plan.trials[1].load.options), [("scale", "10")]);
}
