#!/bin/bash
# Measure whether an open loop is one queue, however many workers serve it: p99 of the response time at 90 % load with
# 1 worker and with 8, in five pairs. The server is part of the program and takes 1 ms for a statement. Prints the
# figures to standard output; fails when the median of the ratios is off by more than 5 %.
#
#   benches/queue.sh
#
# Needs a quiet machine with two CPUs or more. About 2 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
[ $# -eq 0 ] || die "unknown option '$1'; there are none"
cd "$root" && exec cargo bench --quiet -p load --bench one_queue
