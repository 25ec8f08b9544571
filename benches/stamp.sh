#!/bin/bash
# Measure how accurate response times are when the load generator must wait for a CPU, and write the results to
# benches/RESULTS.md.
#
#   benches/stamp.sh [--quick] [--rounds N] [--out FILE]
#
# A server with a known service time (MariaDB behind a proxy that delays each request by 1 ms) has a CPU of its own. dyno
# drives it with one user from another CPU, first alone, then with a program that keeps this CPU busy. Each round
# measures p99 with both values of --reply-time. The reference is what the proxy measures for the same requests. (What
# dyno measures alone is not a reference: with the CPU busy, the host's other work moves to the server's CPU and slows
# the server.)
#
#   --quick     one short round, to standard output: a check that the script works
#   --rounds N  rounds (default: 5)
#   --out FILE  write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# Needs two CPUs. Takes about 5 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
build_rivals --bin slow_proxy
exec python3 "$benches/stamp.py" "$@"
