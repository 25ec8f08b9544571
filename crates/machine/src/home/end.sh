# Kills what was started for the directory $1 of a node or of a run, and removes its shared memory: only what belongs to
# this user or to the owner of the nodes' own directories.
PATH=$PATH:/usr/sbin:/sbin
owners() {
    id -u
    for own in "$1/own" "$1"/*/own; do
        [ -d "$own" ] && [ ! -h "$own" ] && stat -c %u "$own"
    done
}
is_owned() {
    awk -v owners="$2" '
        BEGIN { count = split(owners, list); for (i = 1; i <= count; i++) own[list[i]] = 1 }
        /^Uid:/ { for (i = 2; i <= NF; i++) if (!($i in own)) exit; found = 1; exit }
        END { exit !found }' "/proc/$1/status" 2>/dev/null
}
processes() {
    {
        grep -lsF "DYNO_RUN_DIR=$1/" /proc/[0-9]*/environ
        ls -l /proc/[0-9]*/fd/0 2>/dev/null | grep -F -- "-> $1/" | sed 's/.* \(\/proc\/[^ ]*\) ->.*/\1/'
    } | cut -d/ -f3 | sort -u | while read -r pid; do
        if is_owned "$pid" "$2"; then echo "$pid"; fi
    done
}
end_processes() {
    rounds=0 quiet=0 owners=$(owners "$1")
    while [ "$quiet" -lt 2 ]; do
        found=$(processes "$1" "$owners")
        if [ -z "$found" ]; then
            quiet=$((quiet + 1))
            continue
        fi
        quiet=0 rounds=$((rounds + 1))
        if [ "$rounds" -gt 300 ]; then
            echo "process" $found "survived SIGKILL"
            return 1
        fi
        kill -9 $found 2>/dev/null
        sleep 0.1
    done
    for file in "$1/process" "$1"/*/process; do
        [ -f "$file" ] || continue
        pid=$(cat "$file")
        awk -v pid="$pid" -v owners="$owners" '
            BEGIN { count = split(owners, list); for (i = 1; i <= count; i++) own[list[i]] = 1 }
            $5 == pid && $7 == 0 && $8 in own { print $2 }' /proc/sysvipc/shm 2>/dev/null |
            while read -r id; do ipcrm -m "$id" 2>/dev/null; done
    done
    return 0
}
