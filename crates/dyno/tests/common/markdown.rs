//! What the tests of the documentation read in a page.

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// All files below a folder of the repository with this ending, by name.
pub fn files_of(dir: &str, ending: &str) -> Vec<PathBuf> {
    let mut found = super::files_below(&root().join(dir));
    found.retain(|path| path.extension().is_some_and(|it| it == ending));
    found
}

/// A fenced block: what stands behind the fence, and its lines.
#[derive(Debug)]
pub struct Block {
    pub language: String,
    pub lines: Vec<String>,
}

/// The fenced blocks of a page, and the lines outside of them.
pub fn split(page: &str) -> (Vec<Block>, Vec<&str>) {
    let (mut blocks, mut outside) = (Vec::<Block>::new(), Vec::new());
    let mut is_inside = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(_) if is_inside => is_inside = false,
            Some(language) => {
                is_inside = true;
                blocks.push(Block {
                    language: language.trim().to_owned(),
                    lines: Vec::new(),
                });
            }
            None if is_inside => blocks.last_mut().unwrap().lines.push(line.to_owned()),
            None => outside.push(line),
        }
    }
    assert!(!is_inside, "a block does not end");
    (blocks, outside)
}

/// The targets of all links and images of a page, outside of code.
pub fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in split(page).1.join("\n").split("\n\n") {
        let text: String = paragraph.split('`').step_by(2).collect();
        let targets = text.split("](").skip(1);
        found.extend(targets.map(|rest| rest.split(')').next().unwrap().to_owned()));
    }
    found
}

/// The anchors of a page's headings, as GitHub names them.
pub fn anchors(page: &str) -> Vec<String> {
    let mut found = Vec::<String>::new();
    let headings = split(page).1.into_iter();
    let headings = headings.filter(|line| line.starts_with('#'));
    for heading in headings.filter_map(|line| line.split_once(' ')) {
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let name: String = heading.1.chars().filter(kept).collect();
        let name = name.to_lowercase().replace(' ', "-");
        let before = found.iter().filter(|other| **other == name).count();
        found.push(match before {
            0 => name,
            _ => format!("{name}-{before}"),
        });
    }
    found
}
