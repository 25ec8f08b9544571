# Unpacks the directory $1 of a node from the standard input, for the account $2 (UID:GID) if servers run as another user.
umask 022
dir=$1 owner=$2
mkdir -p "$dir" && tar -C "$dir" -xpof - || exit 1
[ -n "$owner" ] || exit 0
for path in "$dir"/*; do
    case $path in
        */own) chown -R "$owner" "$path" ;;
        *) chown -R "0:${owner#*:}" "$path" ;;
    esac
done
