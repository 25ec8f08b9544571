use super::*;
use workload::distribution::Distribution;
use workload::name::WorkloadName;
use workload::options::Options;

fn config(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    settings.iter().map(owned).collect()
}

fn recipe(change: impl Fn(&mut Options), seed: u64, settings: &[(&str, &str)]) -> Recipe {
    let mut options = Options::default();
    change(&mut options);
    let wanted = Wanted {
        workload: WorkloadName::OltpReadWrite,
        script: None,
        options: &options,
        seed,
        users: 4,
        mode: engine::data::Mode::Missing,
        connections: 2,
        stall_limit: load::STALL_LIMIT,
    };
    let installed = Installed {
        engine: engine::MARIADB,
        version: "10.11.14".to_owned(),
        build: "10.11.14".to_owned(),
        program: "/nowhere/server".into(),
        basedir: None,
    };
    Recipe::with_data(&installed, &config(settings), &wanted)
}

fn key(change: impl Fn(&mut Options), seed: u64, settings: &[(&str, &str)]) -> String {
    recipe(change, seed, settings).key()
}

#[test]
fn only_generated_names_are_templates() {
    assert!(is_key("mysql-9.7.0-empty-0123456789abcdef"));
    assert!(is_key("mariadb-10.11-rc-2x3-0123456789abcdef"));
    assert!(is_key("mariadb-10.11.14-script-0123456789abcdef"));
    for name in [
        "emails",
        "mysql-9.7.0-empty-0123456789abcdef.lock",
        "mysql-9.7.0-empty-0123456789abcde",
        "mysql-9.7.0-full-0123456789abcdef",
        "mysql-9.7.0-2x-0123456789abcdef",
        "mysql--empty-0123456789abcdef",
        "oracle-23-empty-0123456789abcdef",
    ] {
        assert!(!is_key(name), "{name}");
    }
}

#[test]
fn a_secret_counts_and_is_not_kept() {
    let with = |secret| recipe(|_| {}, 1, &[("file-key-management-filekey", secret)]);
    let (one, other) = (with("sesame"), with("mellon"));
    assert!(one != other && one.key() != other.key() && one == with("sesame"));
    let kept = serde_json::to_string(&one).unwrap();
    assert!(kept.contains("file_key_management_filekey") && !kept.contains("sesame"));
    let plain = recipe(|_| {}, 1, &[("innodb_page_size", "8k")]);
    assert!(serde_json::to_string(&plain).unwrap().contains("8k"));
}

#[test]
fn whatever_changes_the_bytes_changes_the_key_and_nothing_else_does() {
    let usual = key(|_| {}, 1, &[]);
    assert!(usual.starts_with("mariadb-10.11.14-1x10000-"), "{usual}");
    assert!(is_key(&usual));
    assert_eq!(
        usual,
        key(
            |options| options.transaction.point_selects = 3,
            1,
            &[("sync_binlog", "1")]
        )
    );
    let others = [
        key(|_| {}, 2, &[]),
        key(|options| options.data.rows = 9, 1, &[]),
        key(|options| options.data.tables = 2, 1, &[]),
        key(|options| options.data.secondary = true, 1, &[]),
        key(|options| options.data.auto_inc = false, 1, &[]),
        key(|options| options.data.create_secondary = false, 1, &[]),
        key(
            |options| options.distribution = Distribution::Uniform,
            1,
            &[],
        ),
        key(
            |options| options.data.storage_engine = Some("myisam".to_owned()),
            1,
            &[],
        ),
        key(|_| {}, 1, &[("innodb_page_size", "8k")]),
    ];
    let all: std::collections::BTreeSet<&String> = others.iter().chain([&usual]).collect();
    assert_eq!(all.len(), 10);
}
