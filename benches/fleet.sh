#!/bin/bash
# Measure loads that come from several agents, and write the results to benches/RESULTS.md.
#
#   benches/fleet.sh [--quick] [--pairs N] [--out FILE] [shares | arrivals]...
#
#   shares        three agents against one with the same users in all: statements per second, and client CPU per statement
#   arrivals      an open loop from four agents: arrivals over those that the study asks for
#   (default: both of them)
#
#   --quick       one short round of each, to standard output: a check that the script works
#   --pairs N     pairs of runs (default: 10), and runs of the open loop (default: 3)
#   --out FILE    write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# Starts a private MariaDB, a private nats-server, and agents on free ports of 127.0.0.1, and stops them afterward. Takes about
# 15 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno mariadb
"$root/scripts/install-servers.sh" nats >&2
RIVALS= exec python3 "$benches/fleet.py" "$@"
