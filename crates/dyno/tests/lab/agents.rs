//! Load machines: how they are listed, and how a study waits for its own.

use rustix::process::Signal;
use testkit::NatsServer;

use crate::common::{Cache, Program, Running, wait_until};

const KEY: &str = "public key of this machine: ";
/// A user's nkey and its seed, of NATS' own documentation.
const NKEY: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";

fn agent(nats: &str, key: &str, label: &str) -> Program {
    Program::new().args(&format!("agent --nats {nats} --key {key} --label {label}"))
}

/// The list is printed once it has this line.
fn lists(program: impl Fn() -> Program, wanted: &str) {
    wait_until(wanted, || {
        let lines = program().succeeds().stdout;
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.lines().any(|line| words(line).starts_with(wanted))
    });
}

#[test]
fn agents_are_listed_over_tls_by_those_who_have_a_key() {
    let nats = NatsServer::with_tls(&format!(
        "authorization {{ users = [ {{ nkey: {NKEY} }} ] }}"
    ));
    let seed = nats.directory().join("seed");
    std::fs::write(&seed, SEED).unwrap();
    let url = format!("tls://localhost:{}", nats.port());
    let list = || Program::new().args("agents --nats").arg(&url);
    let with_authority = |program: Program| program.env("NATS_CA", nats.authority());
    let whole = |program: Program| with_authority(program).env("NATS_NKEY", &seed);
    list().fails(3, &["cannot connect", "authority"]);
    with_authority(list()).fails(3, &["cannot connect", "NATS_NKEY"]);
    // Servers of another user need not reach the key.
    let closed = tempfile::tempdir().unwrap();
    let list_alone = whole(list()).env("DYNO_CACHE_DIR", closed.path().join("cache"));
    let none = list_alone.succeeds().stdout;
    let how = format!("no agents; on each load machine: dyno agent --nats {url} --key");
    assert!(none.contains(&how), "{none}");
    let none = whole(list()).succeeds().stdout;
    let key = none.split(KEY).nth(1).and_then(|rest| rest.lines().next());
    let _agents = [
        (key.unwrap(), "a"),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "b"),
    ]
    .map(|(key, label)| whole(agent(&url, key, label)).start());
    lists(|| whole(list()), "a free");
    lists(|| whole(list()), "b other key");
}

#[test]
fn a_password_on_the_command_line_is_hidden_and_used() {
    let nats = NatsServer::with_tls("authorization { user: me, password: hunter2 }");
    let list = |account: &str| {
        let url = format!("tls://{account}localhost:{}", nats.port());
        let list = Program::new().args("agents --nats").arg(url);
        list.env("NATS_CA", nats.authority())
    };
    list("").fails(3, &["NATS_USER"]);
    list("me:other@").fails(3, &["NATS_USER"]);
    list("me:hunter2@").succeeds();
    let account = list("").env("NATS_USER", "me");
    account.env("NATS_PASSWORD", "hunter2").succeeds();
}

#[test]
fn what_cannot_work_is_said() {
    let free = "nats://127.0.0.1:1";
    let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let refused =
        agent(free, key, "a").fails(3, &["cannot connect to the nats-server nats://127.0.0.1:1"]);
    assert!(!refused.stderr.contains("waiting"), "{}", refused.stderr);
    agent(free, "AAAA", "a").fails(2, &["not a coordinator's public key", "dyno agents"]);
    agent("http://127.0.0.1:1", key, "a").fails(2, &["not the address of a nats-server"]);
    let no_file = agent(free, key, "a").env("NATS_CA", "/none");
    no_file.fails(3, &["cannot read /none"]);
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("NATS_NKEY", "SUACSSL3"), ("NATS_CREDS", SEED)] {
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        let bad = agent(free, key, "a").env(name, &file);
        bad.fails(2, &[&file.display().to_string(), name]);
    }
    agent(free, key, "a.b").fails(2, &["`a.b` cannot be the label of an agent", "--label"]);
    let refused =
        agent("nats://me:hunter2@127.0.0.1:1", key, "a").fails(3, &["nats://me@127.0.0.1:1"]);
    assert!(!refused.stderr.contains("hunter2"), "{}", refused.stderr);
    agent("nats://nats.example.org", key, "a").fails(2, &["needs TLS and a proof", "NATS_CREDS"]);
    let half = agent(free, key, "a").env("NATS_CERT", "/none");
    half.fails(2, &["one of NATS_CERT and NATS_KEY is missing"]);
    Program::new()
        .args("agents")
        .fails(2, &["which nats-server", "NATS_URL"]);
}

/// A study of two agents that waits for them.
fn waiting(cache: &Cache) -> Running {
    let load = "agents = 2; threads = 4; warmup = '0s'; time = '2s'";
    let mut dyno = Program::private("mariadb", load, "").cache(cache).start();
    dyno.says("on each load machine: dyno agent");
    dyno
}

/// The word that follows another one.
pub(crate) fn after(said: &str, word: &str) -> String {
    let rest = said.split(&format!("{word} ")).nth(1);
    let next = rest.and_then(|rest| rest.split_whitespace().next());
    next.unwrap().to_owned()
}

#[test]
fn a_study_waits_for_its_agents() {
    let cache = Cache::kept();
    let mut dyno = waiting(&cache);
    let said = dyno.stderr();
    let (nats, key) = (after(&said, "--nats"), after(&said, "--key"));
    let first = agent(&nats, &key, "first").start();
    dyno.says("only these answered: `first`");
    let second = agent(&nats, &key, "second").start();
    let done = dyno.wait().succeeds();
    assert!(done.trial().transactions.count > 0);
    for mut agent in [first, second] {
        agent.says("ended");
        agent.signal(Signal::INT);
        agent.wait().succeeds();
    }
    cache.assert_nothing_left();
}

#[test]
fn an_agent_of_another_build_is_passed_over_and_named_with_both_versions() {
    let cache = Cache::kept();
    let mut dyno = waiting(&cache);
    let said = dyno.stderr();
    let (nats, key) = (after(&said, "--nats"), after(&said, "--key"));
    let other = Program::of_another_build();
    let other = other.args(&format!("agent --nats {nats} --key {key} --label other"));
    let mut other = other.start();
    other.says("waiting for loads");
    let theirs = after(&other.stderr(), "dyno").replace(',', "");
    dyno.says(&format!(
        "0 of 2 agents can be used: agent other runs dyno {theirs}, this is dyno "
    ));
    let fit = ["one", "two"].map(|label| agent(&nats, &key, label).start());
    dyno.wait().succeeds();
    drop(fit);
    cache.assert_nothing_left();
}

#[test]
fn waiting_for_agents_can_be_interrupted() {
    let cache = Cache::kept();
    let dyno = waiting(&cache);
    dyno.signal(Signal::INT);
    dyno.wait()
        .fails(4, &["interrupted while waiting for agents"]);
    cache.assert_nothing_left();
}

#[test]
fn a_killed_study_leaves_no_nats_server() {
    let cache = Cache::kept();
    let dyno = waiting(&cache);
    dyno.signal(Signal::KILL);
    dyno.wait();
    cache.clean().prints(&["freed"]);
    cache.assert_nothing_left();
}
