#!/bin/bash
# Builds the guest that `site.kind = "vm"` boots, from the packages of this system's Debian archive.
#
#   scripts/build-guest.sh [DIRECTORY]
#
# The directory is $DYNO_SERVERS/guest by default, where dyno looks for it; without DYNO_SERVERS it is
# /opt/dyno/servers/guest for root, and $HOME/.cache/dyno/servers/guest for other users. It gets the files vmlinuz,
# initrd, and root.img (about 230 MB), and last .complete, which lists the packages whose programs the guest runs.
# An image that has this system's versions of them is kept.
#
# The guest has Debian's kernel for virtual machines, OpenSSH, and the server programs of this system's packages
# mariadb-server-core and postgresql-NN, so that the same build runs on the host and in the guest. It has no keys: dyno
# makes new ones for each boot. This system does not change, and root is not needed.
set -euo pipefail
shopt -s nullglob

# What dyno runs in the guest, and what those programs need.
PACKAGES=(
    linux-image-cloud-amd64 busybox-static libc-bin dash bash coreutils findutils grep tar util-linux mount openssh-server
)
# Modules of the kernel that the initrd loads, in this order.
MODULES=(
    drivers/virtio/virtio_ring drivers/virtio/virtio drivers/virtio/virtio_pci_legacy_dev
    drivers/virtio/virtio_pci_modern_dev drivers/virtio/virtio_pci drivers/block/virtio_blk net/core/failover
    drivers/net/net_failover drivers/net/virtio_net
)
# Part of .complete: raise it when this script changes what it builds.
FORMAT=3

say() { echo "build-guest: $*"; }
die() {
    echo "build-guest: $*" >&2
    exit 1
}

guest_dir() {
    if [ -n "${DYNO_SERVERS:-}" ]; then
        echo "$DYNO_SERVERS/guest"
    elif [ "$(id -u)" = 0 ]; then
        echo /opt/dyno/servers/guest
    else
        echo "${HOME:?}/.cache/dyno/servers/guest"
    fi
}

# servers: prints the packages of servers that this system has, with their versions.
servers() {
    dpkg-query -W -f '${db:Status-Abbrev}${Package} ${Version}\n' mariadb-server-core 'postgresql-[0-9][0-9]' 2>/dev/null |
        sed -n 's/^ii *//p'
}

# fetch WORK PACKAGE...: downloads packages and all that they depend on to WORK/archives.
fetch() {
    local work=$1
    shift
    mkdir -p "$work/archives/partial"
    # With an empty status file, apt considers nothing installed.
    : >"$work/status"
    local apt=(
        apt-get -qq -o Dir::State::status="$work/status" -o Dir::Cache::archives="$work/archives"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Install-Recommends=false
        -o APT::Sandbox::User=root -o Acquire::Retries=3 -o Debug::NoLocking=1
    )
    if ! "${apt[@]}" install --download-only -y "$@" </dev/null; then
        [ "$(id -u)" = 0 ] || die "cannot fetch the packages (has 'apt-get update' been run?)"
        # The lists of packages may be older than the archive.
        apt-get -qq update || die "apt-get update failed"
        "${apt[@]}" install --download-only -y "$@" </dev/null || die "cannot fetch the packages"
    fi
}

# unpack WORK ROOT: unpacks the packages, except what only their installation needs.
unpack() {
    local work=$1 root=$2 dir deb
    mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
    for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done
    for deb in "$work"/archives/*.deb; do
        case ${deb##*/} in
            perl* | libperl* | dpkg_* | debconf_* | adduser_* | initramfs-tools* | klibc* | libklibc* | udev_* | cpio_*) continue ;;
            locales_* | libllvm* | libz3* | gcc-*-base_* | mawk_*) continue ;;
        esac
        dpkg-deb --fsys-tarfile "$deb" |
            tar -xC "$root" --no-same-owner --keep-directory-symlink --exclude='./usr/share/doc/*' \
                --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./boot/System.map*' ||
            die "cannot unpack ${deb##*/}"
    done
}

