#!/bin/bash
# Measure the error rates of dyno's comparisons, and write the results to benches/RESULTS.md.
#
#   benches/sure.sh aa [N]      N studies (default: 24) that compare a server with itself: how often is a difference
#                               reported?
#   benches/sure.sh slow [N]    N studies (default: 15) that compare a server with itself, made 5 % slower: how often is
#                               the difference found?
#   benches/sure.sh far-aa [N], far-slow [N]
#                               the same, over a simulated network with a constant round-trip time
#   benches/sure.sh report      write the stored outcomes to benches/RESULTS.md
#
#   --quick       two studies with short trials, whose outcomes are discarded: a check that the script works
#   --out FILE    write to FILE instead ("-": standard output, the default of the experiments)
#
# A study takes one minute (aa) or four (slow). Each outcome is stored when its study ends, so an interrupted experiment
# continues, up to N studies in total, with the same build. Both are in $DYNO_SURE_DIR (default: sure/ in the target
# directory). Remove that directory to start over.
#
# Starts a private MariaDB on a free port of 127.0.0.1 and proxies in front of it, and stops them afterward. Everything
# runs on the last CPU, which should be idle otherwise.
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
