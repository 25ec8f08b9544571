//! Finds the groups below which a site's groups can be created.

use std::path::{Path, PathBuf};

use host::Files;
use host::cgroup::Cgroup as OwnGroup;
use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::{Controller, Version};
use crate::failure::Failure;

/// A group below which groups with these controllers can be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) version: Version,
    pub(super) dir: PathBuf,
    pub(super) controllers: Vec<Controller>,
}

/// Searches upward from this process's own groups. A controller is active in one version only.
/// Controllers that are not required are added if they exist and their counters are of interest.
pub(super) fn find(
    files: &dyn Files,
    groups: &[OwnGroup],
    required: &[Controller],
) -> Result<Vec<Parent>, Failure> {
    let mut parents: Vec<Parent> = Vec::new();
    let mut unified = Vec::new();
    for controller in Controller::ALL {
        if !required.contains(&controller) && !controller.counts() {
            continue;
        }
        let name = controller.name(Version::One);
        let Some(own) = groups.iter().find(|group| group.has(name)) else {
            unified.extend((controller != Controller::CpuAccount).then_some(controller));
            continue;
        };
        let dir = own.dir(files);
        match parents.iter_mut().find(|parent| parent.dir == dir) {
            Some(parent) => parent.controllers.push(controller),
            None => parents.push(Parent {
                version: Version::One,
                dir,
                controllers: vec![controller],
            }),
        }
    }
    let (needed, counted): (Vec<_>, Vec<_>) =
        unified.into_iter().partition(|one| required.contains(one));
    if needed.is_empty() && counted.is_empty() {
        return Ok(parents);
    }
    match unified_parent(files, groups, &needed, &counted) {
        // A group without controllers only counts CPU time.
        Ok(parent) if parent.controllers.is_empty() && !parents.is_empty() => {}
        Ok(parent) => parents.push(parent),
        Err(error) if !needed.is_empty() => return Err(error),
        Err(_) => {}
    }
    Ok(parents)
}

/// In version 2, a process is in a single group, so one parent must delegate all controllers.
fn unified_parent(
    files: &dyn Files,
    groups: &[OwnGroup],
    needed: &[Controller],
    counted: &[Controller],
) -> Result<Parent, Failure> {
    let first = needed.first().copied().unwrap_or(Controller::Cpu);
    let Some(own) = groups.iter().find(|group| group.is_unified()) else {
        return Err(first.unlimited(
            "no control groups are mounted",
            "mount them: mount -t cgroup2 none /sys/fs/cgroup",
        ));
    };
    let (own, top) = (own.dir(files), own.mount.point.clone());
    let delegates = |dir: &Path, all: &[Controller]| {
        let list = dir.join("cgroup.subtree_control");
        all.iter().all(|one| names(files, &list, *one))
    };
    // A group that contains processes, such as dyno's own, cannot delegate controllers.
    let above: Vec<&Path> = own
        .ancestors()
        .take_while(|dir| dir.starts_with(&top))
        .collect();
    let all = [needed, counted].concat();
    let with_all = above.iter().find(|dir| delegates(dir, &all));
    let with_needed = || above.iter().find(|dir| delegates(dir, needed));
    let Some(dir) = with_all.or_else(with_needed) else {
        let mut missing = needed.iter();
        let missing = missing.find(|one| !above.iter().any(|dir| delegates(dir, &[**one])));
        return Err(not_delegated(files, &own, &top, *missing.unwrap_or(&first)));
    };
    let mut controllers = all;
    controllers.retain(|one| delegates(dir, &[*one]));
    let parent = Parent {
        version: Version::Two,
        dir: (*dir).to_owned(),
        controllers,
    };
    let procs = parent.dir.join("cgroup.procs");
    accessat(CWD, &procs, Access::WRITE_OK, AtFlags::EACCESS).map_err(|error| {
        let why: Failure = Failure::at("write", &procs)(error);
        parent.refused(first, &why.message)
    })?;
    Ok(parent)
}

fn names(files: &dyn Files, list: &Path, controller: Controller) -> bool {
    let text = host::line(files, list).unwrap_or_default();
    let mut names = text.split_whitespace();
    names.any(|name| name == controller.name(Version::Two))
}

fn not_delegated(files: &dyn Files, own: &Path, top: &Path, controller: Controller) -> Failure {
    let name = controller.name(Version::Two);
    let (why, remedy) = match names(files, &top.join("cgroup.controllers"), controller) {
        true => (
            format!(
                "neither {} nor a control group above it delegates the {name} controller",
                own.display()
            ),
            format!(
                "{}, or as root: echo +{name} > {}",
                in_a_scope(),
                top.join("cgroup.subtree_control").display()
            ),
        ),
        false => (
            format!("{} has no {name} controller", top.display()),
            "in a container, delegate the controller to it; elsewhere, use a kernel that has it"
                .to_owned(),
        ),
    };
    controller.unlimited(why, remedy)
}

impl Parent {
    /// The failure of creating a group below this one.
    pub(super) fn refused(&self, controller: Controller, why: &str) -> Failure {
        let dir = self.dir.display();
        let is_root = rustix::process::geteuid().is_root();
        let remedy = match (is_root, self.version) {
            (true, _) => format!(
                "make {dir} writable (in a container it often is not), and limit a server to no more than its own limit"
            ),
            (false, Version::Two) => format!("run dyno as root, or {}", in_a_scope()),
            (false, Version::One) => format!(
                "run dyno as root, or as root give the user a group and start dyno in it: \
                 mkdir {dir}/mine && chown -R USER {dir}/mine && echo PID > {dir}/mine/cgroup.procs"
            ),
        };
        controller.unlimited(why, remedy)
    }
}

/// How to start dyno with systemd in a group whose parent delegates controllers.
pub(super) fn in_a_scope() -> &'static str {
    match rustix::process::geteuid().is_root() {
        true => "start dyno with: systemd-run --scope -p Delegate=yes dyno …",
        false => "start dyno with: systemd-run --user --scope -p Delegate=yes dyno …",
    }
}
