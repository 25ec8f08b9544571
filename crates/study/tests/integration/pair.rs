//! Two studies as one of two variants.

use plan::{Plan, Trial};
use study::{SIDES, Study};

use crate::common::{SMALLEST, plan, study};

/// The study of both, with two starts.
fn pair(base: &Study, new: &Study) -> Plan {
    let text = base.against(new, "a \"pair\"", "starts = 2\n");
    let pair = plan(&text.map_err(|e| e.to_string()).unwrap(), &[]);
    assert_eq!(pair.title, "a \"pair\"");
    pair
}

/// A trial without what identifies it.
fn what(trial: &Trial) -> Trial {
    Trial {
        number: 0,
        label: String::new(),
        place: 0,
        compare: None,
        point: trial.common_point(),
        ..trial.clone()
    }
}

/// The first trial of each point, in the order of the study.
fn points(plan: &Plan, variant: Option<&str>) -> Vec<Trial> {
    let trials = plan.trials.iter();
    let first = trials.filter(|trial| trial.repeat == 1 && trial.variant() == variant);
    let mut first: Vec<&Trial> = first.collect();
    first.sort_by_key(|trial| trial.place);
    first.into_iter().map(what).collect()
}

/// Each side of a pair runs what its study ran, and nothing else.
#[track_caller]
fn assert_pair(base: &Study, new: &Study) {
    let pair = pair(base, new);
    assert_eq!(pair.repeats, 2);
    for (side, name) in [base, new].into_iter().zip(SIDES) {
        assert_eq!(points(&pair, Some(name)), points(&side.plan(), None));
    }
}

#[test]
fn each_side_runs_what_its_study_ran() {
    let studies = [
        "load.repeats = 3\nload.order = \"written\"\nsweep.\"load.threads\" = [8, 1]\n\
         sweep.\"data.rows\" = [10, 20]",
        "[load]\ntime = \"90s\"\nthink = \"1500us\"\nuntil = { ci = \"2.5%\", max = \"10m\" }\n\
         distribution = \"zipfian:exp=0.9\"",
        "[load]\nrate = 0.5\narrivals = \"constant\"\nreply_time = \"program\"\nevents = 7",
        "transaction.range_selects = false\nmonitors.enabled = false\nserver.version = \"10.11\"",
        "[site]\nkind = \"limited\"\ncpus = 1.5\ncpuset = \"0-1\"\nmemory = 500_000_000",
        "[topology]\ncluster = \"galera\"\nnetwork = \"namespaces\"\n[ledger]\n\
         [[fault]]\nat = \"2s\"\nslow_link = \"primary\"\nloss = \"2.5%\"\n\
         [[fault]]\nat = \"9s\"\nkill = \"any\"\nseed = 7",
        "topology.cluster = \"galera\"\nload.time = \"60s\"\nchaos.faults = [\"kill\", \"pause\"]",
        "topology.cluster = \"galera\"\nload.time = \"60s\"\n[chaos]",
        "[volume]\nfilesystem = \"xfs\"\ndevice = \"/dev/disk/by-id/a\"\nread_iops = 7\n\
         allow_format = [\"/dev/disk/by-id/a\", \"/dev/b\"]\nread_bytes_per_s = \"500M\"",
        "[report]\ntables = []\n",
        "[thresholds]\n\"tps\" = \"> 1\"\n[sizes.large]\ndata.rows = 7",
    ];
    for text in studies {
        let text = format!("{SMALLEST}{text}");
        let base = study(&text, &[("server.config.sync_binlog", "-1")]);
        let new = study(&text, &[("server.config.a.b-c", "0.25"), ("title", "n")]);
        assert_pair(&base, &new);
    }
}

#[test]
fn only_what_differs_is_in_a_variant() {
    let base = study(
        SMALLEST,
        &[("topology.instances", "2"), ("load.think", "0s")],
    );
    let sets = [("server.engine", "postgres"), ("load.think", "0s")];
    let new = study(SMALLEST, &sets);
    assert_pair(&base, &new);
    assert_eq!(
        base.against(&new, "t", "").unwrap(),
        "title = \"t\"\nload.think = \"0s\"\n\n[compare]\n\
         \n[[variant]]\nname = \"base\"\nserver.engine = \"mariadb\"\ntopology.instances = 2\n\
         \n[[variant]]\nname = \"new\"\nserver.engine = \"postgres\"\n"
    );
}

#[test]
fn what_both_must_have_in_common_is_told() {
    let told = |base: &str, new: &str, text: &str| {
        let [base, new] = [base, new].map(|rest| study(&format!("{SMALLEST}{rest}"), &[]));
        let error = base.against(&new, "t", "").unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    };
    told(
        "",
        "load.think = \"1ms\"",
        "is \"1ms\" here, but not set in base\n --> s.toml:3:",
    );
    told(
        "load.think = \"1ms\"",
        "",
        "is not set here, but \"1ms\" in base",
    );
    let axis = "`sweep` is { \"load.threads\" = [1, 2] } here, but not set in base";
    told("", "sweep.\"load.threads\" = [1, 2]", axis);
    let fault = |server: u8| {
        format!("topology.cluster = \"galera\"\n[[fault]]\nat = \"1s\"\nkill = {server}")
    };
    told(&fault(1), &fault(2), "`fault` is [{ at = \"1s\", kill = 2,");
    told("load.repeats = 4", "description = \"d\"", "does not differ");
    let variants = "[[variant]]\nname = \"a\"";
    told(variants, "", "has variants\n --> s.toml:4:");
}
