#!/bin/bash
# Measure how long dyno takes to compare two results of 100 trials, and write the results to benches/RESULTS.md.
#
#   benches/compare.sh [--quick] [--out FILE]
#
#   --quick     shorter trials, to standard output: a check that the script works
#   --out FILE  write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# dyno starts private servers, with a cache of its own that is removed afterward. Takes about 2 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/compare.py" "$@"
