set -e
own_path=$PATH
PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin
root=$1
shift
mount -t tmpfs -o mode=755 tmpfs "$root"
cd "$root"
mkdir dev old proc run sys tmp
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
mkdir -m 1777 dev/shm
for device in null zero full random urandom; do
    : > "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mount --rbind /proc proc
mount -o bind,ro /sys sys
while [ "$1" != -- ]; do
    mkdir -p "$(dirname ".$2")"
    if [ -L "$2" ]; then
        # The system's directories are often links to others.
        ln -s "$(readlink "$2")" ".$2"
    elif [ -d "$2" ]; then
        mkdir -p ".$2"
        mount -o "$1" "$2" ".$2"
        if [ "$1" = rbind,ro ]; then
            # mount makes only the topmost mount read-only.
            top=$(cd ".$2" && pwd -P)
            while read -r _ _ _ _ point _; do
                # The kernel escapes special characters.
                case $point in *\\*) point=$(printf %b "$point") ;; esac
                case $point in "$top"/*) mount -o remount,bind,ro "$point" ;; esac
            done </proc/self/mountinfo
        fi
    fi
    shift 2
done
shift
pivot_root . old
cd /
umount -l old
rmdir old
mount -o remount,bind,ro /
PATH=$own_path
exec "$@"
