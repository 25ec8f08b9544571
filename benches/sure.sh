#!/bin/bash
# Measure the error rates of dyno's comparisons, and write the results to benches/RESULTS.md.
#
#   benches/sure.sh aa [N]      N studies (default: 24) of two variants with the same settings: how often is a difference
#                               reported?
#   benches/sure.sh slow [N]    N studies (default: 15) of two variants, of which the second has performance_schema on:
#                               how often is the slowdown found?
#   benches/sure.sh report      write the stored outcomes to benches/RESULTS.md
#
#   --quick       two studies with short trials, whose outcomes are discarded: a check that the script works
#   --out FILE    write to FILE instead ("-": standard output, the default of the experiments)
#
# A study takes two minutes (aa) or five (slow). Each outcome is stored when its study ends, so an interrupted experiment
# continues, up to N studies in total, with the same build. Both are in $DYNO_SURE_DIR (default: sure/ in the target
# directory). Remove that directory to start over.
#
# The studies start private MariaDB servers on free ports of 127.0.0.1. Everything runs on the last CPU, which should be
# idle otherwise.
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
WORK=$work exec python3 "$benches/sure.py" "$@"
