# Gives the directory to the account $2 (UID:GID) if servers run as another user. What the account
# already owned may contain hard links to files of other users, which it must not get.
[ -n "$2" ] || exit 0
for path in "$dir"/*; do
    case $path in
        */own) [ -n "$had_own" ] || chown -R "$2" "$path" ;;
        *) chown -R "0:${2#*:}" "$path" ;;
    esac
done
