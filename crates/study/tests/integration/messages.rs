//! Every message as a reader sees it: `bad/NAME.toml` gives `bad/NAME.txt`, and so does
//! `bad/NAME.sets`, which has a study, `---`, and overrides, of which each line is refused.
//! `UPDATE_GOLDEN=1 cargo test -p study` writes the texts again.

use std::fs;
use std::path::Path;

use crate::common::{fails, study};
use study::{MAX_FILE_BYTES, Study, Vocabulary};

#[test]
fn bad_studies() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut count = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let said = match name.rsplit_once('.').unwrap().1 {
            "toml" => Study::parse(name, &text, engine::catalog())
                .unwrap_err()
                .to_string(),
            "sets" => said_of_sets(&text),
            _ => continue,
        };
        let (said, golden) = (format!("{said}\n"), path.with_extension("txt"));
        assert!(!said.contains("hunter2"), "{said}");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(
            said, expected,
            "{name}: UPDATE_GOLDEN=1 accepts the new text"
        );
        count += 1;
    }
    assert!(count >= 45);
}

/// What is said of each line, which makes one mistake.
fn said_of_sets(text: &str) -> String {
    let (study, lines) = text.split_once("---\n").unwrap();
    let said = lines.lines().map(|line| {
        let sets: Vec<_> = line
            .split(" ; ")
            .map(|set| set.split_once('=').unwrap())
            .collect();
        let said = fails(study, &sets);
        assert!(!said.contains("\n\n"), "one mistake, told once: {said}");
        said
    });
    said.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn a_large_file_is_refused() {
    let error = Study::parse(
        "big.toml",
        &"#".repeat(MAX_FILE_BYTES + 1),
        engine::catalog(),
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: the file is too large: 1048577 bytes\n --> big.toml\n  = help: the limit is 1048576 bytes (1 MiB)"
    );
}

#[test]
fn the_list_of_problems_has_an_end() {
    let text: String = (0..500).map(|i| format!("k{i} = 1\n")).collect();
    let error = Study::parse("s.toml", &text, engine::catalog()).unwrap_err();
    assert_eq!(error.problems().len(), 50);
    assert!(error.to_string().ends_with("… and 452 more"), "{error}");
}

/// Workloads, columns, and conditions: all at once, each at its place.
#[test]
fn the_caller_checks_words() {
    let text = "title = \"t\"
[server]
engine = \"mariadb\"
[load]
workload = \"oltp_readwrite\"
[sweep]
\"topology.instances\" = [1, 2]
[report]
tables = [{ rows = \"topology.instances\", columns = [\"tps\", \"cpu.usr\"] }]
[thresholds]
response_ms.p9 = \"< 25\"
tps = \"> 5\"
";
    let study = study(text, &[]);
    let known = Vocabulary {
        workloads: &["oltp_read_write", "oltp_read_only"],
        unknown_column: |name, has_variants| {
            assert!(!has_variants);
            let known = ["tps", "cpu.user", "response_ms.p99"];
            let near = plan::nearest(name, known).map(|near| format!("did you mean `{near}`?"));
            near.filter(|_| !known.contains(&name))
        },
        invalid_condition: |_, condition| {
            let bad = condition.starts_with('>');
            bad.then(|| plan::TextError::new("no", "yes"))
        },
    };
    let error = study.check(&known).unwrap_err();
    let places: Vec<_> = error
        .problems()
        .iter()
        .map(|problem| {
            let shown = problem.to_string();
            let place = shown.lines().nth(1).unwrap().trim().to_owned();
            (place, problem.help.as_str())
        })
        .collect();
    let expected = [
        ("--> s.toml:5:12", "did you mean `oltp_read_write`?"),
        ("--> s.toml:9:60", "did you mean `cpu.user`?"),
        ("--> s.toml:11:13", "did you mean `response_ms.p99`?"),
        ("--> s.toml:12:7", "yes"),
    ];
    let expected = expected.map(|(place, help)| (place.to_owned(), help));
    assert_eq!(places, expected);
    assert_eq!(
        error.problems()[1].to_string(),
        "error: unknown column `cpu.usr`
 --> s.toml:9:60
  |
9 | tables = [{ rows = \"topology.instances\", columns = [\"tps\", \"cpu.usr\"] }]
  |                                                            ^^^^^^^^^
  = help: did you mean `cpu.user`?"
    );
}
