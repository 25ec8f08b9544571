#!/bin/bash
# Measure how much time it saves to end each trial when its throughput is sure, and write the figures to
# benches/RESULTS.md.
#
#   benches/until.sh [--quick] [--ci PERCENT] [--max DURATION] [--out FILE]
#
#   Runs studies/quickstart.toml and studies/p2-scale-up.toml (as they are) with load.until, and adds up how long the
#   trials were; then again, each trial as long as the longest of those. A study of a fixed length has to be long
#   enough for its least sure trial: how long that is follows from the intervals of the second run.
#
#   --ci        how sure each trial has to be (5%)
#   --max       the longest trial (10m), which is what a careful user would fix who knows nothing of the noise
#   --quick     short and wide, to standard output: proves that this works, and no more
#   --out FILE  write there instead of benches/RESULTS.md ("-": standard output)
#
# Servers are private ones that dyno starts; data goes to a cache of its own that is removed. At most 16 trials of the
# longest length; some twenty minutes on a quiet host.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/until.py" "$@"
