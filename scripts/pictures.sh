#!/bin/bash
# Create the pictures of the README from a real run: docs/images/terminal.svg and docs/images/report.png.
#
#   scripts/pictures.sh [STUDY]     (default: studies/quickstart.toml)
#
# Builds dyno, runs the study, and takes a screenshot of its report in the browser that the tests use. This takes about a
# minute, on a machine that should be idle, and needs pngquant. Set DYNO to use a program that is already built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

study=${1:-studies/quickstart.toml}
command -v pngquant >/dev/null || {
    echo "pictures: pngquant is missing: apt-get install pngquant" >&2
    exit 1
}
scripts/install-browser.sh
if [ -z "${DYNO:-}" ]; then
    cargo build --release --locked -p dyno
    DYNO=target/release/dyno
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    echo "\$ dyno run $study"
    "$DYNO" run "$study" --out "$work/result" 2>&1
} | sed "s|$work/result|results/$(basename "$study" .toml)|" | fold -s -w 90 >"$work/terminal.txt"
cat "$work/terminal.txt"
mkdir -p docs/images
node crates/report/browser/pictures.mjs "$work/terminal.txt" "$work/result/report.html" docs/images
pngquant --force --skip-if-larger --strip --speed 1 --output docs/images/report.png 32 docs/images/report.png
ls -l docs/images
