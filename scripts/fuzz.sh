#!/bin/bash
# Feed the protocol's codecs with bytes of nobody's making. Fails if one of them crashes.
#
#   scripts/fuzz.sh [TARGET]...     (no word means: all of fuzz/fuzz_targets)
#
# Each target runs for $FUZZ_SECONDS, 20 if that is not set, from a seed that is printed; FUZZ_SEED repeats one.
# What makes a target crash is kept below fuzz/artifacts, and the output says how to run it again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "fuzz: $*"; }
die() {
    echo "fuzz: $*" >&2
    exit 1
}

seconds=${FUZZ_SECONDS:-20}
# libFuzzer takes 32 bits; 0 would mean: choose one yourself.
seed=${FUZZ_SEED:-$((RANDOM * 32768 + RANDOM + 1))}

command -v rustup >/dev/null || die "there is no rustup, which chooses the nightly compiler: see https://rustup.rs"
cargo +nightly --version >/dev/null 2>&1 ||
    die "there is no nightly compiler, which fuzzing needs: run 'rustup toolchain install nightly'"
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
    [ -f "fuzz/fuzz_targets/$target.rs" ] || die "there is no target '$target' in fuzz/fuzz_targets"
    say "$target: $seconds s from seed $seed"
    cargo +nightly fuzz run "$target" -- \
        -max_total_time="$seconds" -seed="$seed" -max_len=65536 -rss_limit_mb=1024 -print_final_stats=1 ||
        failed+=("$target")
done
[ ${#failed[@]} = 0 ] || die "crashed: ${failed[*]} (what it was fed is below fuzz/artifacts)"
say "all passed: ${targets[*]}"
