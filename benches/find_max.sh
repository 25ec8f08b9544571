#!/bin/bash
# Check the highest rates found by searches against the server, and write the results to benches/RESULTS.md.
#
#   benches/find_max.sh [--quick] [--searches N] [--limit-ms MS] [--step SECONDS] [--check SECONDS] [--out FILE]
#
#   --searches  number of searches (default: 10)
#   --limit-ms  limit of the 99th percentile (default: 50)
#   --step      length of each step of a search (default: 12)
#   --check     how long the server is driven below and above the interval (default: 60)
#   --quick     one short search, to standard output: a check that the script works
#   --out FILE  write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# Takes about 80 minutes with the defaults. Each search is stored in benches/outcomes/find_max.jsonl when its checks end, so an
# interrupted experiment continues; remove the file to start over. The host should be idle otherwise.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
exec python3 "$benches/find_max.py" "$@"
