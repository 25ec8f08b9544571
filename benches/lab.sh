#!/bin/bash
# Measure what the laboratory itself costs, and write the figures to benches/RESULTS.md.
#
#   benches/lab.sh [--quick] [--out FILE]
#
#   overhead    throughput with all monitors on over throughput without, in 10 interleaved pairs
#   start       from `dyno run` to the first transaction, with a template that is there
#   reset       a fresh copy of 1 GB of data for a trial
#   eight       eight MariaDB servers at once
#   report      the report of 100 trials
#
#   --quick     short and small, to standard output: proves that this works, and no more
#   --out FILE  write there instead of benches/RESULTS.md ("-": standard output)
#
# Servers are private ones that dyno starts; data goes to a cache of its own that is removed. About 10 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/lab.py" "$@"