# copy_servers ROOT PACKAGE...: copies the files of these packages from this system, whose builds the archive may no
# longer have.
copy_servers() {
    local root=$1 files
    shift
    [ $# -gt 0 ] || return 0
    files=$(dpkg -L "$@" | grep -v -e '^/usr/share/doc' -e '^/usr/share/man' -e /llvmjit -e /bitcode/ | sort -u)
    while read -r file; do [ -d "$file" ] || [ ! -r "$file" ] || echo "${file#/}"; done <<<"$files" |
        tar -cC / -T - | tar -xC "$root" --no-same-owner --keep-directory-symlink
}

# configure ROOT: writes what the installation of the packages would have made.
configure() {
    local root=$1
    mkdir -p "$root"/{dev,proc,sys,run,tmp,root,var/tmp,var/log,etc/ssh}
    chmod 1777 "$root/tmp" "$root/var/tmp"
    ln -sf busybox "$root/usr/bin/ip"
    ln -sf ../bin/busybox "$root/usr/sbin/init"
    ln -sf /proc/mounts "$root/etc/mtab"
    cat >"$root/etc/passwd" <<'END'
root:*:0:0::/root:/bin/sh
sshd:*:100:100::/run/sshd:/usr/sbin/nologin
mysql:*:101:101::/nonexistent:/usr/sbin/nologin
postgres:*:102:102::/nonexistent:/usr/sbin/nologin
nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin
END
    awk -F: '{ print $1 ":*:" $4 ":" }' "$root/etc/passwd" >"$root/etc/group"
    echo 'hosts: files' >"$root/etc/nsswitch.conf"
    printf '127.0.0.1 localhost\n10.0.2.15 guest\n' >"$root/etc/hosts"
    # Servers may raise their limit of open files, as under systemd; the kernel's own maximum is 4096.
    cat >"$root/etc/inittab" <<'END'
::sysinit:/sbin/dyno-guest
::respawn:/bin/sh -c 'ulimit -Hn 1048576; exec /usr/sbin/sshd -D -e -f /etc/ssh/dyno'
END
    # The second disk is a tar archive with the keys of this boot.
    cat >"$root/usr/sbin/dyno-guest" <<'END'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs tmp /tmp
mkdir -p /dev/pts /dev/shm /run/sshd /run/dyno
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
ln -s /proc/self/fd /dev/fd
tar -xof /dev/vdb -C /run/dyno && chmod 600 /run/dyno/*
ip link set lo up
ip addr add 10.0.2.15/24 dev eth0
ip link set eth0 up
ip route add default via 10.0.2.2
echo guest >/proc/sys/kernel/hostname
echo dyno-guest-is-up
END
    chmod 755 "$root/usr/sbin/dyno-guest"
    cat >"$root/etc/ssh/dyno" <<'END'
HostKey /run/dyno/host_key
AuthorizedKeysFile /run/dyno/authorized_keys
PidFile none
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxSessions 1000
PrintMotd no
END
}

# make_initrd ROOT FILE: makes the initrd, which loads the drivers and mounts the root.
make_initrd() {
    local root=$1 tree=$1.initrd module modules=("$1"/usr/lib/modules/*)
    [ ${#modules[@]} = 1 ] || die "expected one kernel, found ${#modules[@]}"
    mkdir -p "$tree"/{bin,dev,proc,sys,new,modules}
    cp "$root/usr/bin/busybox" "$tree/bin/busybox"
    {
        echo '#!/bin/busybox sh'
        echo '/bin/busybox mount -t proc proc /proc'
        echo '/bin/busybox mount -t sysfs sys /sys'
        echo '/bin/busybox mount -t devtmpfs dev /dev'
        for module in "${MODULES[@]}"; do
            cp "${modules[0]}/kernel/$module.ko" "$tree/modules/" || die "the kernel has no module $module"
            echo "/bin/busybox insmod /modules/${module##*/}.ko"
        done
        echo '/bin/busybox mount -t ext4 -o noatime /dev/vda /new'
        echo 'for dir in proc sys dev; do /bin/busybox mount -o move /$dir /new/$dir; done'
        echo 'exec /bin/busybox switch_root /new /sbin/init'
    } >"$tree/init"
    chmod 755 "$tree/init"
    (cd "$tree" && find . | ./bin/busybox cpio -o -H newc -R 0:0 2>/dev/null) | gzip -1 >"$2"
    # The drivers are loaded: the root needs none.
    rm -rf "${modules[0]}" "$tree"
}

# make_image ROOT FILE: makes the image of the root; run as root, or in a user namespace whose root this user is.
make_image() {
    local mib
    mib=$(($(du -sm "$1" | cut -f1) * 5 / 4 + 64))
    # No journal: the image is never written to.
    truncate -s "${mib}M" "$2"
    mke2fs -q -F -t ext4 -O ^has_journal -m 0 -L dyno-guest -E lazy_itable_init=1 -d "$1" "$2"
}

build() {
    local dir=$1 stamp=$2 start=$SECONDS root kernel names
    [ "$(uname -m)" = x86_64 ] || die "guests are x86-64 only; this machine is $(uname -m)"
    for tool in apt-get dpkg-deb mke2fs tar; do
        command -v "$tool" >/dev/null || die "$tool is missing: this needs Debian and its package e2fsprogs"
    done
    rm -rf "$dir"/.build.*
    work=$(mktemp -d "$dir/.build.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    root=$work/root
    names=($(servers | cut -d' ' -f1))
    say "downloading packages to $dir"
    fetch "$work" "${PACKAGES[@]}" "${names[@]}"
    unpack "$work" "$root"
    copy_servers "$root" "${names[@]}"
    configure "$root"
    kernel=("$root"/boot/vmlinuz-*)
    [ ${#kernel[@]} = 1 ] || die "expected one kernel, found ${#kernel[@]}"
    mv "${kernel[0]}" "$work/vmlinuz"
    make_initrd "$root" "$work/initrd"
    if [ "$(id -u)" = 0 ]; then
        make_image "$root" "$work/root.img"
    else
        export -f make_image
        unshare -r bash -ec 'make_image "$@"' sh "$root" "$work/root.img"
    fi
    rm -f "$dir/.complete"
    chmod 644 "$work"/{vmlinuz,initrd,root.img}
    mv "$work"/{vmlinuz,initrd,root.img} "$dir"
    echo "$stamp" >"$dir/.complete"
    rm -rf "$work"
    say "built in $((SECONDS - start)) s: $dir ($(du -sh "$dir" | cut -f1))"
}

case ${1-} in
    -h | --help) sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0" && exit ;;
    -*) die "unknown option '$1'" ;;
esac
[ $# -le 1 ] || die "expected one directory"
dir=${1-$(guest_dir)}
# The account that runs guests reads the image.
umask 022
mkdir -p "$dir" || die "cannot create $dir"
# If two test runs call this at once, the second one waits and then has nothing to do.
exec 9>"$dir/.lock"
flock 9
stamp="format $FORMAT"$'\n'$(servers)
if [ "$(cat "$dir/.complete" 2>/dev/null)" = "$stamp" ]; then
    say "the guest is up to date: $dir"
else
    build "$dir" "$stamp"
fi
