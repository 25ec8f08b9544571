//! The environment variables that dyno reads, for the man page.

use crate::console::folded;

const WIDTH: usize = 90;

/// The name and meaning of each.
#[rustfmt::skip] // A line for each.
pub(crate) const VARIABLES: [(&str, &str); 20] = [
    ("DYNO_PASSWORD", "password for servers whose URL has none"),
    ("DYNO_CACHE_DIR", "directory for private servers and prepared data [/var/cache/dyno for root, else ~/.cache/dyno]"),
    ("DYNO_CACHE_LIMIT", "maximum disk space of prepared data [20G]"),
    ("DYNO_SERVERS", "directory of server installations, one per subdirectory, as scripts/install-servers.sh makes it [/opt/dyno/servers for root, else ~/.cache/dyno/servers]"),
    ("NATS_URL", "address of the nats-server that connects a fleet"),
    ("NATS_CA", "file of the authority that signed the nats-server's certificate (PEM) [the system's]"),
    ("NATS_CERT, NATS_KEY", "files of the certificate (PEM) and its key that identify this machine to a nats-server, or a private nats-server to others"),
    ("NATS_CREDS", "file of credentials for a nats-server: a JWT and its seed"),
    ("NATS_NKEY", "file with the seed of an nkey for a nats-server"),
    ("NATS_USER, NATS_PASSWORD", "account of a nats-server"),
    ("NO_COLOR", "if set, help and usage errors have no colors"),
    ("LC_ALL, LC_CTYPE, LANG", "C, POSIX or a character set other than UTF-8: output is plain ASCII"),
    ("LUA_PATH", "where dyno sysbench searches for scripts"),
    ("PATH", "where server programs are searched"),
    ("USER", "user name for URLs without one"),
    ("HOME, XDG_CACHE_HOME", "location of ~/.cache"),
    ("SSL_CERT_FILE, SSL_CERT_DIR", "trusted certificate authorities instead of the system's"),
    ("TZ", "time zone of private servers"),
    ("LD_LIBRARY_PATH, LD_PRELOAD", "passed to private servers, for example to use another memory allocator"),
    ("MALLOC_CONF, MALLOC_ARENA_MAX", "passed to private servers"),
];

/// The variables of dyno and those of the engines' clients.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let engines = engine::ENGINES.into_iter();
    let theirs = engines.flat_map(|engine| engine.about().variables);
    VARIABLES.iter().chain(theirs).copied()
}

/// The end of the help text.
pub(crate) fn section() -> String {
    let lines = all().map(|(name, meaning)| format!("\n  {name}\n      {meaning}"));
    let text = format!("Environment:{}", lines.collect::<String>());
    folded(&text, WIDTH)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// What dyno passes to itself or to its servers; not for users to set.
    const INTERNAL: [&str; 3] = ["DYNO_ADDRESSES", "DYNO_INPUT", "DYNO_RUN_DIR"];

    /// Every variable that the program's own code reads by name is in the table.
    #[test]
    fn every_variable_is_documented() {
        let documented: BTreeSet<&str> = all().flat_map(|(names, _)| names.split(", ")).collect();
        let mut read = BTreeSet::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut read);
        assert!(read.len() > 5, "{read:?}");
        let known = |name: &&String| {
            documented.contains(name.as_str()) || INTERNAL.contains(&name.as_str())
        };
        let missing: Vec<_> = read.iter().filter(|name| !known(name)).collect();
        assert!(missing.is_empty(), "not in the table: {missing:?}");
        let own = documented.iter().filter(|name| name.starts_with("DYNO_"));
        let gone: Vec<_> = own.filter(|name| !read.contains(**name)).collect();
        assert!(gone.is_empty(), "no longer read: {gone:?}");
    }

    #[test]
    fn the_pages_have_every_variable() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let page = |name| std::fs::read_to_string(docs.join(name)).unwrap();
        let pages = page("command-line.md") + &page("engines.md");
        for name in all().flat_map(|(names, _)| names.split(", ")) {
            assert!(pages.contains(&format!("`{name}`")), "{name}");
        }
    }

    /// Adds the names below every crate's `src`: quoted ones on lines that read the
    /// environment, and those that are dyno's own.
    fn collect(dir: &Path, read: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir()
                && !["tests", "target", "node_modules", "testkit"].contains(&name.as_str())
            {
                collect(&path, read);
            } else if name.ends_with(".rs")
                && !["environment.rs", "page.rs", "tests.rs"].contains(&name.as_str())
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap();
                for line in code.lines() {
                    let reads = ["env::var", "set(\"", "dir(\"", "variable(\"", "_VARIABLE"];
                    let reads = reads.iter().any(|how| line.contains(how));
                    let quoted = line.split('"').skip(1).step_by(2);
                    read.extend(
                        quoted
                            .filter(|word| (reads || word.starts_with("DYNO_")) && is_name(word))
                            .map(str::to_owned),
                    );
                }
            }
        }
    }

    fn is_name(word: &str) -> bool {
        word.len() > 1
            && !word.ends_with('_')
            && word
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    }
}
