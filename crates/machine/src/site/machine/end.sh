# Kills what was started for the directory $1 of a node of a guest, where all of that is dyno's. Shared memory ends with
# the guest.
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
    return 0
}
