#!/bin/bash
# Measure dyno on PostgreSQL beside sysbench's pgsql driver and pgbench, and write the figures to benches/RESULTS.md.
#
#   benches/postgres.sh [--quick] [--pairs N] [--out FILE] [statements | loading]...
#
#   statements    client CPU for each statement, and statements/s, at 64 users
#   loading       loading 4 x 500,000 rows with two connections, beside sysbench
#   (no word means both)
#
#   --quick       one short round of each, on small data, to standard output: proves that this works, and no more
#   --pairs N     rounds (default: 15 for statements, 3 for loading)
#   --out FILE    write there instead of benches/RESULTS.md ("-": standard output)
#
# Starts a private PostgreSQL on a free port of 127.0.0.1 and ends it. It takes some ten minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
"$root/scripts/install-servers.sh" postgres sysbench >&2
RIVALS= exec python3 "$benches/postgres.py" "$@"
