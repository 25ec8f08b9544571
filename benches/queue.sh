#!/bin/bash
# Measure whether all workers of an open loop serve one queue: p99 of the response time at 90 % load with 1 worker and
# with 8, in five pairs. The server is simulated, and takes 1 ms per statement. Prints the results to standard output.
# Fails if the median ratio deviates from 1 by more than 5 %.
#
#   benches/queue.sh
#
# Needs an idle machine with at least two CPUs. Takes about 2 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
[ $# -eq 0 ] || die "unknown argument '$1'; there are none"
cd "$root" && exec cargo bench --quiet -p load --bench one_queue
