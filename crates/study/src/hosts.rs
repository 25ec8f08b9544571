//! Checks of servers on another host: what must be given, and what they cannot have.

use plan::key::KEYS;
use plan::{Reset, SiteKind, Span, Spanned, Value};

use crate::check::SITE_LIMITS;
use crate::content::{Base, Content};
use crate::error::{Diagnostic, Diagnostics};
use crate::volume;

const NO_VOLUME: &str = "remove it, or let servers run on this host: remove the host";
/// What servers on another host cannot have, besides limits and volumes, and what to do instead.
const IMPOSSIBLE: [(&str, &str); 2] = [
    (
        "volume.directory",
        "name the directory on that host: directory = \"/…\" under [site]",
    ),
    (
        "topology.cluster",
        "let its members run on this host: remove the host",
    ),
];

pub(crate) fn check<'a>(content: &'a Content, base: &Base<'a>, diagnostics: &mut Diagnostics) {
    let kinds = content.values_in(base, "site.kind");
    let hosts = content.values_in(base, "site.host");
    let ssh = Value::from(SiteKind::Ssh.name());
    let kind = kinds.iter().find(|kind| kind.value == ssh);
    let cause = match (kind, hosts.first()) {
        (None, None) => return,
        (Some(kind), None) => {
            let message = "a site of the kind `ssh` needs a host";
            let help = "under [site], write its name for ssh: host = \"me@db1\"";
            return diagnostics.add(kind.span, Diagnostic::new(message, help));
        }
        (None, Some(host)) => match kinds.first() {
            Some(kind) => {
                let message = format!("a site of the kind `{}` has no host", kind.value);
                let help = "remove `host`, or use kind = \"ssh\"";
                let diagnostic = Diagnostic::new(message, help);
                return diagnostics.add_of_two(host.span, kind.span, diagnostic);
            }
            None => host.span,
        },
        (Some(kind), Some(_)) => kind.span,
    };
    refuse_with(content, base, cause, diagnostics);
}

/// Refuses what servers on another host cannot have.
fn refuse_with<'a>(
    content: &'a Content,
    base: &Base<'a>,
    cause: Span,
    diagnostics: &mut Diagnostics,
) {
    let limits =
        SITE_LIMITS.map(|name| (name, "remove the limit, or let servers run on this host"));
    let is_known = |name: &str| IMPOSSIBLE.iter().any(|(known, _)| *known == name);
    let of_volumes = KEYS
        .iter()
        .filter(|key| key.axis && volume::SECTIONS.contains(&key.section()))
        .filter(|key| !is_known(key.name))
        .map(|key| (key.name, NO_VOLUME));
    for (name, help) in limits.into_iter().chain(IMPOSSIBLE).chain(of_volumes) {
        if let Some(typed) = content.values_in(base, name).first() {
            refuse(typed, cause, &format!("no `{name}`"), help, diagnostics);
        }
    }
    let kept = Value::from(Reset::None.name());
    let resets = content.values_in(base, "server.reset");
    if let Some(typed) = resets.into_iter().find(|reset| reset.value == kept) {
        let help = "write reset = \"copy\", or let servers run on this host";
        refuse(
            typed,
            cause,
            "no `server.reset` = \"none\"",
            help,
            diagnostics,
        );
    }
}

fn refuse(
    typed: &Spanned<Value>,
    cause: Span,
    what: &str,
    help: &str,
    diagnostics: &mut Diagnostics,
) {
    let message = format!("servers on another host can have {what}");
    diagnostics.add_of_two(typed.span, cause, Diagnostic::new(message, help));
}
