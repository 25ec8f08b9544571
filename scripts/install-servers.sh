#!/bin/bash
# Install what dyno's tests and studies measure. Safe to call again: what is there already is left alone.
#
#   scripts/install-servers.sh [all | mariadb | mysql | postgres | sysbench]...     (no word means: all = the three servers)
#
#   mariadb   Debian's mariadb-server package. No system service is started by it.
#   mysql     MySQL 9.7, which only Debian sid has, unpacked with all its libraries in a directory of its own;
#             nothing on the system changes and root is not needed.
#   postgres  Debian's postgresql package (PostgreSQL 15 on Debian 12). Run as root, it creates no cluster and starts no
#             service. The programs are in /usr/lib/postgresql/VERSION/bin.
#   sysbench  Debian's sysbench package, the tool dyno is compared with.
#
# Where MySQL goes: $DYNO_SERVERS/mysql-9.7 if DYNO_SERVERS is set; otherwise /opt/dyno/servers/mysql-9.7 for root
# (root's home is closed to the unprivileged user a server runs as), $HOME/.cache/dyno/servers/mysql-9.7 for others.
# Its programs are PREFIX/bin/{mysqld,mysql,…}; PREFIX/.complete is written last and holds the version.
set -euo pipefail
shopt -s nullglob

# Where Debian keeps the server program of each major version.
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

# What must be undone however this script ends; added to as it goes.
undo=()
trap 'for path in "${undo[@]}"; do rm -rf "$path"; done' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# newest PATTERN: the last path that the pattern matches, if any.
newest() {
    local found=($1)
    echo "${found[-1]-}"
}

# apt_install NAME PATTERN: the package NAME from the system's own archive, unless a program matches the pattern.
apt_install() {
    local package=$1 program start=$SECONDS root=()
    program=$(newest "$2")
    if [ -x "$program" ]; then
        say "$package is there: $program"
        return
    fi
    command -v apt-get >/dev/null || die "$package is missing and this system has no apt-get: install $package by hand"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "$package is missing: run this as root"
        root=(sudo)
    fi
    # dpkg asks this program before it starts a service; ours says no, and goes away afterwards.
    local guard=/usr/sbin/policy-rc.d
    if [ ! -e "$guard" ] && [ "$(id -u)" = 0 ]; then
        undo+=("$guard")
        printf '#!/bin/sh\nexit 101\n' >"$guard"
        chmod 755 "$guard"
    fi
    say "$package: installing by apt (about a minute)"
    local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
    "${apt[@]}" update || die "$package: apt-get update failed"
    "${apt[@]}" install -y --no-install-recommends "$package" >/dev/null </dev/null || die "$package: apt-get install failed"
    program=$(newest "$2")
    [ -x "$program" ] || die "$package: installed, but there is no $2"
    say "$package: installed in $((SECONDS - start)) s: $("$program" --version)"
}

# install_postgres: Debian's PostgreSQL, without the cluster `main` that its package creates by default.
install_postgres() {
    local drop_in=/etc/postgresql-common/createcluster.d/dyno.conf
    # The package reads these files before it creates a cluster. Removed afterwards: what is installed later is
    # not for this script to decide.
    if [ -z "$(newest "$POSTGRES")" ] && [ "$(id -u)" = 0 ]; then
        undo+=("$drop_in")
        mkdir -p "${drop_in%/*}"
        echo 'create_main_cluster = false' >"$drop_in"
    fi
    apt_install postgresql "$POSTGRES"
}

# The Debian archive this system already uses.
debian_archive() {
    apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(SUITE) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 == "main" && $3 !~ /security/ { print $4; exit }'
}

