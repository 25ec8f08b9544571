#!/bin/bash
# Measure the peak memory of dyno with many users, compare it with the last release and with the goals, and write it to
# benches/RESULTS.md. Run it before each release. Fails if memory exceeds a goal or has grown by more than 5 %.
#
#   benches/memory.sh [--quick] [--rounds N] [--release VERSION] [--out FILE]
#
#   --quick            one short run of each load, to standard output: a check that the script works
#   --rounds N         runs of each load (default: 3)
#   --release VERSION  keep the figures in benches/memory.json: the next release is compared with them
#   --out FILE         write to FILE instead of benches/RESULTS.md ("-": standard output)
#
# Starts a private MariaDB on a free port of 127.0.0.1, and stops it afterward. Takes about eight minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
build_dyno
RIVALS= exec python3 "$benches/memory.py" "$@"
