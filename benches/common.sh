# shellcheck shell=bash
# Shared by the scripts in this directory, which source it first.

benches=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$benches")

die() {
    echo "benches/$(basename "$0"): $*" >&2
    exit 1
}

has() { # WORD ARGUMENT...: whether WORD is one of the arguments
    [[ " ${*:2} " == *" $1 "* ]]
}

help_of() { # ARGUMENT...: with -h or --help, prints the comment at the top of the script, and exits
    if has -h "$@" || has --help "$@"; then
        sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0"
        exit
    fi
}

target_of() { # DIRECTORY: prints the target directory of the package in DIRECTORY
    (cd "$1" && cargo metadata --format-version 1 --no-deps) |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])'
}

build_dyno() { # [ENGINE]: installs the engine's servers (default: mariadb), builds dyno, and exports its path as DYNO
    command -v cargo >/dev/null || die "cargo is missing: install Rust first (see README.md)"
    command -v python3 >/dev/null || die "python3 is missing: apt-get install python3"
    "$root/scripts/install-servers.sh" "${1:-mariadb}" >&2
    echo "building dyno" >&2
    (cd "$root" && cargo build --quiet --release -p dyno) || die "building dyno failed"
    DYNO=$(target_of "$root")/release/dyno
    export DYNO
}

build_rivals() { # CARGO-OPTION...: builds benches/rivals, and exports its directory as RIVALS
    echo "building benches/rivals" >&2
    (cd "$benches/rivals" && cargo build --quiet --release "$@") || die "building benches/rivals failed"
    RIVALS=$(target_of "$benches/rivals")/release
    export RIVALS
}
