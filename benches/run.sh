#!/bin/bash
# Measure the cost of dyno compared with sysbench, and write the results to benches/RESULTS.md.
#
#   benches/run.sh [--quick] [--pairs N] [--out FILE] [cpu | rates | wakes | memory | connections | load]...
#
#   cpu           client CPU per statement, and statements per second, with 64 users: dyno, sysbench, and two programs
#                 of benches/rivals: the minimum that any client needs (floor), and dyno's users on tokio (tokio)
#   rates         statements per second of dyno and sysbench with default options, with 16 and 64 users
#   wakes         point selects on a host that client and server share: CPU, sleeps, and preemptions of both, for dyno,
#                 sysbench, the floor, and a floor with a blocking thread for each user
#   memory        peak memory of dyno and sysbench with 1,024 users
#   connections   10,000 connections of one dyno process, for 30 s
#   load          loading 4 x 500,000 rows over two connections
#   (default: all six)
#
#   --quick       one short round of each, on small data, to standard output: a check that the script works
#   --pairs N     rounds (default: 5 for cpu, 15 for rates and wakes, 3 for load, 1 for the others)
#   --out FILE    write to FILE instead of benches/RESULTS.md ("-": standard output); replaces only the parts
#                 that were measured
#
# Starts a private MariaDB on a free port of 127.0.0.1, and stops it afterward. All rounds are interleaved:
# A B C D A B C D… Takes about 50 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
"$root/scripts/install-servers.sh" sysbench >&2
build_rivals
exec python3 "$benches/measure.py" "$@"
