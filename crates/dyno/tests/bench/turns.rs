//! `dyno bench` of several servers, which take turns.

use crate::common::{Program, database, postgres};
use measure::setup::Outcome;

const SHORT: &str = "--workload oltp_point_select --tables 1 --rows 100 --threads 2 --think 5ms \
                     --warmup 1s --time 9s";

/// Two databases of one server suffice: each has its own connections and load.
#[test]
fn servers_take_turns_and_are_compared_without_a_verdict() {
    let server = postgres();
    let urls = ["one", "two"].map(|name| {
        database(&*server, name);
        let port = server.port();
        format!("postgres://root@127.0.0.1:{port}/{name}")
    });
    let done = Program::bench(&urls[0])
        .arg(&urls[1])
        .args(SHORT)
        .succeeds();
    done.prints(&["two against", "these two running servers only"]);
    assert!(!done.stdout.contains("faster"), "{done}");
    let result = done.result();
    assert_eq!(result.trials.len(), 2);
    for trial in &result.trials {
        assert_eq!(trial.outcome, Outcome::Completed);
        assert!(trial.turns.len() >= 10, "{:?}", trial.turns);
        let rounds = trial.turns.len() / 2;
        assert_eq!(trial.response_replicates_ms.len(), rounds.min(8));
    }
    let compared = Program::new().arg("compare").arg(done.out()).succeeds();
    assert!(compared.stdout.contains("rounds of turns"), "{compared}");
}

#[test]
fn what_cannot_take_turns_is_refused_before_anything_runs() {
    let server = postgres();
    let url = format!("postgres://root@127.0.0.1:{}/postgres", server.port());
    let bench = |other: &str, words: &str| Program::bench(&url).arg(other).args(words).run();
    bench(&url, "--rate 5").fails(2, &["--rate", "take turns", "one server at a time"]);
    bench(&url, "--repeats 3").fails(2, &["--repeats", "take turns"]);
    bench("sqlite:x.db", "").fails(2, &["run inside dyno", "one server at a time"]);
    let nobody = "postgres://root@127.0.0.1:1/nobody";
    bench(nobody, "").fails(3, &["127.0.0.1:1"]);
}