# unpack_mysql WORK TREE: MySQL and the closure of its libraries, libc included, from Debian sid into TREE.
unpack_mysql() {
    local work=$1 tree=$2 archive deb keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -r "$keyring" ] || die "mysql: no $keyring: install debian-archive-keyring"
    archive=$(debian_archive)
    if [ -z "$archive" ] && [ "$(id -u)" = 0 ]; then
        apt-get -qq update || die "mysql: apt-get update failed"
        archive=$(debian_archive)
    fi
    [ -n "$archive" ] || die "mysql: apt names no Debian archive (is this Debian? has 'apt-get update' been run?)"

    mkdir -p "$work"/lists/partial "$work"/cache/archives/partial "$tree"
    echo "deb [signed-by=$keyring] $archive sid main" >"$work/sources.list"
    : >"$work/status" # nothing is installed, says this: so apt resolves the whole closure
    # Hooks of the system's own apt configuration are about the system's own directories.
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
    "${apt[@]}" update || die "mysql: the package list of Debian sid could not be fetched"
    "${apt[@]}" install --download-only -y mysql-server-core mysql-client-core </dev/null ||
        die "mysql: the packages could not be fetched"
    local debs=("$work"/cache/archives/*.deb)
    say "mysql: ${#debs[@]} packages, $(du -ch "${debs[@]}" | awk 'END { print $1 }'); unpacking"
    for deb in "${debs[@]}"; do
        case ${deb##*/} in perl* | libperl*) continue ;; esac
        dpkg-deb -x "$deb" "$tree" || die "mysql: ${deb##*/} could not be unpacked"
    done
    rm -rf "$tree"/usr/share/{doc,man,locale}
}

# write_wrappers TREE PREFIX: programs in TREE/bin that run MySQL's with the libraries it came with, once TREE is PREFIX.
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
        [ -n "$path" ] || die "mysql: no program $name in the packages"
        printf '#!/bin/sh\nexec "%s" --argv0 "%s" --library-path "%s:%s/mysql:%s/usr/lib/mysql/private" "%s" "$@"\n' \
            "$loader" "$path" "$libs" "$libs" "$prefix" "$path" >"$tree/bin/$name"
        chmod 755 "$tree/bin/$name"
    done
}

install_mysql() {
    local parent prefix start=$SECONDS work tree version
    parent=$(servers_dir)
    mkdir -p "$parent" || die "mysql: cannot make $parent"
    parent=$(cd "$parent" && pwd -P) prefix=$parent/mysql-9.7
    # Two calls at once (two test runs): the second waits, then finds the work done.
    exec 9>"$parent/.lock"
    flock 9
    if [ -e "$prefix/.complete" ]; then
        say "mysql is there: $prefix ($(cat "$prefix/.complete"))"
        return
    fi
    command -v apt-get >/dev/null || die "mysql: needs Debian's apt-get"
    say "mysql: fetching from Debian sid into $prefix (65 MB to fetch, 350 MB on disk, 10 s to a minute)"
    work=$(mktemp -d) tree=$prefix.partial
    undo+=("$work" "$tree")
    rm -rf "$tree" "$prefix"
    umask 022 # the user a server runs as must be able to read it
    unpack_mysql "$work" "$tree"
    write_wrappers "$tree" "$prefix"
    chmod 755 "$tree"
    mv "$tree" "$prefix"
    version=$("$prefix/bin/mysqld" --no-defaults --version) || die "mysql: $prefix/bin/mysqld does not run"
    "$prefix/bin/mysql" --no-defaults --version >/dev/null || die "mysql: $prefix/bin/mysql does not run"
    version=$(sed 's/.*Ver \([^ ]*\).*/\1/' <<<"$version")
    case $version in 9.7.*) ;; *) say "mysql: note: Debian sid has moved on to MySQL $version" ;; esac
    echo "$version" >"$prefix/.complete"
    say "mysql: MySQL $version installed in $((SECONDS - start)) s: $prefix"
}

[ $# -gt 0 ] || set -- all
for what in "$@"; do
    case $what in
        mariadb) apt_install mariadb-server /usr/sbin/mariadbd ;;
        mysql) install_mysql ;;
        postgres) install_postgres ;;
        sysbench) apt_install sysbench /usr/bin/sysbench ;;
        all)
            apt_install mariadb-server /usr/sbin/mariadbd
            install_mysql
            install_postgres
            ;;
        -h | --help) sed -n '2,/^set -euo/ { /^#/ s/^# \{0,1\}//p }' "$0" ;;
        *) die "unknown word '$what'; known: all, mariadb, mysql, postgres, sysbench" ;;
    esac
done
