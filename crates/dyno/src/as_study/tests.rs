use std::time::Duration;

use clap::Parser;
use plan::{Arrivals, FindMax, Limited, Pace, StatementProtocol, Trial, Until};

use super::*;
use crate::cli::{Cli, Command};

fn study(words: &str) -> Result<PlannedStudy, Failure> {
    let words = ["dyno", "bench", "sqlite:"]
        .into_iter()
        .chain(words.split_whitespace());
    let Command::Bench(args) = Cli::try_parse_from(words).unwrap().command else {
        panic!("it is a benchmark")
    };
    without_server(&args)?;
    let dir = tempfile::tempdir().unwrap();
    let access = lab::Access::default();
    let database = engine::SQLITE
        .open("sqlite:", &access, Some(dir.path()))
        .unwrap();
    as_study(&args, &[database], "what \"SQLite\\3\"\n gives")
}

fn trial(words: &str) -> Trial {
    study(words).unwrap().plan.trials.remove(0)
}

#[test]
fn without_options_it_is_a_study_of_defaults() {
    let text = "title = \"t\"\nserver.engine = \"sqlite\"";
    let study = Study::parse("s.toml", text, engine::catalog()).unwrap();
    assert_eq!(trial("").load, study.plan().trials[0].load);
    assert_eq!(trial("").data, study.plan().trials[0].data);
}

#[test]
fn options_are_keys() {
    let typed = trial(
        "--rate 0.5 --arrivals constant --think 1ms --protocol text --no-monitors --seed 7 \
         --tables 2 --auto-inc off --skip-trx --range-selects=false --distribution zipfian:exp=0.99",
    );
    let arrivals = Arrivals::Constant;
    let per_s = 0.5;
    assert_eq!(typed.load.pace(), Pace::Open { per_s, arrivals });
    assert_eq!(typed.load.think, Duration::from_millis(1));
    assert_eq!(typed.load.distribution.value, "zipfian:exp=0.99");
    assert_eq!(
        (typed.load.protocol, typed.monitors),
        (StatementProtocol::Text, false)
    );
    assert_eq!(
        (typed.data.seed, typed.data.tables, typed.data.auto_inc),
        (7, 2, false)
    );
    assert!(typed.transaction.skip_trx && !typed.transaction.range_selects);
    let (ci, max) = (0.025, Duration::from_secs(3000));
    let until = trial("--until-ci 2.5 --max-time 50m --time 25").load.until;
    assert_eq!(until, Some(Until { ci, max }));
    let (of, limit) = (Limited::P95, Duration::from_millis(20));
    let find_max = trial("--find-max --p95 20ms").load.find_max;
    assert_eq!(find_max, Some(FindMax { of, limit }));
    assert_eq!(trial("--time 0 --events 40").load.longest(), None);
}

#[test]
fn conflicting_options_are_named_as_options() {
    let refused = |words: &str| study(words).err().unwrap().message;
    assert!(refused("--time 0 --events 0").starts_with("--time 0 means no time limit"));
    assert!(refused("--until-ci 2% --max-time 5s").contains("--time"));
}

#[test]
fn options_without_a_key_are_named() {
    let text = study("--workers 2 --ignore-errors 1062 --prepare always")
        .unwrap()
        .source
        .as_run();
    let line = "# No key of a study corresponds to --prepare, --workers, --ignore-errors.\n";
    assert!(text.contains(line), "{text}");
    let text = study("").unwrap().source.as_run();
    assert!(!text.contains("No key"), "{text}");
}
