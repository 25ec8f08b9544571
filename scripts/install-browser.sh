#!/bin/bash
# Install what the browser test of the report needs. Anything already installed is left alone.
#
#   scripts/install-browser.sh
#
#   chromium         from Debian's package
#   node, npm        from Debian's packages nodejs and npm, unless node 18 or newer is installed
#   playwright-core  the library that drives the browser, with the version and checksum from
#                    crates/report/browser/package-lock.json, in node_modules beside that file
set -euo pipefail

say() { echo "install-browser: $*"; }
die() {
    echo "install-browser: $*" >&2
    exit 1
}

case ${1:-} in
    '') ;;
    -h | --help) sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0"; exit ;;
    *) die "unknown argument '$1'; there are none" ;;
esac

# apt_install PACKAGE...: installs packages from the system's archive.
apt_install() {
    local root=() start=$SECONDS
    command -v apt-get >/dev/null || die "this system has no apt-get: install $* yourself"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "$* missing: run this script as root"
        root=(sudo)
    fi
    say "installing with apt: $*"
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
    "${apt[@]}" update || die "apt-get update failed"
    "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null </dev/null || die "apt-get install $* failed"
    say "installed in $((SECONDS - start)) s: $*"
}

node_is_new_enough() {
    command -v node >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0] >= 18')" = true ]
}

if [ -x /usr/bin/chromium ]; then
    say "chromium is installed: $(/usr/bin/chromium --version 2>/dev/null)"
else
    apt_install chromium
    [ -x /usr/bin/chromium ] || die "chromium was installed, but /usr/bin/chromium does not exist"
fi

if node_is_new_enough; then
    say "node is installed: $(node --version)"
else
    apt_install nodejs
    node_is_new_enough || die "the system's node is older than version 18: install a newer one"
fi

cd "$(dirname "${BASH_SOURCE[0]}")/../crates/report/browser"
# If two test runs call this at once, the second one waits and then has nothing to do.
exec 9>.install.lock
flock 9
if cmp -s package-lock.json node_modules/.installed; then
    say "playwright-core is installed"
else
    command -v npm >/dev/null || apt_install npm
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null || die "npm ci failed in $PWD"
    cp package-lock.json node_modules/.installed # last: marks the installation as complete
    say "installed playwright-core in $PWD/node_modules"
fi
