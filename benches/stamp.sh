#!/bin/bash
# Measure how far reported times hold when the load generator has to wait for its CPU, and write the figures to
# benches/RESULTS.md.
#
#   benches/stamp.sh [--quick] [--rounds N] [--out FILE]
#
# A server of known service time (MariaDB behind a proxy that holds each request for 1 ms) has one CPU to itself; dyno
# drives it with one user from another CPU, alone and beside a program that never sleeps. Each round measures p99 with
# both settings of --reply-time; what the proxy measures of the same requests is the truth. (What dyno reports alone
# is not: beside the program, whatever else the host does falls on the server's CPU, and the server is slower.)
#
#   --quick     one short round, to standard output: proves that this works, and no more
#   --rounds N  rounds (default: 5)
#   --out FILE  write there instead of benches/RESULTS.md ("-": standard output)
#
# Needs two CPUs. About 5 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
build_rivals --bin slow_proxy
exec python3 "$benches/stamp.py" "$@"
