//! Two studies as one of two variants.

use plan::{Plan, Trial};
use study::{BASE, NEW, Study};

use crate::common::{SMALLEST, plan, study};

/// The study of both, as it is written, with two starts.
fn pair(base: &Study, new: &Study) -> Plan {
    let text = base.against(new, "a \"pair\"", "starts = 2\n").unwrap();
    let pair = plan(&text.unwrap(), &[]);
    assert_eq!(pair.title, "a \"pair\"");
    pair
}

/// What a trial runs, whatever it is called.
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
    for (side, name) in [(base, BASE), (new, NEW)] {
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

/// What one does not set is its default there, and in no variant.
#[test]
fn only_what_differs_is_in_a_variant() {
    let base = study(
        SMALLEST,
        &[("topology.instances", "2"), ("load.think", "0s")],
    );
    let sets = [("server.engine", "postgres"), ("server.reset", "copy")];
    let new = study(SMALLEST, &sets);
    assert_pair(&base, &new);
    let text = base.against(&new, "t", "").unwrap().unwrap();
    let (common, variants) = text.split_once("\n[compare]\n").unwrap();
    let lines: Vec<&str> = common.lines().collect();
    let expected = [
        "title = \"t\"",
        "load.think = \"0s\"",
        "server.reset = \"copy\"",
    ];
    assert_eq!(lines, expected);
    assert_eq!(
        variants,
        "\n[[variant]]\nname = \"base\"\nserver.engine = \"mariadb\"\ntopology.instances = 2\n\
         \n[[variant]]\nname = \"new\"\nserver.engine = \"postgres\"\n"
    );
    let again = study(SMALLEST, &[("load.repeats", "4"), ("server.reset", "copy")]);
    assert_eq!(again.against(&study(SMALLEST, &[]), "t", ""), Ok(None));
}

#[test]
fn what_both_must_have_in_common_is_told() {
    let other = |sets: &[(&str, &str)], others: &[(&str, &str)]| {
        let unlike = study(SMALLEST, sets).against(&study(SMALLEST, others), "t", "");
        let unlike = unlike.unwrap_err();
        let values = unlike.values.map(|value| value.unwrap_or_default());
        format!("{}: {}", unlike.key, values.join(" / "))
    };
    let think = other(&[], &[("load.think", "1ms")]);
    assert_eq!(think, "load.think: \"0s\" / \"1ms\"");
    let threads = [("sweep.load.threads", "[1, 2]")];
    let axis = other(&[("load.threads", "4")], &threads);
    assert_eq!(axis, "sweep.\"load.threads\":  / [1, 2]");
    let fault = format!("{SMALLEST}topology.cluster = \"galera\"\n[[fault]]\nat = \"1s\"\nkill = ");
    let [one, two] = [1, 2].map(|server| study(&format!("{fault}{server}\n"), &[]));
    assert_eq!(one.against(&two, "t", "").unwrap_err().key, "fault");
}
