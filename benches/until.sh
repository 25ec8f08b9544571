#!/bin/bash
# Measure how much time it saves to end each trial when its throughput is sure, and write the figures to
# benches/RESULTS.md.
#
#   benches/until.sh [--quick] [--ci PERCENT] [--max DURATION] [--fixed] [--out FILE]
#
#   Runs studies/quickstart.toml and studies/p2-scale-up.toml (as they are) with load.until, and adds up how long the
#   trials were. A study of a fixed length has to be long enough for its worst trial: for the same interval each of
#   its trials is as long as the longest of these.
#
#   --ci        how sure each trial has to be (2%)
#   --max       the longest trial (15m), which is what a careful user would fix who knows nothing of the noise
#   --fixed     also run each study with that fixed length, to see how narrow its intervals are
#   --quick     short and wide, to standard output: proves that this works, and no more
#   --out FILE  write there instead of benches/RESULTS.md ("-": standard output)
#
# Servers are private ones that dyno starts; data goes to a cache of its own that is removed. At most 8 trials of the
# longest length, with --fixed twice as long; some ten minutes on a quiet host.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/until.py" "$@"
