#!/bin/bash
# Install the servers that dyno's tests and studies measure. Anything already installed is left alone.
#
#   scripts/install-servers.sh [all | mariadb | mysql | postgres | patroni | storage | podman | docker | sysbench | ssh | nats | vm]...  (default: all, the three servers)
#
#   mariadb   Debian's packages mariadb-server, galera-4, rsync, and stunnel4. Run as root, it starts no service.
#   mysql     MySQL 9.7, which only Debian sid has, unpacked with its libraries into a directory of its own. The system
#             does not change, and root is not needed.
#   postgres  Debian's package postgresql (PostgreSQL 15 on Debian 12). Run as root, it creates no cluster and starts no
#             service. The programs are in /usr/lib/postgresql/VERSION/bin.
#   patroni   Debian's packages patroni, etcd-server, etcd-client, and haproxy, and the libraries that Patroni needs for
#             etcd, besides postgres. Run as root, it starts no service and leaves none enabled.
#   storage   Debian's packages btrfs-progs, xfsprogs, e2fsprogs, and duperemove, which make the file systems of volumes.
#   podman    Debian's packages podman and runc, which run containers. Run as root, it starts no service.
#   docker    Debian's package docker.io, which runs containers. Run as root, it starts no service and leaves none enabled.
#   sysbench  Debian's package sysbench, the tool that dyno is compared with.
#   ssh       Debian's packages openssh-server, nftables, and faketime, for tests of servers on other hosts. Run as root,
#             it starts no service and leaves none enabled.
#   nats      Debian's package nats-server, which connects the machines of a fleet. Run as root, it starts no service and
#             leaves none enabled.
#   vm        Debian's package qemu-system-x86 and OpenSSH's client, for servers in guests, and the guest's image
#             (scripts/build-guest.sh) with the server programs that are installed by then.
#
# MySQL's directory is $DYNO_SERVERS/mysql-9.7 if DYNO_SERVERS is set. Otherwise it is /opt/dyno/servers/mysql-9.7 for
# root (the unprivileged user that servers run as cannot enter root's home), and $HOME/.cache/dyno/servers/mysql-9.7 for
# other users. Its programs are in bin; .complete is written last and contains the version.
set -euo pipefail
shopt -s nullglob

# The server program of each major version, as Debian installs it.
POSTGRES='/usr/lib/postgresql/*/bin/postgres'

say() { echo "install-servers: $*"; }
die() {
    echo "install-servers: $*" >&2
    exit 1
}

servers_dir() {
    if [ -n "${DYNO_SERVERS:-}" ]; then
        echo "$DYNO_SERVERS"
    elif [ "$(id -u)" = 0 ]; then
        echo /opt/dyno/servers
    else
        echo "${HOME:?}/.cache/dyno/servers"
    fi
}

# Files to remove when this script ends, for whatever reason.
undo=()
trap 'for path in "${undo[@]}"; do rm -rf "$path"; done' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Whether this script has fetched the lists of packages.
updated=

# newest PATTERN: prints the last path that matches the pattern, if any.
newest() {
    local found=($1)
    echo "${found[-1]-}"
}

# apt_install NAME PATTERN [PACKAGE]...: installs the package NAME, and the other packages, from the system's archive,
# unless a program matches the pattern.
apt_install() {
    local package=$1 program start=$SECONDS root=()
    program=$(newest "$2")
    if [ -e "$program" ]; then
        say "$package is installed: $program"
        return
    fi
    command -v apt-get >/dev/null || die "$package is missing, and this system has no apt-get: install $package yourself"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "$package is missing: run this script as root"
        root=(sudo)
    fi
    # dpkg runs this program before it starts a service. Ours forbids that, and is removed afterward.
    local guard=/usr/sbin/policy-rc.d
    if [ ! -e "$guard" ] && [ "$(id -u)" = 0 ]; then
        undo+=("$guard")
        printf '#!/bin/sh\nexit 101\n' >"$guard"
        chmod 755 "$guard"
    fi
    say "$package: installing with apt (about a minute)"
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
    [ -n "$updated" ] || "${apt[@]}" update || die "$package: apt-get update failed"
    updated=true
    "${apt[@]}" install -y --no-install-recommends "$package" "${@:3}" >/dev/null </dev/null || die "$package: apt-get install failed"
    program=$(newest "$2")
    [ -e "$program" ] || die "$package: installed, but $2 does not exist"
    local version=$program
    [ ! -x "$program" ] || version=$("$program" --version 2>/dev/null) || version=$program
    say "$package: installed in $((SECONDS - start)) s: $version"
}

# install_mariadb: installs Debian's MariaDB, with what members of a Galera cluster need.
install_mariadb() {
    apt_install mariadb-server /usr/sbin/mariadbd
    apt_install galera-4 /usr/lib/galera/libgalera_smm.so
    apt_install rsync /usr/bin/rsync
    apt_install stunnel4 /usr/bin/stunnel
}

