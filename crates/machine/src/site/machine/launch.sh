# Runs a program with its directory $1 and its standard input $2 until it ends or the connection does.
cd /
dir=$1 input=$2
shift 2
exec 3<&0
env -i PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C DYNO_RUN_DIR="$dir/" "$@" <"$input" 3<&- &
program=$!
echo "$program" >"$dir/process"
{
    cat
    kill -9 "$program"
} <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$program"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
