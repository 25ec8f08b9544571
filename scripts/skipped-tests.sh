#!/bin/bash
# List the tests that were skipped. ./test calls this.
#
#   scripts/skipped-tests.sh [--ci] RECORD
#
# RECORD is a file with one line for each: its name, a colon, and why it could not run. With --ci, a test that is not in
# .ci/allowed-skips is an error (exit code 1). DYNO_ALLOWED_SKIPS names another list.
set -euo pipefail

ci=false
if [ "${1:-}" = --ci ]; then
    ci=true
    shift
fi
record=${1:?skipped-tests: missing argument RECORD}
list=${DYNO_ALLOWED_SKIPS:-$(dirname "${BASH_SOURCE[0]}")/../.ci/allowed-skips}
allowed=$(sed 's/#.*//; s/[[:space:]]*$//' "$list")

count=0
refused=()
while IFS= read -r line; do
    count=$((count + 1))
    name=${line%%: *}
    if grep -qxF -- "$name" <<<"$allowed"; then
        line="$line (allowed)"
    else
        refused+=("$name")
    fi
    echo "    $line"
done < <(sort -u "$record")
echo "skipped tests: $count"

if $ci && [ ${#refused[@]} -gt 0 ]; then
    printf 'skipped-tests: not in .ci/allowed-skips: %s\n' "${refused[@]}" >&2
    exit 1
fi
