#!/bin/bash
# Measure how long dyno and sysbench take to load the same tables into PostgreSQL, and print a table.
#
#   benches/load-postgres.sh [--rows N] [--rounds N]
#
# A private server with default settings; both load 4 tables by 2 connections into a new database, one after the
# other, in alternating order. dyno's time includes VACUUM and ANALYZE, which sysbench leaves to autovacuum.
#
#   --rows N    rows in each table (default: 500000)
#   --rounds N  pairs (default: 3)
#
# Needs PostgreSQL (scripts/install-servers.sh postgres) and sysbench with its pgsql driver. About 3 minutes.
set -euo pipefail
# shellcheck source=benches/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_of "$@"
rows=500000 rounds=3
while (($#)); do
    case $1 in
    --rows) rows=$2 ;;
    --rounds) rounds=$2 ;;
    *) die "unknown option $1" ;;
    esac
    shift 2
done
sysbench --help | grep -q pgsql || die "sysbench with its pgsql driver is missing"
build_dyno postgres
bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V | tail -1)
dir=$(mktemp -d)
port=54329
as_postgres=()
if ((UID == 0)); then
    chown postgres: "$dir"
    as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups --)
fi
cd "$dir"
"${as_postgres[@]}" "$bin/initdb" -A trust -U root -D "$dir/data" >/dev/null
"${as_postgres[@]}" "$bin/postgres" -D "$dir/data" -p $port -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories="$dir" >"$dir/log" 2>&1 &
server=$!
trap 'kill -INT $server; wait $server || true; rm -rf "$dir"' EXIT
until "$bin/pg_isready" -q -h "$dir" -p $port; do sleep 0.1; done

sql() { # DATABASE STATEMENT
    PGOPTIONS=--client-min-messages=warning "$bin/psql" -X -A -t -q -v ON_ERROR_STOP=1 -h "$dir" -p $port -U root -d "$1" -c "$2"
}

by_dyno() {
    "$DYNO" bench "postgres://root@127.0.0.1:$port/bench" --tables 4 --rows "$rows" --load-connections 2 \
        --prepare only --quiet
}

by_sysbench() {
    sysbench oltp_read_write --db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=$port --pgsql-user=root \
        --pgsql-db=bench --tables=4 --table-size="$rows" --threads=2 prepare
}

timed() { # TOOL: its wall time in seconds
    sql postgres "DROP DATABASE IF EXISTS bench"
    sql postgres "CREATE DATABASE bench"
    sql postgres CHECKPOINT
    local begun=$EPOCHREALTIME
    "by_$1" >"$dir/said" 2>&1 || { cat "$dir/said" >&2 && die "$1 failed"; }
    local ended=$EPOCHREALTIME
    [[ $(sql bench "SELECT count(*) FROM sbtest4") == "$rows" ]] || die "$1 did not load $rows rows"
    echo "$ended - $begun" | bc
}

echo "| round | dyno, s | sysbench, s | dyno / sysbench |"
echo "|---|---|---|---|"
for round in $(seq "$rounds"); do
    if ((round % 2)); then
        dyno=$(timed dyno) sysbench=$(timed sysbench)
    else
        sysbench=$(timed sysbench) dyno=$(timed dyno)
    fi
    printf '| %d | %.1f | %.1f | %.2f |\n' "$round" "$dyno" "$sysbench" "$(echo "$dyno / $sysbench" | bc -l)"
done
