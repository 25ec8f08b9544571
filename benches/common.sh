# shellcheck shell=bash
# What the scripts of this directory begin with: each sources it as its first act.

benches=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$benches")

die() {
    echo "benches/$(basename "$0"): $*" >&2
    exit 1
}

has() { # WORD ARGUMENT...: whether it is one of them
    [[ " ${*:2} " == *" $1 "* ]]
}

help_of() { # ARGUMENT...: if they ask for help, print the comment that the script begins with, and end
    if has -h "$@" || has --help "$@"; then
        sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0"
        exit
    fi
}

target_of() { # DIRECTORY: where the package in it is built
    (cd "$1" && cargo metadata --format-version 1 --no-deps) |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])'
}

build_dyno() { # [ENGINE]: install its servers, build dyno, and name the program in DYNO, for the experiments in Python
    command -v cargo >/dev/null || die "cargo is missing: install Rust first (see README.md)"
    command -v python3 >/dev/null || die "python3 is missing: apt-get install python3"
    "$root/scripts/install-servers.sh" "${1:-mariadb}" >&2
    echo "building dyno" >&2
    (cd "$root" && cargo build --quiet --release -p dyno) || die "dyno does not build"
    DYNO=$(target_of "$root")/release/dyno
    export DYNO
}

build_rivals() { # CARGO-OPTION...: and name their directory in RIVALS
    echo "building benches/rivals" >&2
    (cd "$benches/rivals" && cargo build --quiet --release "$@") || die "benches/rivals does not build"
    RIVALS=$(target_of "$benches/rivals")/release
    export RIVALS
}
