#!/bin/bash
# Measure how long dyno takes to compare two results of 100 trials, and write the figures to benches/RESULTS.md.
#
#   benches/compare.sh [--quick] [--out FILE]
#
#   --quick     shorter trials, to standard output: proves that this works, and no more
#   --out FILE  write there instead of benches/RESULTS.md ("-": standard output)
#
# Servers are private ones that dyno starts; data goes to a cache of its own that is removed. About 2 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/compare.py" "$@"
