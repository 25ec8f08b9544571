#!/bin/bash
# Measure the error rates of dyno's comparisons, and write the results to benches/RESULTS.md.
#
#   benches/sure.sh aa [N]      N studies (default: 30) of two identical variants that take turns
#   benches/sure.sh whole [N]   N studies (default: 8) of two identical variants, one trial after the other
#   benches/sure.sh read [N]    N studies (default: 20) that only read, with turns; the second variant is 4.76 % slower
#   benches/sure.sh write [N]   N studies (default: 10) with writes and turns; the same slowdown
#   benches/sure.sh write-whole [N]
#                               N studies (default: 1) with writes, one trial after the other; the same slowdown
#   benches/sure.sh report      write the stored outcomes to benches/RESULTS.md
#
#   --quick       two studies with short trials, whose outcomes are discarded: a check that the script works
#   --out FILE    write to FILE instead ("-": standard output, the default of the experiments)
#
# A study takes two to five minutes; with writes, five to fifteen. Each outcome is stored in benches/outcomes when its study
# ends, so an interrupted experiment continues, up to N studies in total. Remove the experiment's file to start over. The
# dyno that runs the studies is kept in $DYNO_SURE_DIR (default: sure/ in the target directory).
#
# The studies start private MariaDB servers on free ports of 127.0.0.1. The host should be idle otherwise.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"

work=${DYNO_SURE_DIR:-$(target_of "$root")/sure}
if [[ ! -x $work/dyno ]] || has --quick "$@"; then
    build_dyno
    if has --quick "$@"; then work=$(mktemp -d); fi
    mkdir -p "$work"
    cp "$DYNO" "$work"
fi
outcomes=$benches/outcomes
if has --quick "$@"; then outcomes=$work; fi
mkdir -p "$outcomes"
WORK=$work OUTCOMES=$outcomes exec python3 "$benches/sure.py" "$@"
