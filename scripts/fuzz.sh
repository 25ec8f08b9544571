#!/bin/bash
# Fuzz the protocol codecs. Fails if a target crashes.
#
#   scripts/fuzz.sh [TARGET]...     (default: every target in fuzz/fuzz_targets)
#
# Each target runs for $FUZZ_SECONDS seconds (default: 20), starting from a random seed, which is printed. Set FUZZ_SEED to
# repeat a run. Input that crashes a target is kept below fuzz/artifacts, and the output says how to run it again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "fuzz: $*"; }
die() {
    echo "fuzz: $*" >&2
    exit 1
}

seconds=${FUZZ_SECONDS:-20}
# libFuzzer takes 32 bits. With 0, it would choose a seed itself.
seed=${FUZZ_SEED:-$((RANDOM * 32768 + RANDOM + 1))}

command -v rustup >/dev/null || die "rustup is missing, which selects the nightly compiler: see https://rustup.rs"
cargo +nightly --version >/dev/null 2>&1 ||
    die "fuzzing needs a nightly compiler: run 'rustup toolchain install nightly'"
if ! cargo fuzz --version >/dev/null 2>&1; then
    say "cargo-fuzz is missing: installing it"
    cargo install cargo-fuzz --locked
fi

targets=("$@")
if [ ${#targets[@]} = 0 ]; then
    for file in fuzz/fuzz_targets/*.rs; do
        targets+=("$(basename "$file" .rs)")
    done
fi

failed=()
for target in "${targets[@]}"; do
    [ -f "fuzz/fuzz_targets/$target.rs" ] || die "no target '$target' in fuzz/fuzz_targets"
    say "$target: $seconds s, seed $seed"
    cargo +nightly fuzz run "$target" -- \
        -max_total_time="$seconds" -seed="$seed" -max_len=65536 -rss_limit_mb=1024 -print_final_stats=1 ||
        failed+=("$target")
done
[ ${#failed[@]} = 0 ] || die "crashed: ${failed[*]} (input is kept below fuzz/artifacts)"
say "all passed: ${targets[*]}"
