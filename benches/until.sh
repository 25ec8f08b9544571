#!/bin/bash
# Measure how much time it saves to end each trial when its throughput is sure, and write the figures to
# benches/RESULTS.md.
#
#   benches/until.sh [--quick] [--ci PERCENT] [--reruns N] [--length SECONDS] [--threads LIST] [--out FILE]
#
#   Runs studies/quickstart.toml several times with trials of a fixed length, and replays the rule of load.until on
#   the seconds that were recorded. What counts is the realised error: how far the mean of a trial is off the mean of
#   all reruns together. The fixed length that is compared with has the same realised error.
#
#   --ci        how sure each trial has to be, in percent (10)
#   --reruns    how often the study is run (10)
#   --length    of each trial, in seconds, and so the longest that the rule may take (40)
#   --threads   the points of the study ("[1, 8]")
#   --quick     short and wide, to standard output: proves that this works, and no more
#   --out FILE  write there instead of benches/RESULTS.md ("-": standard output)
#
# SQLite only: no server is started. Some fifteen minutes with the defaults, on a host where nothing else runs.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/until.py" "$@"
