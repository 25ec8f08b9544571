# Says what the host is like, then answers requests with the awk program $1.
umask 022
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
for tool in awk env grep setpriv tar; do
    command -v "$tool" >/dev/null || missing="$missing $tool"
done
echo "dyno-host-begins"
uname -s
id -u
id -un
echo "$SSH_CONNECTION"
getconf PAGESIZE
getconf CLK_TCK
echo "$missing"
awk -W interactive 'BEGIN { exit }' </dev/null >/dev/null 2>&1 && interactive='-W interactive'
exec awk $interactive "$1"
