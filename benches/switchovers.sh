#!/bin/bash
# Switches the primary of every kind of cluster over to a replica again and again under load, and counts what is left behind.
#
#   benches/switchovers.sh [SWITCHOVERS] [KIND...]     10 switchovers of each kind take about 30 minutes
#
# A kind is ENGINE:CLUSTER. Prints for each: switchovers that took effect under load, lost transfers of acknowledged ones, switchovers
# that left something behind or failed, members that the ledger could not check, and the seconds until the first accepted
# write (minimum, median, maximum). Exits with 1 if a switchover failed, a transfer was lost or left behind on a member, or
# a member was left unchecked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

switchovers=${1:-10}
shift || true
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(mariadb:asynchronous mariadb:semi-synchronous mariadb:galera mysql:asynchronous
    mysql:semi-synchronous mysql:group-replication postgres:asynchronous postgres:synchronous postgres:quorum
    postgres:patroni postgres:patroni-synchronous)
dyno=${DYNO:-target/release/dyno}
[ -x "$dyno" ] || cargo build --release --locked
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# How long the old primary may take to be a replica again; those of PostgreSQL are shut down.
interval_s() {
    case $1 in
        postgres:*) echo 15 ;;
        *) echo 12 ;;
    esac
}

study() {
    local engine=${1%%:*} cluster=${1#*:} every at
    every=$(interval_s "$1")
    printf 'title = "Switchovers: %s"\n[server]\nengine = "%s"\n[data]\nrows = 10_000\n' "$1" "$engine"
    printf '[load]\nworkload = "oltp_write_only"\nthreads = 8\nwarmup = "3s"\ntime = "%ss"\n' $(((switchovers + 1) * every))
    printf '[topology]\ncluster = "%s"\nmembers = 3\n[ledger]\nrate = 200\n' "$cluster"
    for ((at = 1; at <= switchovers; at++)); do
        printf '[[fault]]\nat = "%ss"\nswitchover = "replica"\n' $((at * every))
    done
}

failed=0
for kind in "${kinds[@]}"; do
    study "$kind" >"$out/study.toml"
    "$dyno" run "$out/study.toml" --out "$out/$kind" >"$out/log" 2>&1 || { failed=1; tail -5 "$out/log"; }
    python3 - "$kind" "$out/$kind" "$switchovers" <<'PYTHON' || failed=1
import glob, json, statistics, sys
kind, out, asked = sys.argv[1:]
trials = [json.load(open(path)) for path in sorted(glob.glob(out + "/trials/*/trial.json"))]
faults = [fault for trial in trials for fault in trial.get("faults", [])]
# After a warm-up of 3 s.
struck = [fault for trial in trials for fault in trial.get("faults", [])
          if fault["effect_s"] is not None and fault["effect_s"] < 3 + trial["measured_s"]]
errors = [f"{fault['number']}: {fault['error']}" for fault in faults if fault.get("error")]
first = [f["recovery"]["first_write_s"] for f in struck if f["recovery"] and f["recovery"]["first_write_s"] is not None]
ledgers = [ledger for trial in trials for ledger in trial.get("ledgers", [])]
total = lambda field: sum(ledger[field] for ledger in ledgers)
wrong = {field: total(field) for field in ("lost", "behind", "phantom", "duplicated", "diverged")}
unchecked = sum(len(ledger["unchecked"]) for ledger in ledgers)
times = f"{min(first):.2f} / {statistics.median(first):.2f} / {max(first):.2f} s" if first else "none"
print(f"{kind:28} {len(struck):3} switchovers  {wrong} of {total('acknowledged'):6}  failed {len(errors)}"
      f"  unchecked {unchecked}  first write {times}", flush=True)
print("\n".join(errors[:5]), end="\n" if errors else "", flush=True)
sys.exit(bool(errors or any(wrong.values()) or unchecked or len(struck) < int(asked) or not ledgers))
PYTHON
done
exit $failed
