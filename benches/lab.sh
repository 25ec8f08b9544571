#!/bin/bash
# Measure the overhead of the laboratory, and write the results to benches/RESULTS.md.
#
#   benches/lab.sh [--quick] [--out FILE]
#
#   overhead    throughput with all monitors relative to throughput without, in 10 interleaved pairs
#   start       time from `dyno run` to the first transaction, with an existing template
#   reset       time to copy 1 GB of data for a trial
#   eight       eight MariaDB servers at the same time
#   report      time and size of the report of 100 trials
#
#   --quick     short and small runs, to standard output: a check that the script works
#   --out FILE  write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# dyno starts private servers, with a cache of its own that is removed afterward. Takes about 10 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/lab.py" "$@"
