# Mounts the disk $3 with the directory $1 of a node.
umask 022
dir=$1
mkdir -p "$dir" && mount -t ext4 -o noinit_itable "$3" "$dir" || exit 1
[ ! -d "$dir/lost+found" ] || rmdir "$dir/lost+found" || exit 1
