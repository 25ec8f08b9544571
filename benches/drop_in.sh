#!/bin/bash
# Compare `dyno sysbench` with sysbench, and scripts of pgbench with pgbench; write the results to benches/RESULTS.md.
#
#   benches/drop_in.sh [--quick] [--pairs N] [--out FILE] [scripts | memory | native | pgbench]...
#
#   scripts       client CPU per statement and statements per second of a Lua script, with 64 users
#   memory        peak memory of 1,024 users of a Lua script
#   native        rates of cpu, memory, threads, mutex, and fileio
#   pgbench       client CPU per statement and statements per second of tpcb-like and select-only, with 64 users
#   (default: all of them)
#
#   --quick       one short round of each, on small data, to standard output: a check that the script works
#   --pairs N     rounds (default: 15 for scripts and pgbench, 5 for native, 1 for memory)
#   --out FILE    write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# Starts private servers on free ports of 127.0.0.1, and stops them afterward. Takes about 20 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno mariadb
"$root/scripts/install-servers.sh" postgres sysbench >&2
RIVALS= exec python3 "$benches/drop_in.py" "$@"
