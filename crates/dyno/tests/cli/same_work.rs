//! Benchmarks of other work are not compared, and the study that is kept of a benchmark
//! does the same work again.

use crate::common::{Finished, Program, cases};

const SMALL: &str = "--tables 1 --rows 300 --threads 1 --warmup 0s --events 60";

fn bench(words: &str) -> Finished {
    let program = Program::bench("sqlite:").args(SMALL).args(words);
    program.succeeds()
}

fn compare(one: &Finished, other: &Finished, words: &str) -> Finished {
    let program = Program::new().arg("compare").arg(one.out());
    program.arg(other.out()).args(words).run()
}

#[test]
fn other_transactions_are_other_work() {
    let (plain, short) = (bench(""), bench("--skip-trx --point-selects 1"));
    let said = "transaction.point_selects: 10 / 1; transaction.skip_trx: false / true";
    compare(&plain, &short, "").fails(2, &["ran different workloads", said, "--force"]);
    let forced = compare(&plain, &short, "--force").succeeds();
    forced.prints(&["point_selects=1, skip_trx=true"]);
    let others = "
        --think 1ms => load.think: 0s / 1ms
        --think-distribution exponential => load.think_distribution: constant / exponential
        --rate 1000 => load.rate: not given / given
        --protocol text => load.protocol: prepared / text";
    for (words, texts) in cases(others) {
        compare(&plain, &bench(words), "").fails(2, &texts);
    }
}

#[test]
fn the_study_that_is_kept_runs_the_same_work() {
    let first = bench(
        "--skip-trx --range-size 7 --secondary --think 1ms --protocol text --key-range 250 \
         --distribution zipfian:exp=0.99 --seed 5 --no-monitors",
    );
    let study = first.file("study.toml");
    let again = Program::study(&study).succeeds();
    let [mut one, other] = [&first, &again].map(|done| done.result().trials.remove(0).setup);
    let (data, transaction) = (&other.planned.data, &other.planned.transaction);
    assert_eq!(
        (transaction.range_size, transaction.skip_trx, data.secondary),
        (7, true, true)
    );
    // A study has a limit of time, and its own directory.
    one.server.clone_from(&other.server);
    one.planned.load.time = other.planned.load.time;
    one.planned.label.clone_from(&other.planned.label);
    assert_eq!(one, other);
    compare(&first, &again, "").succeeds();
}
