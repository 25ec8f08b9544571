#!/bin/bash
# Kills the primary of every kind of cluster again and again under load, and counts acknowledged commits that were lost.
#
#   benches/primary_kills.sh [KILLS] [KIND...]     20 kills of each kind take about 90 minutes
#
# A kind is ENGINE:CLUSTER. Prints for each: kills, lost transfers of acknowledged ones, and the seconds until the first
# accepted write (minimum, median, maximum).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kills=${1:-20}
shift || true
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(mysql:group-replication mariadb:galera postgres:synchronous postgres:quorum
    postgres:asynchronous mysql:semi-synchronous postgres:patroni)
dyno=${DYNO:-target/release/dyno}
[ -x "$dyno" ] || cargo build --release --locked
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# How long a trial lasts: enough to detect the loss, to elect a primary, and to write to it.
time_s() {
    case $1 in
        *:group-replication) echo 35 ;;
        *:galera | *:patroni) echo 20 ;;
        *) echo 12 ;;
    esac
}

# study KIND: a trial for each kill, so that a slow return of a member does not count against the next kill.
study() {
    local engine=${1%%:*} cluster=${1#*:} extra=''
    case $1 in
        *:group-replication | *:galera) ;;
        *:patroni) extra='ttl = "5s"' ;;
        *) extra='failover = "1s"' ;;
    esac
    printf 'title = "Kills of the primary: %s"\n[server]\nengine = "%s"\n[data]\nrows = 10_000\n' "$1" "$engine"
    printf '[load]\nworkload = "oltp_write_only"\nthreads = 8\nwarmup = "4s"\ntime = "%ss"\nrepeats = %s\n' "$(time_s "$1")" "$kills"
    printf '[topology]\ncluster = "%s"\n%s\n[ledger]\nrate = 200\n' "$cluster" "$extra"
    printf '[[fault]]\nat = "2s"\nkill = "primary"\nheal = "never"\n'
}

for kind in "${kinds[@]}"; do
    study "$kind" >"$out/study.toml"
    "$dyno" run "$out/study.toml" --out "$out/$kind" >"$out/log" 2>&1 || tail -3 "$out/log" # a trial that ended early counts, too
    python3 - "$kind" "$out/$kind" <<'PYTHON'
import glob, json, statistics, sys
kind, out = sys.argv[1:]
trials = [json.load(open(path)) for path in sorted(glob.glob(out + "/trials/*/trial.json"))]
faults = [fault for trial in trials for fault in trial.get("faults", [])]
struck = [fault for fault in faults if fault["effect_s"] is not None]
first = [f["recovery"]["first_write_s"] for f in struck if f["recovery"] and f["recovery"]["first_write_s"] is not None]
ledgers = [ledger for trial in trials for ledger in trial.get("ledgers", [])]
total = lambda field: sum(ledger[field] for ledger in ledgers)
times = f"{min(first):.2f} / {statistics.median(first):.2f} / {max(first):.2f} s" if first else "none"
print(f"{kind:28} {len(struck):3} kills  lost {total('lost'):5} of {total('acknowledged'):7}  phantom {total('phantom')}"
      f"  duplicated {total('duplicated')}  diverged {total('diverged')}  first write {times}"
      f"  unchecked {sum(len(ledger['unchecked']) for ledger in ledgers)}", flush=True)
PYTHON
done
