#!/bin/bash
# Measure dyno's own cost beside sysbench's, and write the figures to benches/RESULTS.md.
#
#   benches/run.sh [--quick] [--pairs N] [--out FILE] [cpu | rates | memory | connections | load]...
#
#   cpu           client CPU for each statement, and statements/s, at 64 users: dyno, sysbench, and two programs
#                 of benches/rivals: the least a client can do (floor), and dyno's users on tokio (tokio)
#   rates         statements/s of dyno and sysbench, both with their default options, at 16 and 64 users
#   memory        peak memory of dyno and sysbench at 1,024 users
#   connections   10,000 connections, driven for 30 s by one dyno process
#   load          loading 4 x 500,000 rows with two connections
#   (no word means all five)
#
#   --quick       one short round of each, on small data, to standard output: proves that this works, and no more
#   --pairs N     rounds (default: 5 for cpu and rates, 3 for load, 1 for the others)
#   --out FILE    write there instead of benches/RESULTS.md ("-": standard output); only the parts that were
#                 measured are replaced, and what stands outside the marked parts is left alone
#
# Starts a private MariaDB on a free port of 127.0.0.1 and ends it. Nothing needs to be running; ports, data and
# services of this machine are left alone. All rounds are interleaved: A B C D A B C D…
# All of it takes about 45 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
"$root/scripts/install-servers.sh" sysbench >&2
build_rivals
exec python3 "$benches/measure.py" "$@"
