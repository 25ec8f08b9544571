#!/bin/bash
# Check the highest rates found by searches against the server, and write the results to benches/RESULTS.md.
#
#   benches/find_max.sh [--quick] [--searches N] [--step SECONDS] [--check SECONDS] [--out FILE] [locks | cpu]
#
#   locks       row locks limit the server, whatever the speed of the host; four searches at a time (default)
#   cpu         the CPUs limit the server
#   --searches  number of searches (default: 10)
#   --step      length of each step of a search (default: 12)
#   --check     how long the server is driven below and above the interval (default: 60)
#   --quick     one short search, to standard output: a check that the script works
#   --out FILE  write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# Takes about 25 minutes with the defaults, and 80 minutes with cpu. Each search is stored in benches/outcomes when its checks
# end, so an interrupted experiment continues; remove the file to start over. The host should be idle otherwise.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/find_max.py" "$@"
