# Gives the directory to the account $2 (UID:GID) if servers run as another user.
[ -n "$2" ] || exit 0
for path in "$dir"/*; do
    case $path in
        */own) chown -R "$2" "$path" ;;
        *) chown -R "0:${2#*:}" "$path" ;;
    esac
done
