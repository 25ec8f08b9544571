#!/bin/bash
# Measure how much time it saves to end each trial at a target precision, and write the results to
# benches/RESULTS.md.
#
#   benches/until.sh [--quick] [--ci PERCENT] [--reruns N] [--length SECONDS] [--threads LIST] [--out FILE]
#
#   Runs studies/quickstart.toml several times with trials of a fixed length, and replays the rule of load.until on
#   the recorded seconds. The realized error is the deviation of a trial's mean from the mean of all reruns. The result
#   is compared with the fixed length that has the same realized error.
#
#   --ci        target precision of each trial, in percent (default: 10)
#   --reruns    how often the study runs (default: 10)
#   --length    length of each trial in seconds, which is also the longest that the rule may take (default: 600)
#   --threads   the points of the study (default: "[1, 8]")
#   --quick     few and short runs, to standard output: a check that the script works
#   --out FILE  write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# Uses SQLite, so no server is started. Takes about four hours with the defaults, on a host that should be idle.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/until.py" "$@"
