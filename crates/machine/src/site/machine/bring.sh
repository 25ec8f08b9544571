# Unpacks the directory $1 of a node from the standard input.
umask 022
dir=$1
[ ! -d "$dir/own" ] || had_own=1
mkdir -p "$dir" && tar -C "$dir" -xpof - || exit 1
