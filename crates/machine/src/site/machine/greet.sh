# Says what the host is like, then answers requests with the awk program $1.
umask 022
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
for tool in awk env grep setpriv tar; do
    command -v "$tool" >/dev/null || missing="$missing $tool"
done
echo "dyno-host-begins"
uname -s
uname -m
id -u
id -un
echo "$SSH_CONNECTION"
getconf PAGESIZE
getconf CLK_TCK
echo "$missing"
# Some awks end when a file cannot be read that could be opened, as this one of another user's process without a right.
if [ "$(id -u)" != 0 ] || cat /proc/1/io >/dev/null 2>&1; then has_io=1; fi
awk -W interactive 'BEGIN { exit }' </dev/null >/dev/null 2>&1 && interactive='-W interactive'
exec awk $interactive -v has_io="$has_io" "$1"
