# Kills what was started for the directory $1 of a node or of a run, and removes its shared memory.
PATH=$PATH:/usr/sbin:/sbin
processes() {
    {
        grep -lsF "DYNO_RUN_DIR=$1/" /proc/[0-9]*/environ
        ls -l /proc/[0-9]*/fd/0 2>/dev/null | grep -F -- "-> $1/" | sed 's/.* \(\/proc\/[^ ]*\) ->.*/\1/'
    } | cut -d/ -f3 | sort -u
}
end_processes() {
    rounds=0 quiet=0
    while [ "$quiet" -lt 2 ]; do
        found=$(processes "$1")
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
        awk -v pid="$pid" '$5 == pid && $7 == 0 { print $2 }' /proc/sysvipc/shm 2>/dev/null |
            while read -r id; do ipcrm -m "$id" 2>/dev/null; done
    done
    return 0
}
