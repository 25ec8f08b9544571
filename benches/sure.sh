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
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"

work=${DYNO_SURE_DIR:-$(target_of "$root")/sure}
if [[ ! -x $work/slow_proxy ]] || has --quick "$@"; then
    build_dyno
    build_rivals --bin slow_proxy
    if has --quick "$@"; then work=$(mktemp -d); fi
    mkdir -p "$work"
    cp "$DYNO" "$RIVALS/slow_proxy" "$work"
fi
WORK=$work exec python3 "$benches/sure.py" "$@"