# install_postgres: installs Debian's PostgreSQL without the cluster `main` that its package creates by default.
install_postgres() {
    local drop_in=/etc/postgresql-common/createcluster.d/dyno.conf
    # The package reads these files before it creates a cluster. The file is removed afterward, so that it does not
    # affect packages that are installed later.
    if [ -z "$(newest "$POSTGRES")" ] && [ "$(id -u)" = 0 ]; then
        undo+=("$drop_in")
        mkdir -p "${drop_in%/*}"
        echo 'create_main_cluster = false' >"$drop_in"
    fi
    apt_install postgresql "$POSTGRES"
}

# install_disabled COMMAND SERVICE...: runs a command that installs packages, and disables those of these services that
# were not enabled before. The others are somebody else's.
install_disabled() {
    local command=$1 service new=()
    shift
    if [ "$(id -u)" = 0 ] && command -v systemctl >/dev/null; then
        for service in "$@"; do
            systemctl --quiet is-enabled "$service" 2>/dev/null || new+=("$service")
        done
    fi
    "$command"
    for service in "${new[@]}"; do
        if systemctl --quiet is-enabled "$service" 2>/dev/null; then systemctl --quiet disable "$service"; fi
    done
}

# install_patroni: installs Patroni with PostgreSQL, etcd, and HAProxy, whose services stay disabled.
install_patroni() {
    install_postgres
    install_disabled patroni_packages etcd haproxy patroni
}

patroni_packages() {
    apt_install etcd-server /usr/bin/etcd etcd-client
    apt_install haproxy /usr/sbin/haproxy
    apt_install patroni /usr/bin/patroni python3-psycopg2 python3-etcd
}

# install_storage: installs the tools that make file systems.
install_storage() {
    local package
    for package in btrfs-progs xfsprogs e2fsprogs duperemove; do
        apt_install "$package" "/usr/share/doc/$package/copyright"
    done
}

# install_podman: installs podman with runc, which works on hosts with control groups of both versions, unlike crun.
install_podman() {
    apt_install podman /usr/bin/podman runc
}

# install_docker: installs docker, whose services stay disabled.
install_docker() {
    install_disabled docker_packages docker.service docker.socket containerd.service
}

docker_packages() {
    local client=() daemon
    daemon=$(command -v dockerd) || true
    # Debian 13 has the client in a package of its own.
    [ -z "$(apt-cache show docker-cli 2>/dev/null)" ] || client=(docker-cli)
    apt_install docker.io "${daemon:-/usr/sbin/dockerd}" "${client[@]}"
}

# install_ssh: installs OpenSSH's client and server, whose service stays disabled.
install_ssh() {
    install_disabled ssh_packages ssh
}

ssh_packages() {
    apt_install openssh-server /usr/sbin/sshd openssh-client
    # Debian leaves its service disabled.
    apt_install nftables /usr/sbin/nft
    apt_install faketime /usr/bin/faketime
}

# install_nats: installs nats-server, whose service stays disabled.
install_nats() {
    install_disabled nats_packages nats-server
}

nats_packages() {
    apt_install nats-server /usr/sbin/nats-server
}

# install_vm: installs QEMU, and builds the image of the guest.
install_vm() {
    apt_install qemu-system-x86 /usr/bin/qemu-system-x86_64
    apt_install openssh-client /usr/bin/ssh-keygen
    apt_install e2fsprogs /usr/share/doc/e2fsprogs/copyright
    "${BASH_SOURCE[0]%/*}/build-guest.sh"
}

# debian_archive: prints the URL of the Debian archive that this system uses.
debian_archive() {
    apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(SUITE) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 == "main" && $3 !~ /security/ { print $4; exit }'
}

# unpack_mysql WORK TREE: unpacks MySQL and all its libraries, including libc, from Debian sid into TREE.
unpack_mysql() {
    local work=$1 tree=$2 archive deb keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -r "$keyring" ] || die "mysql: $keyring is missing: install debian-archive-keyring"
    archive=$(debian_archive)
    if [ -z "$archive" ] && [ "$(id -u)" = 0 ]; then
        apt-get -qq update || die "mysql: apt-get update failed"
        archive=$(debian_archive)
    fi
    [ -n "$archive" ] || die "mysql: apt has no Debian archive (is this Debian? has 'apt-get update' been run?)"

    mkdir -p "$work"/lists/partial "$work"/cache/archives/partial "$tree"
    echo "deb [signed-by=$keyring] $archive sid main" >"$work/sources.list"
    # With an empty status file, apt considers nothing installed, and fetches all dependencies.
    : >"$work/status"
    # The hooks of the system's apt configuration apply to the system's directories.
    printf '#clear %s;\n' APT::Update::Post-Invoke APT::Update::Post-Invoke-Success DPkg::Post-Invoke >"$work/apt.conf"
    local apt=(
        apt-get -qq -c "$work/apt.conf"
        -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::Etc::preferencesparts=/dev/null -o Dir::Etc::preferences=/dev/null
        -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status"
        -o Dir::Cache="$work/cache" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
        -o APT::Install-Recommends=false -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User=root
        -o APT::Update::Error-Mode=any
        -o Acquire::Languages=none -o Acquire::Retries=3 -o Debug::NoLocking=1
    )
    "${apt[@]}" update || die "mysql: cannot fetch the package list of Debian sid"
    "${apt[@]}" install --download-only -y mysql-server-core mysql-client-core </dev/null ||
        die "mysql: cannot fetch the packages"
    local debs=("$work"/cache/archives/*.deb)
    say "mysql: ${#debs[@]} packages, $(du -ch "${debs[@]}" | awk 'END { print $1 }'); unpacking"
    for deb in "${debs[@]}"; do
        case ${deb##*/} in perl* | libperl*) continue ;; esac
        dpkg-deb -x "$deb" "$tree" || die "mysql: cannot unpack ${deb##*/}"
    done
    rm -rf "$tree"/usr/share/{doc,man,locale}
}

