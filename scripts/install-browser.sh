#!/bin/bash
# Install what the test of the report in a browser needs. Safe to call again: what is there already is left alone.
#
#   scripts/install-browser.sh
#
#   chromium         Debian's package
#   node, npm        Debian's packages nodejs and npm, only if there is no node 18 or newer
#   playwright-core  the library that steers the browser, at the version and checksum of
#                    crates/report/browser/package-lock.json; it goes into node_modules beside that file
set -euo pipefail

say() { echo "install-browser: $*"; }
die() {
    echo "install-browser: $*" >&2
    exit 1
}

case ${1:-} in
    '') ;;
    -h | --help) sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0"; exit ;;
    *) die "unknown word '$1'; none is known" ;;
esac

# apt_install PACKAGE...: from the system's own archive.
apt_install() {
    local root=() start=$SECONDS
    command -v apt-get >/dev/null || die "this system has no apt-get: install $* by hand"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "$* missing: run this as root"
        root=(sudo)
    fi
    say "installing by apt: $*"
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
    "${apt[@]}" update || die "apt-get update failed"
    "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null </dev/null || die "apt-get install $* failed"
    say "installed in $((SECONDS - start)) s: $*"
}

node_is_new_enough() {
    command -v node >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0] >= 18')" = true ]
}

if [ -x /usr/bin/chromium ]; then
    say "chromium is there: $(/usr/bin/chromium --version 2>/dev/null)"
else
    apt_install chromium
    [ -x /usr/bin/chromium ] || die "chromium was installed, but there is no /usr/bin/chromium"
fi

if node_is_new_enough; then
    say "node is there: $(node --version)"
else
    apt_install nodejs
    node_is_new_enough || die "the system's node is older than 18: install a newer one"
fi

cd "$(dirname "${BASH_SOURCE[0]}")/../crates/report/browser"
# Two calls at once (two test runs): the second waits, then finds the work done.
exec 9>.install.lock
flock 9
if cmp -s package-lock.json node_modules/.installed; then
    say "playwright-core is there"
else
    command -v npm >/dev/null || apt_install npm
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null || die "npm ci failed in $PWD"
    cp package-lock.json node_modules/.installed # last: it says that the rest is whole
    say "playwright-core is installed in $PWD/node_modules"
fi
