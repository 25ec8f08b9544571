//! Other hosts: what a study says of them, and what must fit together.

use std::collections::BTreeSet;

use crate::error::Report;
use crate::point::{CLUSTER, Point};
use crate::read::BETWEEN_PATHS;
use plan::{
    Host, Hosts, On, Reset, SiteKind, Span, Spanned, Trial, Value, did_you_mean, listed, shown,
};

/// The list of hosts, and the key for one, or for each with what differs there.
const LISTS: [&str; 2] = ["site.hosts", "site.host"];
/// The kinds of sites that other hosts have, by whichever name.
const KINDS: [SiteKind; 3] = [SiteKind::Ssh, SiteKind::Process, SiteKind::Limited];
const INSTANCES_ON: &str = "topology.instances_on";
const MEMBERS_ON: &str = "topology.members_on";
const ALLOW_REBOOT: &str = "site.allow_reboot";

/// The hosts of a site; `None` without any.
pub(crate) fn hosts(at: &Point<'_>) -> Option<Hosts> {
    let typed = LISTS
        .map(|list| at.given(list))
        .into_iter()
        .flatten()
        .next()?;
    let mut list = Host::parse_list(typed.as_text()?).ok()?;
    list.iter_mut()
        .for_each(|host| host.address.span = typed.span);
    let names = |key| Some(names(at.given(key)?).map(str::to_owned).collect());
    let members = at.find(CLUSTER).and_then(|_| names(MEMBERS_ON));
    let instances = names(INSTANCES_ON);
    Some(Hosts {
        list,
        ssh_config: at.maybe("site.ssh_config"),
        directory: at.get("site.directory"),
        on: members
            .map(On::Members)
            .or(instances.map(On::Instances))
            .unwrap_or_default(),
        allow_reboot: names(ALLOW_REBOOT).unwrap_or_default(),
    })
}

/// Whether the study names hosts.
pub(crate) fn has_any(at: &Point<'_>) -> bool {
    LISTS.iter().any(|list| at.find(list).is_some())
}

/// Whether a key is of use wherever hosts are. If they are refused, so much is said of them.
pub(crate) fn need(at: &Point<'_>, key: &str) -> bool {
    has_any(at) && key != MEMBERS_ON
}

fn names(list: &Spanned<Value>) -> impl Iterator<Item = &str> {
    list.as_text()
        .unwrap_or_default()
        .split(Host::BETWEEN)
        .map(str::trim)
}

/// What servers on other hosts need and cannot have.
pub(crate) fn check(at: &Point<'_>, trial: &Trial) {
    let kind = at.given("site.kind");
    let [list, one] = LISTS.map(|list| at.given(list));
    if let (Some(list), Some(one)) = (list, one) {
        let message = "both `site.hosts` and `site.host` are given";
        let help = "keep `hosts`, or [[site.host]] where hosts differ";
        return at.refuse_two(list.span, one.span, message, help);
    }
    let is_ssh = |kind: &&Spanned<Value>| kind.as_text() == Some(SiteKind::Ssh.name());
    let Some(given) = list.or(one) else {
        if let Some(kind) = kind.filter(is_ssh) {
            let message = "a site of the kind `ssh` needs a host";
            let help =
                "under [site], write the names of hosts for ssh: hosts = [\"db1\", \"me@db2\"]";
            at.refuse(kind.span, message, help);
        }
        return;
    };
    let is_there = |kind: &&Spanned<Value>| {
        KINDS
            .iter()
            .any(|known| kind.as_text() == Some(known.name()))
    };
    if let Some(kind) = kind.filter(|kind| !is_there(kind)) {
        let message = format!("a site of the kind `{}` has no other host", kind.value);
        let help = "remove `kind`: on other hosts, servers are processes, in control groups if they have limits";
        return at.refuse_two(given.span, kind.span, message, help);
    }
    if let Some(hosts) = &trial.topology.node.site.hosts {
        let addresses = hosts.list.iter().map(|host| &host.address.value);
        are_different(at, addresses, given.span);
        let allowed = at.given(ALLOW_REBOOT).map(|allowed| allowed.span);
        are_different(at, hosts.allow_reboot.iter(), allowed.unwrap_or_default());
        placement(at, hosts, given.span);
        devices(at, trial, hosts);
    }
    let reset = at.given("server.reset");
    if let Some(reset) = reset.filter(|reset| reset.as_text() == Some(Reset::None.name())) {
        let message = "servers on another host can have no `server.reset` = `none`";
        let help = "write reset = \"copy\", or let servers run on this host";
        at.refuse_two(reset.span, given.span, message, help);
    }
}

fn are_different<'a>(at: &Point<'_>, mut addresses: impl Iterator<Item = &'a String>, place: Span) {
    let mut known = BTreeSet::new();
    if let Some(twice) = addresses.find(|address| !known.insert(*address)) {
        let message = format!("the host `{}` is named twice", shown(twice));
        let help = "name each host once: if there are more servers than hosts, several share one";
        at.refuse(place, message, help);
    }
}

/// Servers are put on hosts that the study names, in one way.
fn placement(at: &Point<'_>, hosts: &Hosts, place: Span) {
    let [instances, members] = [INSTANCES_ON, MEMBERS_ON].map(|key| at.find(key));
    if let (Some(instances), Some(members)) = (instances, members) {
        let message = "`instances_on` and `members_on` place the same servers";
        at.refuse_two(instances.at, members.at, message, "remove one of the two");
    }
    let lists = [instances, members, at.find(ALLOW_REBOOT)];
    for typed in lists
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.value.as_ref())
    {
        if let Some(unknown) = names(typed).find(|name| hosts.find(name).is_none()) {
            let known = || hosts.list.iter().map(|host| host.address.as_str());
            let message = format!("the study has no host `{}`", shown(unknown));
            let help = did_you_mean(unknown, known());
            let help = help
                .unwrap_or_else(|| format!("add it to the hosts, which are {}", listed(known())));
            at.refuse_also(typed.span, place, message, help);
        }
    }
}

/// The device of a host gets the file system of one server, and may be formatted.
fn devices(at: &Point<'_>, trial: &Trial, hosts: &Hosts) {
    let topology = &trial.topology;
    let allowed = at
        .maybe::<String>("volume.allow_format")
        .unwrap_or_default();
    let mut devices = hosts
        .list
        .iter()
        .filter_map(|host| Some((host, host.device.as_ref()?)));
    let refused = devices.find_map(|(host, device)| {
        let path = device.display();
        let is_allowed = || allowed.split(BETWEEN_PATHS).any(|allowed| *device == *allowed);
        let (why, help) = if topology.node.volume.file_system.is_none() {
            ("has no use without `volume.filesystem`".to_owned(),
                "add the file system to make on it, such as filesystem = \"xfs\" under [volume]".to_owned())
        } else if !is_allowed() {
            ("may not be formatted".to_owned(),
                format!("all data on it would be lost; if you want that, add allow_format = [\"{path}\"] under [volume]"))
        } else if let Some(nodes @ 2..) = topology.instances_by_host().iter().map(Vec::len).max() {
            (format!("cannot have the file systems of {nodes} servers"),
                "use more hosts, or remove `device` to use loop devices".to_owned())
        } else {
            return None;
        };
        Some((host, format!("`{path}` {why}"), help))
    });
    if let Some((host, message, help)) = refused {
        at.refuse(host.address.span, message, help);
    }
}