# write_wrappers TREE PREFIX: writes scripts in TREE/bin that run MySQL's programs with its own libraries, once TREE has
# been moved to PREFIX.
write_wrappers() {
    local tree=$1 prefix=$2 loaders libs name path
    loaders=("$tree"/usr/lib/*-linux-gnu*/ld-linux*.so.*)
    [ ${#loaders[@]} = 1 ] || die "mysql: expected one dynamic loader below $tree, found ${#loaders[@]}"
    local loader=$prefix${loaders[0]#"$tree"}
    libs=${loader%/*}
    mkdir -p "$tree/bin"
    for name in mysqld mysql mysqladmin mysqldump mysqlbinlog; do
        path=
        for dir in usr/sbin usr/bin; do [ -x "$tree/$dir/$name" ] && path=$prefix/$dir/$name; done
        [ -n "$path" ] || die "mysql: the packages do not contain $name"
        printf '#!/bin/sh\nexec "%s" --argv0 "%s" --library-path "%s:%s/mysql:%s/usr/lib/mysql/private" "%s" "$@"\n' \
            "$loader" "$path" "$libs" "$libs" "$prefix" "$path" >"$tree/bin/$name"
        chmod 755 "$tree/bin/$name"
    done
}

install_mysql() {
    local parent prefix start=$SECONDS work tree version
    parent=$(servers_dir)
    mkdir -p "$parent" || die "mysql: cannot create $parent"
    parent=$(cd "$parent" && pwd -P) prefix=$parent/mysql-9.7
    # If two test runs call this at once, the second one waits and then has nothing to do.
    exec 9>"$parent/.lock"
    flock 9
    if [ -e "$prefix/.complete" ]; then
        say "mysql is installed: $prefix ($(cat "$prefix/.complete"))"
        return
    fi
    command -v apt-get >/dev/null || die "mysql: this needs Debian's apt-get"
    say "mysql: downloading 65 MB from Debian sid to $prefix (350 MB on disk, 10 s to a minute)"
    work=$(mktemp -d) tree=$prefix.partial
    undo+=("$work" "$tree")
    rm -rf "$tree" "$prefix"
    umask 022 # the user that servers run as must be able to read it
    unpack_mysql "$work" "$tree"
    write_wrappers "$tree" "$prefix"
    chmod 755 "$tree"
    mv "$tree" "$prefix"
    version=$("$prefix/bin/mysqld" --no-defaults --version) || die "mysql: $prefix/bin/mysqld does not run"
    "$prefix/bin/mysql" --no-defaults --version >/dev/null || die "mysql: $prefix/bin/mysql does not run"
    version=$(sed 's/.*Ver \([^ ]*\).*/\1/' <<<"$version")
    case $version in 9.7.*) ;; *) say "mysql: note: Debian sid now has MySQL $version" ;; esac
    echo "$version" >"$prefix/.complete"
    say "mysql: MySQL $version installed in $((SECONDS - start)) s: $prefix"
}

# Sourced, this script only defines its functions.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

[ $# -gt 0 ] || set -- all
for what in "$@"; do
    case $what in
        mariadb) install_mariadb ;;
        mysql) install_mysql ;;
        postgres) install_postgres ;;
        patroni) install_patroni ;;
        storage) install_storage ;;
        podman) install_podman ;;
        docker) install_docker ;;
        sysbench) apt_install sysbench /usr/bin/sysbench ;;
        ssh) install_ssh ;;
        nats) install_nats ;;
        vm) install_vm ;;
        all)
            install_mariadb
            install_mysql
            install_postgres
            ;;
        -h | --help) sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0" ;;
        *) die "unknown argument '$what'; known: all, mariadb, mysql, postgres, patroni, storage, podman, docker, sysbench, ssh, nats, vm" ;;
    esac
done
