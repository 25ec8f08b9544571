//! Checks of servers on another host or in a guest: what must be given, and what they cannot have.

use plan::key::KEYS;
use plan::{Reset, SiteKind, Span, Spanned, Value};

use crate::check::SITE_LIMITS;
use crate::content::{Base, Content};
use crate::error::{Diagnostic, Diagnostics};
use crate::volume;

/// Least memory of a guest: less than its kernel and a small server need.
const GUEST_BYTES: u64 = 256 << 20;
/// Most CPUs of a guest, which QEMU's machine can have.
const GUEST_CPUS: f64 = 255.0;

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
    let mut place = Place {
        name: "on another host",
        cause,
        content,
        base,
        diagnostics,
    };
    for name in SITE_LIMITS {
        place.has_no(name, "remove the limit, or let servers run on this host");
    }
    let help = "remove it, or let servers run on this host: remove the host";
    let directory = "name the directory on that host: directory = \"/…\" under [site]";
    place.has_none_of_the_impossible(help, directory);
}

/// A site of the kind `vm`.
pub(crate) fn check_guests<'a>(
    content: &'a Content,
    base: &Base<'a>,
    diagnostics: &mut Diagnostics,
) {
    let vm = Value::from(SiteKind::Vm.name());
    let kinds = content.values_in(base, "site.kind");
    let Some(kind) = kinds.into_iter().find(|kind| kind.value == vm) else {
        return;
    };
    let mut place = Place {
        name: "in a guest",
        cause: kind.span,
        content,
        base,
        diagnostics,
    };
    let help = "remove it, or use another kind of site";
    place.has_no("server.port", help);
    place.has_none_of_the_impossible(help, help);
    let is_count = |value: &Value| {
        let cpus = value.as_number();
        cpus.is_some_and(|cpus| (1.0..=GUEST_CPUS).contains(&cpus) && cpus.fract() == 0.0)
    };
    place.must(
        "site.cpus",
        is_count,
        "a guest has whole CPUs, from 1 to 255",
    );
    let is_enough = |value: &Value| {
        let bytes = value.as_text().and_then(plan::parse_bytes);
        bytes.is_none_or(|bytes| bytes >= GUEST_BYTES)
    };
    place.must("site.memory", is_enough, "a guest needs 256M at least");
}

/// Where servers run that cannot have everything.
struct Place<'a, 'b> {
    name: &'static str,
    cause: Span,
    content: &'a Content,
    base: &'b Base<'a>,
    diagnostics: &'b mut Diagnostics,
}

impl Place<'_, '_> {
    /// Refuses what servers neither on another host nor in a guest can have.
    fn has_none_of_the_impossible(&mut self, help: &str, help_with_directory: &str) {
        self.has_no("volume.directory", help_with_directory);
        self.has_no("topology.cluster", help);
        let is_of_volumes = |section: &str| volume::SECTIONS.contains(&section);
        let keys = KEYS
            .iter()
            .filter(|key| key.axis && is_of_volumes(key.section()));
        for key in keys.filter(|key| key.name != "volume.directory") {
            self.has_no(key.name, help);
        }
        let kept = Value::from(Reset::None.name());
        let resets = self.content.values_in(self.base, "server.reset");
        if let Some(typed) = resets.into_iter().find(|reset| reset.value == kept) {
            let help = "write reset = \"copy\", or let servers run on this host";
            self.refuse(typed, "server.reset` = `none", help);
        }
    }

    fn has_no(&mut self, name: &str, help: &str) {
        if let Some(typed) = self.content.values_in(self.base, name).first() {
            self.refuse(typed, name, help);
        }
    }

    fn refuse(&mut self, typed: &Spanned<Value>, what: &str, help: &str) {
        let message = format!("servers {} can have no `{what}`", self.name);
        let diagnostic = Diagnostic::new(message, help);
        self.diagnostics
            .add_of_two(typed.span, self.cause, diagnostic);
    }

    /// Refuses a value that does not fit.
    fn must(&mut self, name: &str, fits: impl Fn(&Value) -> bool, message: &str) {
        let values = self.content.values_in(self.base, name);
        if let Some(typed) = values.into_iter().find(|typed| !fits(&typed.value)) {
            let help = format!("write another `{name}`, or use another kind of site");
            let diagnostic = Diagnostic::new(message, help);
            self.diagnostics
                .add_of_two(typed.span, self.cause, diagnostic);
        }
    }
}
