#!/bin/bash
# Measure how long dyno takes to compare two results of 100 trials, and write the figures to benches/RESULTS.md.
#
#   benches/compare.sh [--quick] [--out FILE]
#
#   --quick     shorter trials, to standard output: proves that this works, and no more
#   --out FILE  write there instead of benches/RESULTS.md ("-": standard output)
#
# Servers are private ones that dyno starts; data goes to a cache of its own that is removed. About 2 minutes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

case " $* " in *" -h "* | *" --help "*)
    sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0"
    exit
    ;;
esac

"$root/scripts/install-servers.sh" mariadb >&2
echo "building dyno" >&2
(cd "$root" && cargo build --quiet --release -p dyno)
target=$(cd "$root" && cargo metadata --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
DYNO=$target/release/dyno exec python3 "$here/compare.py" "$@"
