#!/bin/bash
# Compare dyno on PostgreSQL with sysbench's pgsql driver and with pgbench, and write the results to benches/RESULTS.md.
#
#   benches/postgres.sh [--quick] [--pairs N] [--out FILE] [statements | loading]...
#
#   statements    client CPU per statement, and statements per second, with 64 users
#   loading       loading 4 x 500,000 rows over two connections, compared with sysbench
#   (default: both)
#
#   --quick       one short round of each, on small data, to standard output: a check that the script works
#   --pairs N     rounds (default: 15 for statements, 3 for loading)
#   --out FILE    write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# Starts a private PostgreSQL on a free port of 127.0.0.1, and stops it afterward. Takes about ten minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno postgres
"$root/scripts/install-servers.sh" sysbench >&2
RIVALS= exec python3 "$benches/postgres.py" "$@"
