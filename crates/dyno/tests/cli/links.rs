//! Every link of the documentation leads somewhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::markdown::{anchors, files_of, links, root};

fn pages() -> Vec<PathBuf> {
    let names = ["README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING"];
    let own = names.map(|name| root().join(format!("{name}.md")));
    let below = ["docs", "benches", "studies"].map(|dir| files_of(dir, "md"));
    own.into_iter().chain(below.concat()).collect()
}

/// Why `target`, a link of `page`, leads nowhere.
fn broken(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => page.to_owned(),
        _ => page.parent().unwrap().join(path),
    };
    if !file.exists() {
        return Some(format!("no file {}", file.display()));
    }
    if anchor.is_empty() {
        return None;
    }
    let text = fs::read_to_string(&file).unwrap();
    let is_there = anchors(&text).iter().any(|name| name == anchor);
    (!is_there).then(|| format!("no heading #{anchor} in {}", file.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let (mut count, mut faults) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in links(&text) {
            count += 1;
            if let Some(why) = broken(&page, &target) {
                faults.push(format!("{}: ({target}): {why}", page.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 50, "only {count} links were found");
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let page = root().join("README.md");
    let text =
        "[a](docs/none.md) `[b](c)`\n```\n[d](e)\n```\n![f](docs/study.md#nowhere) [g](#dyno)";
    let found: Vec<String> = links(text);
    assert_eq!(found, ["docs/none.md", "docs/study.md#nowhere", "#dyno"]);
    let faults: Vec<bool> = found.iter().map(|l| broken(&page, l).is_some()).collect();
    assert_eq!(faults, [true, true, false]);
}

/// What nobody links to, nobody finds.
#[test]
fn every_page_is_linked_from_the_readme_or_the_architecture() {
    let mut linked = Vec::new();
    for page in ["README.md", "ARCHITECTURE.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let paths = links(&text).into_iter();
        linked.extend(paths.map(|target| root().join(target.split('#').next().unwrap())));
    }
    assert!(linked.contains(&root().join("ARCHITECTURE.md")));
    for page in files_of("docs", "md") {
        assert!(linked.contains(&page), "{}", page.display());
    }
}

#[test]
fn every_study_is_in_the_guide() {
    let guide = root().join("docs/guides/first-study.md");
    let guide = fs::read_to_string(guide).unwrap();
    for study in files_of("studies", "toml") {
        let name = study.file_name().unwrap().to_string_lossy();
        let text = fs::read_to_string(&study).unwrap();
        let mut lines = text.lines();
        let title = lines.find_map(|line| line.strip_prefix("title = \""));
        let title = title.unwrap().trim_end_matches('"');
        let row = format!("| [`{name}`](../../studies/{name}) | {title} |");
        assert!(guide.contains(&row), "{row}");
    }
}

#[test]
fn the_traits_in_the_guide_of_engines_exist() {
    let guide = root().join("docs/guides/adding-an-engine.md");
    let guide = fs::read_to_string(guide).unwrap();
    let is_type = |word: &&str| {
        word.starts_with(char::is_uppercase)
            && word.contains(char::is_lowercase)
            && word.chars().all(char::is_alphanumeric)
    };
    let words: Vec<&str> = guide.split('`').skip(1).step_by(2).collect();
    let types: Vec<&str> = words.into_iter().filter(is_type).collect();
    assert!(types.len() > 8, "{types:?}");
    let crates = ["client", "engine", "workload"];
    let sources = crates
        .iter()
        .flat_map(|name| files_of(&format!("crates/{name}/src"), "rs"));
    let code: String = sources
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    for name in types {
        let is_defined = |kind| {
            let mut ends = [" ", ":", "<"].iter();
            ends.any(|end| code.contains(&format!("{kind} {name}{end}")))
        };
        assert!(is_defined("trait") || is_defined("struct"), "{name}");
    }
}
