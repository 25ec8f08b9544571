#!/bin/bash
# Find out how far dyno's comparison can be trusted, and write the figures to benches/RESULTS.md.
#
#   benches/sure.sh aa [N]      N studies (24) of a server against itself: how often is a difference called?
#   benches/sure.sh slow [N]    N studies (15) of a server against itself made 5 % slower: how often is it found?
#   benches/sure.sh far-aa [N], far-slow [N]
#                               the same behind a network's round trip, which is always as long
#   benches/sure.sh report      write what is kept to benches/RESULTS.md
#
#   --quick       two studies with short trials, thrown away: proves that this works, and no more
#   --out FILE    write there instead ("-": standard output, as the experiments do)
#
# A study of the first takes a minute, one of the second four. Each is kept as it ends, so what was interrupted goes
# on, up to N in all, with the same build: both lie in $DYNO_SURE_DIR (default: sure/ below the build's directory).
# Remove that directory to begin anew.
#
# Starts a private MariaDB on a free port of 127.0.0.1, and proxies before it, and ends them. All of it runs on the
# last CPU; it is best that nothing else does.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

case " $* " in *" -h "* | *" --help "*)
    sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0"
    exit
    ;;
esac

target() { # of the package in this directory
    (cd "$1" && cargo metadata --format-version 1 --no-deps) |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])'
}
work=${DYNO_SURE_DIR:-$(target "$root")/sure}
if [[ ! -x $work/slow_proxy || " $* " == *" --quick "* ]]; then
    "$root/scripts/install-servers.sh" mariadb >&2
    echo "building dyno and the proxy" >&2
    (cd "$root" && cargo build --quiet --release -p dyno)
    (cd "$here/rivals" && cargo build --quiet --release --bin slow_proxy)
    case " $* " in *" --quick "*) work=$(mktemp -d) ;; esac
    mkdir -p "$work"
    cp "$(target "$root")/release/dyno" "$(target "$here/rivals")/release/slow_proxy" "$work"
fi
WORK=$work exec python3 "$here/sure.py" "$@"
