#!/bin/bash
# Measure dyno's own cost beside sysbench's, and write the figures to benches/RESULTS.md.
#
#   benches/run.sh [--quick] [--pairs N] [--out FILE] [cpu | memory | connections | load]...
#
#   cpu           client CPU for each statement, and statements/s, at 64 users: dyno, sysbench, and two programs
#                 of benches/rivals: the least a client can do (floor), and dyno's users on tokio (tokio)
#   memory        peak memory of dyno and sysbench at 1,024 users
#   connections   10,000 connections, driven for 30 s by one dyno process
#   load          loading 4 x 500,000 rows with two connections
#   (no word means all four)
#
#   --quick       one short round of each, on small data, to standard output: proves that this works, and no more
#   --pairs N     rounds (default: 5 for cpu, 3 for load, 1 for the others)
#   --out FILE    write there instead of benches/RESULTS.md ("-": standard output); only the parts that were
#                 measured are replaced, and what stands outside the marked parts is left alone
#
# Starts a private MariaDB on a free port of 127.0.0.1 and ends it. Nothing needs to be running; ports, data and
# services of this machine are left alone. All rounds are interleaved: A B C D A B C D…
# All of it takes about 25 minutes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

die() {
    echo "benches/run.sh: $*" >&2
    exit 1
}

case " $* " in *" -h "* | *" --help "*)
    sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0"
    exit
    ;;
esac

command -v cargo >/dev/null || die "cargo is missing: install Rust first (see README.md)"
command -v python3 >/dev/null || die "python3 is missing: apt-get install python3"
"$root/scripts/install-servers.sh" mariadb sysbench >&2
echo "building dyno and its rivals" >&2
(cd "$root" && cargo build --quiet --release -p dyno) || die "dyno does not build"
(cd "$here/rivals" && cargo build --quiet --release) || die "benches/rivals does not build"
target() { # of the package in this directory
    (cd "$1" && cargo metadata --format-version 1 --no-deps) |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])'
}
DYNO=$(target "$root")/release/dyno RIVALS=$(target "$here/rivals")/release \
    exec python3 "$here/measure.py" "$@"
