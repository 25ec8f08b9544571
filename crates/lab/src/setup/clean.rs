//! Removes what dyno left in its cache.

use std::path::Path;

use crate::failure::Failure;
use crate::home::{self, Cleaned};
use crate::setup::servers;
use crate::setup::template::cache;

/// Removes what dead runs left behind; with `templates`, also every template that no process uses.
pub fn clean(templates: bool) -> Result<Cleaned, Failure> {
    clean_in(&home::place()?, templates)
}

/// Like [`clean`], in the directory `root`. Creates nothing, so that it works on a full disk.
pub fn clean_in(root: &Path, templates: bool) -> Result<Cleaned, Failure> {
    let Some((root, mut cleaned)) = home::remove_dead_runs(root, &servers::account()?)? else {
        return Ok(Cleaned::default());
    };
    if templates {
        cache::remove_unused(&home::templates_in(&root), &mut cleaned)?;
    }
    Ok(cleaned)
}
